package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
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

// StartNanos is when every incident starts: 2026-01-05.
const StartNanos = int64(1_767_571_200e9)

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
	runner, err := scenario.New(in.graph, in.Script, uint64(in.Seed), StartNanos)
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
	incident *Incident
	window   *window.Window
	regions  *Regions
	judge    Judge
	steps    map[int64]scenario.Step // by interval start, until the interval closes
	rng      *rand.Rand
	table    map[string]bool // jobs that the judge has been shown
	verdicts []Verdict
	moments  []Moment
}

// open creates the analysis stages before the diagnosis, as far as they are needed.
func (p *play) open() (err error) {
	g := p.incident.graph
	cfg := window.DefaultConfig()
	cfg.Interval = interval
	if p.window, err = window.New(g, cfg); err != nil {
		return err
	}
	p.regions, err = NewRegions(g)
	return err
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
		r := p.regions.Step(snap)
		p.show(r, &step)
		p.judge.Step(r)
		verdicts := Verdicts(r, func(region *schema.Region) Truth { return p.truthOf(step.Truth, region) })
		p.verdicts = append(p.verdicts, verdicts...)
		moment := Moment{Interval: r.Snapshot.Interval, Truth: step.Truth}
		for i := range verdicts {
			moment.Regions, moment.Diagnoses = append(moment.Regions, verdicts[i].Region), append(moment.Diagnoses, verdicts[i].Got)
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
		f.Fabric, f.Time = in.graph.Fabric(), f.Time+schema.Instant(StartNanos)
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
