package replay

import (
	"math"
	"math/rand/v2"

	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/schema"
)

// reports is the quality of what a site reports.
type reports struct {
	metric       schema.Metric
	floorPercent float64 // mean reading of a calm link
	noisePercent float64 // standard deviation of a reading
	noiseShare   float64 // of the stall, added to it
	wavePercent  float64 // slow waves of the floor
	lost         float64 // share of the devices whose readings of a minute are lost
	traffic      trafficTable
	emptyCells   float64
	countNoise   float64 // standard deviation of the logarithm of a cell
}

// trafficTable is what a site knows of its jobs' traffic.
type trafficTable uint8

const (
	allTraffic trafficTable = iota
	fileTraffic
	noTraffic
)

func (d *draft) drawReports() reports {
	r := reports{metric: schema.XmitWait, floorPercent: d.uniform(.2, 1.6), noisePercent: d.uniform(.2, .9), noiseShare: d.uniform(.01, .08),
		wavePercent: d.uniform(0, .6), lost: d.uniform(0, .02), emptyCells: d.uniform(0, .08), countNoise: d.uniform(.02, .12)}
	switch {
	case d.dims != nil:
		r.metric = schema.CreditStall
	case d.chance(.4):
		r.metric, r.floorPercent = schema.PFCPauseRx(3), r.floorPercent/8
	}
	switch draw := d.rng.Float64(); {
	case draw < .2:
		r.emptyCells = d.uniform(.15, .4)
	case draw < .35:
		r.traffic = fileTraffic
	case draw < .5:
		r.traffic = noTraffic
	}
	return r
}

// instant is the time of a half-minute.
func instant(half int) schema.Instant {
	return schema.Instant(bench.StartNanos + int64(half)*minuteNanos/halves)
}

const minuteNanos = int64(60e9)

// reader makes snapshots of what counters show.
type reader struct {
	in    *Incident
	rng   *rand.Rand
	floor []float64 // by link
	phase []float64
	lost  []bool  // by device
	cell  float64 // bytes per second of a cell per step
}

func newReader(in *Incident) *reader {
	pcg := in.telemetry
	r := &reader{in: in, rng: rand.New(&pcg), lost: make([]bool, in.scene.graph.NumDevices()), cell: fastest(in.scene.graph)}
	for range in.scene.graph.NumLinks() {
		r.floor = append(r.floor, in.reports.floorPercent*math.Exp(.3*r.rng.NormFloat64()))
		r.phase = append(r.phase, r.rng.Float64())
	}
	return r
}

// Readings of links without traffic: management packets, bytes per second.
const idleBytes = 20e3

// snapshot is what the counters of a minute show.
func (r *reader) snapshot(minute int, stall, sent []float64) *schema.Snapshot {
	g, q := r.in.scene.graph, &r.in.reports
	links := g.NumLinks()
	s := &schema.Snapshot{Fabric: g.Fabric(), GraphVersion: g.Version(), Links: links,
		Interval: schema.Interval{StartNanos: bench.StartNanos + int64(minute)*minuteNanos, DurationNanos: minuteNanos},
		Ports:    schema.LinkPresence{From: make([]schema.Presence, links), To: make([]schema.Presence, links)}}
	s.FirstReadNanos, s.LastReadNanos = s.Interval.EndNanos(), s.Interval.EndNanos()
	waits, bytes := newSeries(q.metric, links), newSeries(schema.Throughput, links)
	for d := range r.lost {
		r.lost[d] = r.rng.Float64() < q.lost
	}
	for i := range r.in.scene.faults {
		if f := &r.in.scene.faults[i]; f.kind == switchDown && f.active(halves*minute) {
			r.lost[f.device] = true
		}
	}
	for l := range links {
		from, to := g.Ends(schema.LinkID(l))
		s.Ports.From[l], s.Ports.To[l] = presence(r.lost[from]), presence(r.lost[to])
		wave := 1 + q.wavePercent*math.Sin(2*math.Pi*(float64(minute)/25+r.phase[l]))
		value := stall[l] + r.floor[l]*wave + r.rng.NormFloat64()*(q.noisePercent+q.noiseShare*stall[l])
		load := (sent[l]*r.cell + idleBytes) * math.Exp(.02*r.rng.NormFloat64())
		if s.Samples += 2; !r.lost[from] || q.metric != schema.XmitWait && !r.lost[to] { // the sender counts waits; other counters are at both ends
			waits.put(l, max(0, min(100, value)))
		}
		if !r.lost[from] || !r.lost[to] {
			bytes.put(l, load)
		}
	}
	s.Series = []schema.Series{waits.Series, bytes.Series}
	return s
}

