package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/tracking"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// Judge diagnoses congested regions; *diagnose.Stage implements it.
type Judge interface {
	// Step consumes the result of an interval and sets its Diagnoses.
	Step(r *schema.IntervalResult)
}

// Verdict is a judge's diagnosis of a region in one interval, beside the truth.
type Verdict struct {
	Interval schema.Interval
	Region   schema.Region
	Truth    Truth
	Got      schema.Diagnosis
}

// startNanos is when every incident starts: 2026-01-05.
const startNanos = int64(1_767_571_200e9)

// Graph is the incident's fabric.
func (in *Incident) Graph() *topology.Graph { return in.graph }

// Play simulates the incident, passes every interval to the judge and returns its verdicts on regions of Low and above.
// Got has no class where the judge gave no verdict.
func (in *Incident) Play(judge Judge) ([]Verdict, error) {
	p, err := in.play(judge)
	if err != nil {
		return nil, err
	}
	return p.verdicts, nil
}

// Watch simulates the incident as Play does, and returns its intervals.
func (in *Incident) Watch(judge Judge) ([]Moment, error) {
	p, err := in.play(judge)
	if err != nil {
		return nil, err
	}
	return p.moments, nil
}

func (in *Incident) play(judge Judge) (*play, error) {
	runner, err := scenario.New(in.graph, in.Script, uint64(in.Seed), startNanos)
	if err != nil {
		return nil, err
	}
	p := &play{incident: in, judge: judge, steps: map[int64]scenario.Step{}, table: map[string]bool{},
		rng: rand.New(rand.NewPCG(uint64(in.Seed), 'o'))}
	if err := p.open(); err != nil {
		return nil, err
	}
	end := int64(0)
	for step, more := runner.Step(); more; step, more = runner.Step() {
		end = step.Interval.EndNanos()
		for _, b := range step.Batches {
			if err := p.window.Add(b); err != nil {
				return nil, fmt.Errorf("incident %s/%s seed %d: %w", in.Set, in.Kind, in.Seed, err)
			}
		}
		step.Batches, step.Events = nil, nil
		step.Jobs, step.Failures, step.Traffic = slices.Clone(step.Jobs), slices.Clone(step.Failures), slices.Clone(step.Traffic)
		p.steps[step.Interval.StartNanos] = step
		p.window.Advance(end, end)
		p.results()
	}
	end += 2 * int64(interval)
	p.window.Advance(end, end)
	p.results()
	return p, nil
}

// play is an incident being played.
type play struct {
	incident  *Incident
	window    *window.Window
	segmenter *segment.Segmenter
	memory    *segment.Memory
	tracker   *tracking.Tracker
	judge     Judge
	steps     map[int64]scenario.Step // by interval start, until the interval closes
	rng       *rand.Rand
	table     map[string]bool // jobs that the judge has been shown
	verdicts  []Verdict
	moments   []Moment
}

// open creates the analysis stages before the diagnosis, as far as they are needed.
func (p *play) open() (err error) {
	g := p.incident.graph
	cfg := window.DefaultConfig()
	cfg.Interval = interval
	if p.window, err = window.New(g, cfg); err != nil {
		return err
	}
	if p.segmenter, err = segment.New(g, segment.DefaultConfig()); err != nil {
		return err
	}
	p.memory = segment.NewMemory(g, segment.DefaultConfig())
	track := tracking.DefaultConfig()
	track.Limits = tracking.Limits{Links: p.segmenter.MinLinks(), MeanPercent: segment.DefaultConfig().MinMeanPercent}
	p.tracker, err = tracking.New(g, track)
	return err
}

// analyse finds and tracks the regions of a snapshot.
func (p *play) analyse(snap *schema.Snapshot) *schema.IntervalResult {
	r := &schema.IntervalResult{Snapshot: snap}
	for _, region := range p.memory.Step(snap, p.segmenter.Step(snap)) { // copied, since Step reuses its memory
		region.Links = slices.Clone(region.Links)
		if region.Box != nil {
			region.Box = &schema.Box{Min: slices.Clone(region.Box.Min), Max: slices.Clone(region.Box.Max)}
		}
		if region.Root != nil {
			root := *region.Root
			region.Root = &root
		}
		r.Regions = append(r.Regions, region)
	}
	p.incident.graph.DescribeRegions(r.Regions)
	p.tracker.Step(snap.Interval, r.Regions)
	return r
}

// results passes the closed intervals to the judge.
func (p *play) results() {
	for snap := p.window.Next(); snap != nil; snap = p.window.Next() {
		step, known := p.steps[snap.Interval.StartNanos]
		if !known { // the interval before the first
			p.window.Recycle(snap)
			continue
		}
		delete(p.steps, snap.Interval.StartNanos)
		r := p.analyse(snap)
		p.show(r, &step)
		p.judge.Step(r)
		moment := Moment{Interval: r.Snapshot.Interval, Truth: step.Truth}
		for i := range r.Regions {
			if region := r.Regions[i]; region.Severity >= schema.Low {
				v := Verdict{Interval: r.Snapshot.Interval, Region: region, Truth: p.truthOf(step.Truth, &region)}
				if d := slices.IndexFunc(r.Diagnoses, func(d schema.Diagnosis) bool { return d.Region == region.ID && d.Metric == region.Metric }); d >= 0 {
					v.Got = r.Diagnoses[d]
				}
				p.verdicts = append(p.verdicts, v)
				moment.Regions, moment.Diagnoses = append(moment.Regions, v.Region), append(moment.Diagnoses, v.Got)
			}
		}
		p.moments = append(p.moments, moment)
		p.window.Recycle(snap)
	}
}

// show adds to the result what schedulers, logs and counters report, with their gaps.
func (p *play) show(r *schema.IntervalResult, s *scenario.Step) {
	in := p.incident
	for _, j := range s.Jobs {
		if !in.hidden[j.ID] {
			r.Jobs = append(r.Jobs, j)
			p.table[j.ID] = true
		}
	}
	r.Failures = append(r.Failures, s.Failures...)
	for _, f := range in.decoys {
		f.Fabric, f.Time = in.graph.Fabric(), f.Time+schema.Instant(startNanos)
		if s.Interval.Contains(int64(f.Time)) {
			r.Failures = append(r.Failures, f)
		}
	}
	if in.noTraffic {
		return
	}
	for i := range s.Traffic {
		if t := &s.Traffic[i]; !in.hidden[t.JobID] {
			r.Traffic = append(r.Traffic, p.measured(t, s.Interval))
		}
	}
}

// measured is a job's traffic as counters report it, with noise and empty cells.
func (p *play) measured(t *scenario.JobTraffic, i schema.Interval) schema.JobTraffic {
	cell := func(v float64) *float64 {
		v *= math.Exp(p.incident.style.countNoise * p.rng.NormFloat64())
		if p.rng.Float64() < p.incident.lostCells {
			return nil
		}
		return &v
	}
	return schema.JobTraffic{Fabric: p.incident.graph.Fabric(), JobID: t.JobID, Time: schema.Instant(i.StartNanos),
		Read: cell(t.ReadBytes), Write: cell(t.WriteBytes), RDMARead: cell(t.RDMAReadBytes), RDMAWrite: cell(t.RDMAWriteBytes)}
}
