package diagnose

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
)

// TestTheNearestJobs: of many jobs around a region only the maxSuspects nearest are listed, without those that cross it.
func TestTheNearestJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 3, maxSuspects - 1, maxSuspects, maxSuspects + 1, 400} {
		w := interval{scratch: scratch{round: 7}}
		var want []*job
		for order := range n {
			j := &job{Job: &history.Job{}, order: order, hops: int8(rng.IntN(3)), round: 7}
			if w.scratch.around = append(w.scratch.around, j); order%5 == 1 {
				j.round = 0 // crosses it
				continue
			}
			want = append(want, j)
		}
		rng.Shuffle(n, func(a, b int) { w.scratch.around[a], w.scratch.around[b] = w.scratch.around[b], w.scratch.around[a] })
		slices.SortStableFunc(want, func(a, b *job) int { return cmp.Compare(a.hops, b.hops) })
		if got := w.nearest(); !slices.Equal(got, want[:min(len(want), maxSuspects)]) {
			t.Errorf("of %d jobs %d others than the nearest are listed", n, len(got))
		}
	}
}
