package collective

import "fmt"

// Diagnose finds the critical path of a run and who lengthened it. It changes
// nothing of the run.
func Diagnose(run Run, opt Options) Diagnosis { return NewAnalyser(opt).Diagnose(run) }

// Analyser diagnoses one run after the other in the same memory.
type Analyser struct {
	opt  Options
	room scratch
}

// NewAnalyser makes an Analyser.
func NewAnalyser(opt Options) *Analyser { return &Analyser{opt: opt} }

// Diagnose is as the function of this name.
func (z *Analyser) Diagnose(run Run) Diagnosis {
	d, _ := z.diagnose(run)
	return d
}

// diagnose also returns the first begin, which the diagnosis counts times from.
func (z *Analyser) diagnose(given Run) (Diagnosis, int64) {
	run := usable(&given)
	t := newTable(run, z.opt.Limit, &z.room)
	d := Diagnosis{
		Ranks: len(run.Ranks), Steps: t.longest, Iterations: t.iterations,
		CriticalPath: []Segment{}, Culprits: []Culprit{}, StoppedRanks: []int{}, LateRanks: []int{}, MissingRanks: t.missing(),
		Notes: append([]string(nil), run.Notes...),
	}
	d.ClockOffsets = t.alignClocks()
	t.bounds()
	net := newNetwork(run.Fabric, z.opt.LineRateBitsPerSecond)
	tr := newTraffic(t, net)
	a := &analysis{t: t, tr: tr, room: &z.room, pauses: newPauses(run, tr, t.last), shares: map[string][]share{}}
	a.base = newBaseline(t, tr, t.channels)
	path := t.criticalSteps()
	d.MakespanNanos = t.last - t.first
	d.CriticalPath = t.segments(path)
	a.blame()
	d.FirstNanos = t.first
	d.Culprits, d.ExpectedNanos, d.Losses = a.culprits(path)
	if d.Culprits == nil {
		d.Culprits = []Culprit{}
	}
	d.LateRanks = a.late(d.MakespanNanos)
	a.standstill(&d)
	if t.doubled > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d step records were there twice", t.doubled))
	}
	if t.cut > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d step records are over the limit of %d and were left out", t.cut, len(run.Steps)-t.cut))
	}
	d.Text = d.describe(run)
	return d, t.first
}

// missing are the ranks without records, and those that a reader marked.
func (t *table) missing() []int {
	for _, c := range t.run.Calls {
		if c.Rank >= 0 && c.Rank < len(t.recorded) {
			t.recorded[c.Rank] = true
		}
	}
	out := []int{}
	for i, ok := range t.recorded {
		if !ok || t.run.Ranks[i].Missing {
			out = append(out, i)
		}
	}
	return out
}

// late are the ranks that began steps late by a share of the makespan that counts.
func (a *analysis) late(makespan int64) []int {
	sum := make([]int64, len(a.t.run.Ranks))
	for _, shares := range a.shares {
		for _, s := range shares {
			if s.idle {
				sum[a.t.steps[s.step].Rank] += s.nanos
			}
		}
	}
	out := []int{}
	for rank, nanos := range sum {
		if nanos > 0 && float64(nanos) >= leastShare*float64(makespan) {
			out = append(out, rank)
		}
	}
	return out
}
