package root

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestWhereAHostTakesLittle: of the switches of a line, the slow host's is the one towards which stall does not fall, whose nodes the
// comparison of all places rates highest, whose other links stall like the line or not at all, and for which the senders' routes agree
// with the held-back traffic; it is never one whose links on the line do not stall.
func TestWhereAHostTakesLittle(t *testing.T) {
	line := []string{"2,7,1>2,7,2", "2,7,2>2,7,3", "2,7,3>2,7,4", "2,7,4>2,7,5"}
	for _, c := range []struct {
		name    string
		stalls  []float32 // of the line's links
		rated   string    // along the line, highest
		sides   map[string]float32
		senders string // along the line; empty: not known
		carries []float32
		want    string
	}{
		{"stall does not fall towards it", []float32{20, 40, 20, 10}, "1", nil, "", nil, "2,7,2"},
		{"its nodes are rated highest", []float32{40, 40, 40, 40}, "3", nil, "", nil, "2,7,3"},
		{"its sides stall like the line", []float32{40, 40, 40, 40}, "", map[string]float32{"2,7,2>3,7,2": 20, "2,7,3>3,7,3": 40, "2,7,4>3,7,4": 20, "2,7,1>3,7,1": 20, "2,7,5>3,7,5": 20}, "", nil, "2,7,3"},
		{"senders on one side", []float32{40, 40, 40, 0}, "", nil, "1", []float32{10, 10, 10, 0}, "2,7,4"},
		{"senders on the other side", []float32{0, 40, 40, 40}, "", nil, "5", []float32{0, 10, 10, 10}, "2,7,2"},
	} {
		u := newTiedUp(t)
		region := []schema.LinkID{}
		set := func(name string, stall, use float32) {
			l := roottest.Link(t, u.Graph, name)
			u.p.Stall.Values[l], u.p.Use.Values[l] = stall, use
			region = append(region, l)
		}
		for i, name := range line {
			use := float32(5)
			if c.carries != nil {
				use = c.carries[i]
			}
			set(name, c.stalls[i], use)
		}
		var places []rated
		for z := '1'; z <= '5'; z++ {
			at := rated{from: u.Device(t, "2,7,"+string(z))}
			if c.rated == string(z) {
				at.score = 2
			}
			places = append(places, at)
		}
		for name, stall := range c.sides {
			set(name, stall, 5)
		}
		slices.Sort(region)
		var d Drain
		for _, z := range c.senders {
			d.Senders = append(d.Senders, u.Device(t, "2,7,"+string(z)))
		}
		e := &u.f.endings
		r := u.f.Region(u.p, region)
		for _, from := range []string{"2,7,3", "2,7,2"} {
			if got := u.Graph.Device(e.slowEnd(u.Device(t, from), places, &d, r)).Name; got != c.want {
				t.Errorf("%s, from %s: at %s, want %s", c.name, from, got, c.want)
			}
		}
	}
	u := newTiedUp(t)
	r := u.f.Region(u.p, nil)
	var calm topology.DeviceID = 5
	if got := u.f.endings.slowEnd(calm, nil, &Drain{}, r); got != calm {
		t.Errorf("on a line that does not stall it moved to %d", got)
	}
}
