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

// TestReadersStaySuspects: a job that reads from elsewhere stays a suspect, however many jobs have more traffic across the region.
func TestReadersStaySuspects(t *testing.T) {
	reader := &job{Job: &history.Job{}}
	in := &interval{readers: []*job{reader}}
	rc := &regionCase{interval: in}
	for i := range 2 * maxSuspects {
		rc.jobs = append(rc.jobs, suspect{job: &job{Job: &history.Job{}}, cross: float64(i+1) / 100})
	}
	rc.jobs = append(rc.jobs, suspect{job: reader, hops: -1})
	in.dropFarthest(rc)
	if len(rc.jobs) != maxSuspects || !slices.ContainsFunc(rc.jobs, func(c suspect) bool { return c.job == reader }) {
		t.Errorf("%d suspects, without the reader", len(rc.jobs))
	}
	for i := range rc.jobs {
		if c := &rc.jobs[i]; c.job != reader && c.cross <= float64(maxSuspects+1)/100 {
			t.Errorf("a job with a share of %v stays, one with more is dropped", c.cross)
		}
	}
}
