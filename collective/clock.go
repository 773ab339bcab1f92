package collective

import (
	"math"
	"slices"
)

// alignClocks puts the ranks' clocks on one axis. Of the edges between two ranks the
// shortest measured delay from the end of a transfer to the step that awaited it is
// the true shortest delay, about the same everywhere, plus the difference of the two
// clocks; over the ranks of a collective, as much comes in as goes out, so that the
// differences cancel in the mean. Clocks are only touched where a step began before
// the data that it awaited had ended.
// Offsets that are known are taken as they are.
func (t *table) alignClocks(known []int64) []ClockOffset {
	if known != nil {
		return t.shift(known)
	}
	if t.ordered {
		return nil
	}
	type edge struct{ from, to int32 }
	shortest := map[edge]int64{}
	violated := int64(0)
	for i, a := range t.awaited {
		if a >= 0 {
			violated = max(violated, t.end[a]-t.begin[i])
		}
	}
	if violated == 0 {
		return nil
	}
	for i := range t.steps {
		a := t.awaited[i]
		if a < 0 || t.steps[a].Rank == t.steps[i].Rank {
			continue
		}
		e := edge{t.steps[a].Rank, t.steps[i].Rank}
		delay := t.begin[i] - t.end[a]
		if old, ok := shortest[e]; !ok || delay < old {
			shortest[e] = delay
		}
	}
	mean := 0.0
	neighbours := make([][]edge, len(t.run.Ranks))
	var edges []edge
	for e := range shortest {
		edges = append(edges, e)
	}
	slices.SortFunc(edges, func(a, b edge) int { return int(a.from-b.from)*len(t.run.Ranks) + int(a.to-b.to) })
	for _, e := range edges {
		mean += float64(shortest[e]) / float64(len(edges))
		neighbours[e.from] = append(neighbours[e.from], e)
		neighbours[e.to] = append(neighbours[e.to], e)
	}
	// offset[b] - offset[a] = shortest - mean on every edge: a spanning tree first,
	// then averaging where there are more edges than a tree has.
	offset := make([]float64, len(t.run.Ranks))
	seen := make([]bool, len(offset))
	towards := func(e edge, rank int32) float64 { // what edge e says of rank's clock
		if rank == e.to {
			return offset[e.from] + float64(shortest[e]) - mean
		}
		return offset[e.to] - float64(shortest[e]) + mean
	}
	for start := range offset {
		queue := []int32{int32(start)}
		if seen[start] {
			continue
		}
		seen[start] = true
		for len(queue) > 0 {
			rank := queue[0]
			queue = queue[1:]
			for _, e := range neighbours[rank] {
				other := e.from + e.to - rank
				if !seen[other] {
					seen[other] = true
					offset[other] = towards(e, other)
					queue = append(queue, other)
				}
			}
		}
	}
	for range 50 {
		for rank := 1; rank < len(offset); rank++ {
			if edges := neighbours[rank]; len(edges) > 2 {
				sum := 0.0
				for _, e := range edges {
					sum += towards(e, int32(rank))
				}
				offset[rank] = sum / float64(len(edges))
			}
		}
	}
	return t.shiftWhereLong(offset)
}

// shiftWhereLong takes the offsets from the clocks where they explain more than the length
// of a typical step: less is steps that overlap, as in a pipeline.
func (t *table) shiftWhereLong(offset []float64) []ClockOffset {
	typical := t.typicalDuration()
	largest := 0.0
	for _, o := range offset {
		largest = max(largest, math.Abs(o-offset[0]))
	}
	if largest < float64(typical)/100 {
		return nil
	}
	whole := make([]int64, len(offset))
	for rank, o := range offset {
		whole[rank] = int64(math.Round(o - offset[0]))
	}
	return t.shift(whole)
}

// shift takes the offsets from the ranks' clocks.
func (t *table) shift(offset []int64) (out []ClockOffset) {
	t.bounded, t.offset = false, offset
	for rank, o := range offset {
		if o != 0 {
			out = append(out, ClockOffset{Rank: rank, OffsetNanos: o})
		}
	}
	for i := range t.steps {
		n := t.offset[t.steps[i].Rank]
		t.begin[i] -= n
		t.end[i] -= n
	}
	return out
}

// typicalDuration is the median length of up to 4,096 steps, spread over the run.
func (t *table) typicalDuration() int64 {
	stride := len(t.steps)/4096 + 1
	var sample []int64
	for i := 0; i < len(t.steps); i += stride {
		sample = append(sample, t.end[i]-t.begin[i])
	}
	if len(sample) == 0 {
		return 0
	}
	slices.Sort(sample)
	return sample[len(sample)/2]
}
