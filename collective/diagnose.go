package collective

import (
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// Diagnose finds the critical path of a run and what lengthened it. It does not modify
// the run.
func Diagnose(run Run, opt Options) Diagnosis { return NewAnalyser(opt).Diagnose(run) }

// Analyser diagnoses runs one after another, reusing its memory.
type Analyser struct {
	opt  Options
	room scratch
	net  *fabric // of the last run
}

// NewAnalyser returns an Analyser.
func NewAnalyser(opt Options) *Analyser { return &Analyser{opt: opt} }

// Diagnose is like the function Diagnose.
func (z *Analyser) Diagnose(run Run) Diagnosis {
	if len(run.Steps) > z.limit() {
		if d, ok := z.long(&run); ok {
			return d
		}
	}
	p := piece{}
	z.piece(run, &p)
	d := &p.d
	d.LateRanks = lateRanks(p.idle, d.MakespanNanos)
	d.Notes = append(d.Notes, p.left.notes()...)
	d.Text = d.describe(&run)
	return *d
}

// fabric returns that of a network: the last run's, with its cached routes, if the network is the same.
func (z *Analyser) fabric(f *network.Fabric) *fabric {
	if f == nil {
		f = &network.Fabric{}
	}
	if z.net == nil || !slices.Equal(z.net.Nodes, f.Nodes) || !slices.Equal(z.net.Links, f.Links) {
		z.net = newFabric(&network.Fabric{Nodes: slices.Clone(f.Nodes), Links: slices.Clone(f.Links)}, z.opt.LineRateBitsPerSecond)
	}
	return z.net
}

// limit is the most records that are diagnosed at once.
func (z *Analyser) limit() int {
	if z.opt.Limit > 0 {
		return z.opt.Limit
	}
	return defaultLimit
}

// piece diagnoses a run, or a part of a long one. The caller adds the late ranks and
// what was left out.
func (z *Analyser) piece(given Run, p *piece) {
	run, foreign := usable(&given)
	t := newTable(run, z.limit(), &z.room, p.before)
	p.d = Diagnosis{
		Ranks: len(run.Ranks), Steps: t.longest, Iterations: t.iterations,
		CriticalPath: []Segment{}, Culprits: []Culprit{}, StoppedRanks: []int{}, LateRanks: []int{}, MissingRanks: t.missing(),
		Notes: append([]string(nil), run.Notes...),
	}
	d := &p.d
	d.ClockOffsets = t.alignClocks(p.clocks)
	t.arrivals = p.arrivals
	t.afterReceptions()
	if t.holes = t.markHoles(); len(t.holes) > 0 {
		d.Notes = append(d.Notes, t.holesNote(t.holes))
	}
	t.bounds()
	net := z.fabric(run.Fabric)
	defer net.observed.Empty()
	tr := newTraffic(t, net)
	e := newEvidence(t, tr, &z.room)
	a := newAnalysis(e)
	if z.opt.Stop != nil {
		a.stop = z.opt.Stop
	}
	path := t.criticalSteps(t.lastOr(p.until))
	d.MakespanNanos = t.last - t.first
	d.CriticalPath = t.segments(path)
	a.blame()
	d.FirstNanos = t.first
	d.Culprits, d.ExpectedNanos, d.Losses = a.culprits(path)
	if d.Culprits == nil {
		d.Culprits, d.unexplained = []Culprit{}, a.unexplained()
	}
	e.withoutFabric(d.Culprits)
	p.idle = a.idleNanos()
	(&standstill{e}).find(d, p.later)
	z.room.keep(a.shares)
	p.from, p.last, p.left = t.comesFrom(path), t.last, t.left
	p.left.foreign, p.left.flows = foreign, tr.cut
	p.clocks, p.communicators = t.offset, map[int32]bool{}
	for c := range max(len(run.Communicators), 1) {
		if from, to := t.of(int32(c)); from < to {
			p.communicators[int32(c)] = true
		}
	}
}

// missing lists the ranks without records, and those that a reader marked as missing.
func (t *table) missing() []int {
	out := []int{}
	for i, ok := range t.recorded {
		if !ok || t.run.Ranks[i].Missing {
			out = append(out, i)
		}
	}
	return out
}

// idleNanos is, by rank, the total delay of steps that it began late.
func (a *analysis) idleNanos() []int64 {
	sum := make([]int64, len(a.t.run.Ranks))
	for _, shares := range a.shares {
		for _, s := range shares {
			if s.idle {
				sum[a.t.steps[s.step].Rank] += s.nanos
			}
		}
	}
	return sum
}

// lateRanks lists the ranks whose delay is a reportable share of the makespan.
func lateRanks(idle []int64, makespan int64) []int {
	out := []int{}
	for rank, nanos := range idle {
		if nanos > 0 && float64(nanos) >= leastShare*float64(makespan) {
			out = append(out, rank)
		}
	}
	return out
}
