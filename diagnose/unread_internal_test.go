package diagnose

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestPassesUnreadLink: back pressure that comes over a link without readings is followed to the host's port behind it. A
// link that was read before the onset and is not now may be down, and nothing passes it.
func TestPassesUnreadLink(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _, links := readings(t, g,
		map[string]float64{"leaf0>spine0": 90, "leaf1>spine0": 90, "leaf3>host12": 95},
		map[string]float64{"leaf0>spine0": 5, "leaf1>spine0": 5, "leaf3>host12": 5})
	unread, port := linkBetween(t, g, "spine0>leaf3"), linkBetween(t, g, "leaf3>host12")
	p.stall.Valid.Unset(int(unread))
	p.use.Valid.Unset(int(unread))
	rc := caseOf(p, links)
	p.spread(rc)
	if back := p.rootOf(rc, backPressure{link: schema.NoLink, use: -1}); back.link != port || back.kind != slowReceiver {
		t.Errorf("root %q at link %d, want %q at leaf3>host12", back.kind, back.link, slowReceiver)
	}
	p.before = func(schema.LinkID) float64 { return 40 }
	if got := p.stallOf(unread); got != 0 {
		t.Errorf("a link that was read before stalls for %v%%, want 0", got)
	}
}