func presence(lost bool) schema.Presence {
	if lost {
		return schema.Unread
	}
	return schema.Heard
}

type series struct{ schema.Series }

func newSeries(m schema.Metric, links int) series {
	return series{schema.Series{Metric: m, Values: make([]float32, links), Valid: schema.NewBitmap(links)}}
}

func (s *series) put(l int, v float64) {
	s.Values[l] = float32(v)
	s.Valid.Set(l)
	s.Count++
}

// show adds the job table, the log of failures and the traffic table of a minute.
func (r *reader) show(result *schema.IntervalResult, minute int, delivered []float64) {
	s, t := &r.in.scene, -1
	for j := range s.jobs {
		x := &s.jobs[j]
		first := t + 1
		t += len(x.traffic)
		if x.unlisted {
			continue
		}
		row := schema.Job{Fabric: s.graph.Fabric(), ID: x.id, Name: x.name, User: x.user, Start: instant(x.start), State: "RUNNING"}
		if starts := max(0, x.start) / halves; minute == starts && x.start < s.length {
			for _, h := range x.hosts {
				for _, d := range s.ports.devices[h] {
					row.Nodes = append(row.Nodes, s.graph.Device(d).Name)
				}
			}
			result.Jobs = append(result.Jobs, row)
		}
		if x.start < halves*(minute+1) && r.in.reports.traffic != noTraffic {
			result.Traffic = append(result.Traffic, r.traffic(x, minute, delivered[first:t+1]))
		}
	}
	for i := range s.faults {
		result.Failures = append(result.Failures, r.logged(&s.faults[i], minute)...)
	}
	for _, f := range r.in.noCable {
		if result.Snapshot.Interval.Contains(int64(f.Time)) {
			result.Failures = append(result.Failures, f)
		}
	}
}

// traffic is a job's row of the traffic table.
func (r *reader) traffic(j *job, minute int, delivered []float64) schema.JobTraffic {
	seconds := float64(minuteNanos) / 1e9
	var read, write, pulled, pushed float64
	for t := range delivered {
		bytes := delivered[t] * r.cell * seconds
		switch x := &j.traffic[t]; {
		case x.file == reads:
			read, pulled = read+bytes, pulled+bytes
		case x.file == writes:
			write, pushed = write+bytes, pushed+bytes
		case x.pulls:
			pulled += bytes
		default:
			pushed += bytes
		}
	}
	cell := func(v float64) *float64 {
		if r.rng.Float64() < r.in.reports.emptyCells {
			return nil
		}
		v *= math.Exp(r.in.reports.countNoise * r.rng.NormFloat64())
		return &v
	}
	row := schema.JobTraffic{Fabric: r.in.scene.graph.Fabric(), JobID: j.id, Time: schema.Instant(bench.StartNanos + int64(minute)*minuteNanos), Read: cell(read), Write: cell(write)}
	if r.in.reports.traffic == allTraffic {
		row.RDMARead, row.RDMAWrite = cell(pulled), cell(pushed)
	}
	return row
}

// logged is what the log says of a fault in a minute.
func (r *reader) logged(f *fault, minute int) (list []schema.Failure) {
	kinds := map[faultKind][2]schema.EventKind{linkDown: {schema.LinkFailed, schema.LinkRestored}, switchDown: {schema.SwitchFailed, schema.SwitchRestored}}
	kind, found := kinds[f.kind]
	for half := halves * minute; found && half < halves*(minute+1); half++ {
		was, is := half > 0 && f.active(half-1), f.active(half)
		if was == is {
			continue
		}
		event := schema.Failure{Fabric: r.in.scene.graph.Fabric(), Time: instant(half), Kind: kind[1], Device: r.in.scene.graph.Device(f.device).Name, Port: f.port, Detail: "up"}
		if is {
			event.Kind, event.Detail = kind[0], "down"
		}
		list = append(list, event)
	}
	return list
}
