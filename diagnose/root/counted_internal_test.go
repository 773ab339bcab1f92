package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestWhereWaitsAreCounted: if devices count packets that wait inside a switch at the link over which they came, links
// that lead into stalled ones seem to have lost rate, but a region waits for none of them.
func TestWhereWaitsAreCounted(t *testing.T) {
	const end, feeds, feedsToo, passes = "0,1,3>0,2,3", "0,0,3>0,1,3", "7,1,3>0,1,3", "0,2,3>0,3,3"
	for _, c := range []struct {
		name           string
		credit, inside map[string]float32
		atInputs       bool
	}{
		{name: "at the links over which they came", credit: map[string]float32{end: 95},
			inside: map[string]float32{end: 97, feeds: 96, feedsToo: 90}, atInputs: true},
		{name: "at the slow link", credit: map[string]float32{end: 95}, inside: map[string]float32{end: 97, feeds: 96}},
		{name: "at links of which packets wait that have credits",
			credit: map[string]float32{end: 95, passes: 90, "0,4,3>0,5,3": 80}, inside: map[string]float32{end: 60,
				feeds: 96, feedsToo: 90}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newTiedUp(t)
			g, n := u.Graph, u.Graph.NumLinks()
			u.p.Credit = u.p.Stall
			u.p.Inq = &schema.Series{Metric: schema.InqStall, Values: make([]float32, n), Valid: u.p.Stall.Valid}
			for name, v := range c.credit {
				u.p.Credit.Values[roottest.Link(t, g, name)] = v
			}
			for name, v := range c.inside {
				l := roottest.Link(t, g, name)
				u.p.Inq.Values[l], u.p.Use.Values[l], u.Was[l] = v, 10, 30
			}
			u.p.findCounted()
			l := roottest.Link(t, g, feeds)
			w := walkOnGrid(u.f, u.p)
			_, s := w.shows(l)
			_, may := w.bottleneckOf(l, s)
			if u.p.atInputs != c.atInputs || may == c.atInputs || (u.p.waitsFor(l) == 0) != c.atInputs {
				t.Errorf("at inputs %v, want %v; may be a bottleneck %v, waits for it %.2f", u.p.atInputs, c.atInputs, may,
					u.p.waitsFor(l))
			}
		})
	}
}
