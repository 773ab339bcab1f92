package collective

import "slices"

// maxSegments bounds the critical path that a Series keeps: 100 collectives of 1,024
// ranks in a ring have 204,600.
const maxSegments = 1 << 20

// Series diagnoses the collectives of a long job one by one, each Run holding those
// of one stretch of time, in order. Its memory is that of one run, and of the
// critical path.
type Series struct {
	analyser *Analyser
	total    Diagnosis
	first    int64
	last     int64
	ranks    []Rank
	dropped  bool
}

// NewSeries makes a Series.
func NewSeries(opt Options) *Series {
	return &Series{analyser: NewAnalyser(opt), total: Diagnosis{CriticalPath: []Segment{}, Culprits: []Culprit{}, StoppedRanks: []int{}, LateRanks: []int{}, MissingRanks: []int{}}}
}

// Add diagnoses the next run and returns its diagnosis.
func (s *Series) Add(run Run) Diagnosis {
	d, first := s.analyser.diagnose(run)
	t := &s.total
	s.ranks = run.Ranks
	if t.Iterations == 0 {
		s.first, s.last = first, first
	}
	gap := max(first-s.last, 0)
	t.Ranks, t.Steps = max(t.Ranks, d.Ranks), max(t.Steps, d.Steps)
	s.join(d, first, gap)
	t.Iterations += d.Iterations
	t.ExpectedNanos += gap + d.ExpectedNanos
	t.StoppedRanks = union(t.StoppedRanks, d.StoppedRanks)
	t.LateRanks = union(t.LateRanks, d.LateRanks)
	t.MissingRanks = union(t.MissingRanks, d.MissingRanks)
	t.ClockOffsets = d.ClockOffsets
	for _, c := range d.Culprits {
		s.culprit(c)
	}
	slices.SortStableFunc(t.Culprits, func(a, b Culprit) int { return compare(b.CostNanos, a.CostNanos) })
	return d
}

// join appends a run's critical path; what the ranks did between two runs counts as
// their own time.
func (s *Series) join(d Diagnosis, first, gap int64) {
	t := &s.total
	at := s.last - s.first
	if gap > 0 && len(d.CriticalPath) > 0 {
		between := d.CriticalPath[0]
		between.Kind, between.BeginNanos, between.EndNanos, between.Iteration = Compute, at, at+gap, t.Iterations
		t.CriticalPath = append(t.CriticalPath, between)
	}
	for _, x := range d.CriticalPath {
		x.BeginNanos += at + gap
		x.EndNanos += at + gap
		x.Iteration += t.Iterations
		if len(t.CriticalPath) == maxSegments {
			s.dropped = true
			break
		}
		t.CriticalPath = append(t.CriticalPath, x)
	}
	s.last += gap + d.MakespanNanos
	t.MakespanNanos = s.last - s.first
}

// culprit adds the cost of a culprit to what it cost before.
func (s *Series) culprit(c Culprit) {
	for i := range s.total.Culprits {
		if o := &s.total.Culprits[i]; o.Class == c.Class && o.Flow == c.Flow && o.Object == c.Object {
			o.CostNanos += c.CostNanos
			o.AloneNanos += c.AloneNanos
			o.Confidence = max(o.Confidence, c.Confidence)
			return
		}
	}
	if len(s.total.Culprits) < 1024 {
		s.total.Culprits = append(s.total.Culprits, c)
	}
}

func union(a, b []int) []int {
	a = append(a, b...)
	slices.Sort(a)
	return slices.Compact(a)
}

// Diagnosis is that of all runs so far, as of one.
func (s *Series) Diagnosis() Diagnosis {
	d := s.total
	if s.dropped {
		d.Notes = append(d.Notes, "the critical path is longer than what is kept of it")
	}
	d.Text = d.describe(&Run{Ranks: s.ranks})
	return d
}
