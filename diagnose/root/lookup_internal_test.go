package root

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestALinkIsLookedUpOnce: regions with the same stalls and onset share readings; a region with another onset is
// compared with another past.
func TestALinkIsLookedUpOnce(t *testing.T) {
	u := newTiedUp(t)
	senders := []topology.DeviceID{3, 17, 40, 99, 130, 201, 333, 402, 511}
	links := u.Send(senders, 146)
	slices.Sort(links)
	of := []Sender{{Devices: senders, Routes: u.Router.Of(senders)}}
	asked := 0
	u.p.Before = func(l schema.LinkID) float64 { asked++; return u.Torus.Before(l) }
	ask := func(since uint32) (looked int) {
		asked = 0
		u.p.Number = since
		r := u.f.Region(u.p, links)
		d, _ := r.Drain(of)
		r.Bottleneck(u.p, of, &d, false)
		if read, shown := len(u.f.region.readings.list), len(u.f.around.shown.list); read < len(links) ||
			read+shown > 2*u.Graph.NumLinks() {
			t.Fatalf("of %d links %d and %d were looked up", len(links), read, shown)
		}
		return asked
	}
	first := ask(1)
	if again := ask(1); first < len(links) || again >= first/2 {
		t.Errorf("the past of links was asked for %d times, and for a second region like it %d times", first, again)
	}
	if other := ask(2); other != first {
		t.Errorf("of a region that began at another time it was asked for %d times, want %d", other, first)
	}
}
