package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestPassesUnreadLink: back pressure over a link without readings is followed to the host's port behind it. A link
// that was read before the onset and is not now may be down, and no back pressure passes it.
func TestPassesUnreadLink(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g,
		map[string]float64{"leaf0>spine0": 90, "leaf1>spine0": 90, "leaf3>host12": 95},
		map[string]float64{"leaf0>spine0": 5, "leaf1>spine0": 5, "leaf3>host12": 5})
	unread, port := roottest.Link(t, g, "spine0>leaf3"), roottest.Link(t, g, "leaf3>host12")
	p.Stall.Valid.Unset(int(unread))
	p.Use.Valid.Unset(int(unread))
	if back := follow(p, links); back.Root.Link != port || back.Root.Kind != schema.RootSlowReceiver {
		t.Errorf("root %q at link %d, want %q at leaf3>host12", back.Root.Kind, back.Root.Link, schema.RootSlowReceiver)
	}
	p.Use.Valid.Set(int(unread))
	if got := p.StallOf(unread); got != 0 {
		t.Errorf("a link whose load is read stalls for %v%%, want 0", got)
	}
	p.Use.Valid.Unset(int(unread))
	p.Before = func(schema.LinkID) float64 { return 40 }
	if got := p.StallOf(unread); got != 0 {
		t.Errorf("a link that was read before stalls for %v%%, want 0", got)
	}
}
