package report

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/collective"
)

// Timeline shows ranks by steps of the slowest iteration, up to maxRows ranks and
// maxCells steps. Row, Step, StepBegin and StepEnd have an entry per step; times are
// nanoseconds from the report's begin.
type Timeline struct {
	Iteration  int     `json:"iteration"`
	BeginNanos int64   `json:"begin_ns"` // of the iteration
	EndNanos   int64   `json:"end_ns"`
	Ranks      []int   `json:"ranks"` // the rows
	Row        []int   `json:"row"`   // by step: index in Ranks
	Step       []int   `json:"step"`  // number of the step in the collective
	StepBegin  []int64 `json:"step_begin_ns"`
	StepEnd    []int64 `json:"step_end_ns"`
	Omitted    int     `json:"omitted,omitempty"` // steps of the iteration that are not included
}

// Limits of a timeline.
const (
	maxRows  = 48
	maxCells = 1200
)

// cell is a step of the timeline.
type cell struct {
	rank, step int
	begin, end int64
	critical   bool
}

func newTimeline(run collective.Run, d collective.Diagnosis) Timeline {
	t := Timeline{Iteration: slowest(d), Ranks: []int{}, Row: []int{}, Step: []int{}, StepBegin: []int64{}, StepEnd: []int64{}}
	type key struct{ rank, step, communicator, channel, chunk int }
	critical, rows := map[key]bool{}, map[int]int{}
	row := func(rank int) {
		if _, ok := rows[rank]; !ok && len(t.Ranks) < maxRows {
			rows[rank] = len(t.Ranks)
			t.Ranks = append(t.Ranks, rank)
		}
	}
	if len(run.Ranks) <= maxRows {
		for rank := range run.Ranks {
			row(rank)
		}
	}
	for _, s := range d.CriticalPath {
		if s.Iteration == t.Iteration {
			row(s.Rank)
			critical[key{s.Rank, s.Step, s.Communicator, s.Channel, s.Chunk}] = true
		}
	}
	for rank := range run.Ranks {
		row(rank)
	}
	var cells []cell
	offset := d.Offsets()
	for i := range run.Steps {
		s := &run.Steps[i]
		if int(s.Iteration) != t.Iteration || s.EndNanos < s.BeginNanos {
			continue
		}
		if _, ok := rows[int(s.Rank)]; !ok {
			t.Omitted++
			continue
		}
		shift := offset[int(s.Rank)] + d.FirstNanos
		cells = append(cells, cell{int(s.Rank), int(s.Step), s.BeginNanos - shift, s.EndNanos - shift,
			critical[key{int(s.Rank), int(s.Step), int(s.Communicator), int(s.Channel), int(s.Chunk)}]})
	}
	if len(cells) > maxCells {
		slices.SortStableFunc(cells, func(a, b cell) int {
			if a.critical != b.critical {
				return cmp.Compare(boolInt(b.critical), boolInt(a.critical))
			}
			return cmp.Compare(b.end-b.begin, a.end-a.begin)
		})
		t.Omitted += len(cells) - maxCells
		cells = cells[:maxCells]
	}
	slices.SortStableFunc(cells, func(a, b cell) int {
		return cmp.Or(cmp.Compare(rows[a.rank], rows[b.rank]), cmp.Compare(a.begin, b.begin))
	})
	t.fill(cells, rows)
	return t
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *Timeline) fill(cells []cell, rows map[int]int) {
	for i, c := range cells {
		if i == 0 || c.begin < t.BeginNanos {
			t.BeginNanos = c.begin
		}
		t.EndNanos = max(t.EndNanos, c.end)
		t.Row, t.Step = append(t.Row, rows[c.rank]), append(t.Step, c.step)
		t.StepBegin, t.StepEnd = append(t.StepBegin, c.begin), append(t.StepEnd, c.end)
	}
}

// slowest returns the iteration with the longest part of the critical path.
func slowest(d collective.Diagnosis) int {
	nanos, best := map[int]int64{}, 0
	for _, s := range d.CriticalPath {
		nanos[s.Iteration] += s.EndNanos - s.BeginNanos
	}
	for iteration, n := range nanos {
		if b := nanos[best]; n > b || n == b && iteration < best {
			best = iteration
		}
	}
	return best
}

// path returns the critical path within the timeline's iteration, in time order,
// reduced to its longest segments if necessary.
func (t *Timeline) path(all []collective.Segment) []collective.Segment {
	own := []collective.Segment{}
	for _, s := range all {
		if s.Iteration == t.Iteration {
			own = append(own, s)
		}
	}
	if len(own) > maxSegments {
		slices.SortStableFunc(own, func(a, b collective.Segment) int {
			return cmp.Compare(b.EndNanos-b.BeginNanos, a.EndNanos-a.BeginNanos)
		})
		own = own[:maxSegments]
		slices.SortStableFunc(own, func(a, b collective.Segment) int { return cmp.Compare(a.BeginNanos, b.BeginNanos) })
	}
	return own
}
