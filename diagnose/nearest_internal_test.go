package diagnose

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestTheNearestJobs: of many jobs around a region only the maxSuspects nearest are listed, without those that cross
// it.
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

// TestReadersStaySuspects: a job that reads from elsewhere stays a suspect, however many jobs have more traffic across
// the region.
func TestReadersStaySuspects(t *testing.T) {
	reader := &job{Job: &history.Job{}}
	rc := &regionCase{in: &interval{runningJobs: runningJobs{readers: []*job{reader}}}}
	for i := range 2 * maxSuspects {
		rc.suspects = append(rc.suspects, suspect{job: &job{Job: &history.Job{}}, cross: float64(i+1) / 100})
	}
	rc.suspects = append(rc.suspects, suspect{job: reader, hops: -1})
	rc.dropFarthest()
	if len(rc.suspects) != maxSuspects || !slices.ContainsFunc(rc.suspects, func(c suspect) bool { return c.job == reader }) {
		t.Errorf("%d suspects, without the reader", len(rc.suspects))
	}
	for i := range rc.suspects {
		if c := &rc.suspects[i]; c.job != reader && c.cross <= float64(maxSuspects+1)/100 {
			t.Errorf("a job with a share of %v stays, one with more is dropped", c.cross)
		}
	}
}

// TestAReaderBeyondTheNearest: a job that reads from elsewhere is a suspect within the hops, too, if others are nearer.
func TestAReaderBeyondTheNearest(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=40,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	place := func(host string) *job {
		j := &job{Job: &history.Job{Job: schema.Job{ID: host, Nodes: []string{host}}}}
		j.Place(g)
		s.settle(j)
		return j
	}
	for i := range 40 {
		place(fmt.Sprint("host", i))
	}
	s.readers = []*job{place("host50")}
	rc := &regionCase{in: &s.interval, region: &schema.Region{Links: []schema.LinkID{roottest.Link(t, g, "leaf0>spine0")}}}
	rc.findSuspects()
	if len(rc.suspects) != maxSuspects || !slices.ContainsFunc(rc.suspects, func(c suspect) bool { return c.job == s.readers[0] }) {
		t.Errorf("%d suspects, without the reader", len(rc.suspects))
	}
}

// TestAWriterDoesNotReceive: where no load is read, the port of a switch at which stall ends is that to the only node
// there of a job that exchanges, not of one that writes to files.
func TestAWriterDoesNotReceive(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=2,spines=1")
	for _, writes := range []bool{false, true} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: []string{"host0", "host2"}}, Traffic: history.NewTraffic(20, 0)}, recent: moves{known: true, volume: volume{all: 8}}}
		j.Place(g)
		j.Traffic.Set(history.Write, 0, 8)
		at, _ := g.Ends(roottest.Link(t, g, "leaf0>host0"))
		rc := &regionCase{in: &s.interval, suspects: []suspect{{job: j, known: true, file: writes, filesKnown: true}}, verdict: verdict{accused: 1}}
		rc.timeline.onset, rc.back = -1, root.BackPressure{Switch: root.Switch{Device: at, Share: 1}}
		if port := rc.onlyReceiver(); (port == nil) != writes {
			t.Errorf("writes %v: receives at %+v", writes, port)
		}
	}
}
