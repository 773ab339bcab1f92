package collective

import (
	"cmp"
	"math"
	"slices"
)

// alignClocks puts the ranks' clocks on one time axis. The shortest measured delay
// between two ranks, from the end of a transfer to the step that awaited it, is the
// true shortest delay (about the same everywhere) plus the difference of the two
// clocks. Over the ranks of a collective these differences cancel in the mean, since
// each rank receives as often as it sends. Clocks are corrected only if some step began
// before the data that it awaited had ended. Known offsets are applied as given.
func (t *table) alignClocks(known []int64) []ClockOffset {
	if known != nil {
		return t.shift(known)
	}
	if t.ordered {
		return nil
	}
	violated := int64(0)
	for i, a := range t.awaited {
		if a >= 0 {
			violated = max(violated, t.end[a]-t.begin[i])
		}
	}
	if violated == 0 {
		return nil
	}
	return t.shiftWhereLong(offsets(t.shortestDelays(), len(t.run.Ranks)))
}

// delay is the shortest time, by the ranks' own clocks, from the end of a transfer of
// one rank to the step of another that awaited it.
type delay struct {
	from, to int32
	nanos    float64
}

// shortestDelays lists the delays between ranks, in rank order.
func (t *table) shortestDelays() (delays []delay) {
	shortest := map[[2]int32]int64{}
	for i := range t.steps {
		a := t.awaited[i]
		if a < 0 || t.steps[a].Rank == t.steps[i].Rank {
			continue
		}
		ranks, nanos := [2]int32{t.steps[a].Rank, t.steps[i].Rank}, t.begin[i]-t.end[a]
		if old, ok := shortest[ranks]; !ok || nanos < old {
			shortest[ranks] = nanos
		}
	}
	for ranks, nanos := range shortest {
		delays = append(delays, delay{ranks[0], ranks[1], float64(nanos)})
	}
	slices.SortFunc(delays, func(a, b delay) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return delays
}

// averagings is the number of averaging rounds over the offsets, for graphs with more
// delays than a spanning tree has.
const averagings = 50

// offsets returns how far each rank's clock is ahead: each delay's difference from the
// mean, propagated over a spanning tree, then averaged.
func offsets(delays []delay, ranks int) []float64 {
	mean := 0.0
	neighbours := make([][]delay, ranks)
	for _, d := range delays {
		mean += d.nanos / float64(len(delays))
		neighbours[d.from] = append(neighbours[d.from], d)
		neighbours[d.to] = append(neighbours[d.to], d)
	}
	offset, seen := make([]float64, ranks), make([]bool, ranks)
	towards := func(d delay, rank int32) float64 { // rank's offset according to one delay
		if rank == d.to {
			return offset[d.from] + d.nanos - mean
		}
		return offset[d.to] - d.nanos + mean
	}
	for start := range offset {
		if seen[start] {
			continue
		}
		seen[start] = true
		for queue := []int32{int32(start)}; len(queue) > 0; queue = queue[1:] {
			for _, d := range neighbours[queue[0]] {
				if other := d.from + d.to - queue[0]; !seen[other] {
					seen[other] = true
					offset[other] = towards(d, other)
					queue = append(queue, other)
				}
			}
		}
	}
	for range averagings {
		for rank := 1; rank < ranks; rank++ {
			if near := neighbours[rank]; len(near) > 2 {
				sum := 0.0
				for _, d := range near {
					sum += towards(d, int32(rank))
				}
				offset[rank] = sum / float64(len(near))
			}
		}
	}
	return offset
}

// shiftWhereLong applies the offsets if the largest is at least a hundredth of a
// typical step: smaller ones come from steps that overlap, as in a pipeline.
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

// shift subtracts the offsets from the ranks' clocks.
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
