package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestTheLinkThatMostWaitsFor: a full link counts by the suspects' routes as well, one that lost rate only by where the
// region's stall leads, and by the rate that it lost.
func TestTheLinkThatMostWaitsFor(t *testing.T) {
	u := newTiedUp(t)
	slow, full := roottest.Link(t, u.Graph, "0,0,0>0,0,1"), roottest.Link(t, u.Graph, "0,0,1>0,0,2")
	for _, c := range []struct {
		name          string
		led           [2]float64 // stall followed to the slow link and to the full one
		lost, claimed float64    // of the slow link
		want          schema.LinkID
	}{
		{"most is followed to the slow one", [2]float64{80, 20}, .9, 0, slow},
		{"it lost little", [2]float64{80, 20}, .2, 0, full},
		{"suspects' routes over it do not count", [2]float64{35, 65}, .9, 1, full},
	} {
		r := u.f.Region(u.p, nil)
		w := r.walkBy(u.p)
		w.reset()
		w.wait(slow, slow, c.led[0])
		w.wait(full, full, c.led[1])
		r.bottlenecks = []Bottleneck{{Link: slow, Waits: .5, Slower: true, Lost: c.lost, Share: c.claimed},
			{Link: full, Waits: .5, Share: .5}}
		r.tried.Clear()
		r.tried.Add(slow)
		r.tried.Add(full)
		if got := r.mostWaitedFor(w); got.Link != c.want {
			t.Errorf("%s: most waits for link %d, want %d", c.name, got.Link, c.want)
		}
	}
}

// TestFewLinksAreCandidates: of many full links those count that packets wait for most.
func TestFewLinksAreCandidates(t *testing.T) {
	u := newTiedUp(t)
	waits := roottest.Link(t, u.Graph, "3,3,3>4,3,3")
	u.p.Inq = &schema.Series{Metric: schema.InqStall, Values: make([]float32, u.Graph.NumLinks()), Valid: u.Stall.Valid}
	from, to := u.Graph.Ends(waits)
	last, n := schema.NoLink, 0
	for _, l := range append(append([]schema.LinkID{}, u.Graph.LinksAt(from)...), u.Graph.LinksAt(to)...) {
		if l != waits && u.Grid.Dim(l) >= 0 {
			n++
			u.Use.Values[l], u.p.Inq.Values[l] = 99, float32(20+n)
			last = l
		}
	}
	u.Stall.Values[waits] = 60
	r := u.f.Region(u.p, []schema.LinkID{waits})
	w := r.walkBy(u.p)
	w.shown.turnTo(u.p.Stall, u.p.Number)
	r.listBottlenecks(w)
	if len(r.bottlenecks) != maxBottlenecks || n <= maxBottlenecks || r.bottlenecks[0].Link != last {
		t.Errorf("of %d full links %d are candidates, first %d, want %d and %d", n, len(r.bottlenecks), r.bottlenecks[0].Link,
			maxBottlenecks, last)
	}
}
