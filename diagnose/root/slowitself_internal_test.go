package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestLinkThatIsSlowItself: a link that stalls lost rate itself if it lost more load than every port behind it.
func TestLinkThatIsSlowItself(t *testing.T) {
	for _, c := range []struct {
		name         string
		stalls, uses map[string]float64 // uses now
		want         bool
	}{
		{"what it lost is spread over hosts", nil, map[string]float64{"leaf0>host0": 35, "leaf0>host1": 38}, true},
		{"one host lost as much, and only this link waits", nil, map[string]float64{"leaf0>host0": 18}, true},
		{"one host lost as much, and others wait for it too", map[string]float64{"spine1>leaf0": 40},
			map[string]float64{"leaf0>host0": 18}, false},
		{"it carries what it did", nil, map[string]float64{"spine0>leaf0": 48}, false},
		{"it carries nothing any more", nil, map[string]float64{"spine0>leaf0": 0}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
			stalls, uses := map[string]float64{"spine0>leaf0": 60}, map[string]float64{"spine0>leaf0": 20,
				"leaf0>host0": 50, "leaf0>host1": 50, "leaf0>host2": 50, "leaf0>host3": 50}
			for name, v := range c.stalls {
				stalls[name] = v
			}
			for name, v := range c.uses {
				uses[name] = v
			}
			p, links := readings(t, g, stalls, uses)
			p.Before = func(schema.LinkID) float64 { return 50 }
			link := roottest.Link(t, g, "spine0>leaf0")
			if got := (ports{p}).slowItself(link); got != c.want {
				t.Errorf("slow itself %v, want %v", got, c.want)
			}
			if back := follow(p, links); c.want &&
				(back.Root.Link != link || back.Root.Kind != schema.RootLinkCapacity || !back.Root.Slower) {
				t.Errorf("root %s at link %d, want the link that lost rate", back.Root.Kind, back.Root.Link)
			}
		})
	}
}

// TestPortBehindThatLostAsMuch: a port to a switch that lost as much as the stalled link before it is what is slow.
func TestPortBehindThatLostAsMuch(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _ := readings(t, g, map[string]float64{"leaf0>spine0": 60},
		map[string]float64{"leaf0>spine0": 20, "spine0>leaf1": 15})
	p.Before = func(schema.LinkID) float64 { return 50 }
	if (ports{p}).slowItself(roottest.Link(t, g, "leaf0>spine0")) {
		t.Error("the link is slow itself, though a port behind it lost as much")
	}
}

// TestPortThatLostAlone: if one host's port lost what the link before it did, and the rest of the link's traffic goes
// on, the port is slow.
func TestPortThatLostAlone(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	link := roottest.Link(t, g, "spine0>leaf0")
	for rest, slow := range map[float64]bool{20: false, 8: true} { // percent that others behind the link still get of 20
		p, _ := readings(t, g, map[string]float64{"spine0>leaf0": 40},
			map[string]float64{"spine0>leaf0": 15 + rest, "leaf0>host0": 15, "leaf0>host1": rest})
		p.Before = func(l schema.LinkID) float64 {
			switch l {
			case link:
				return 70
			case roottest.Link(t, g, "leaf0>host0"):
				return 50
			}
			return 20
		}
		if got := (ports{p}).slowItself(link); got != slow {
			t.Errorf("others get %g%% of 20%%: the link is slow itself: %v", rest, got)
		}
	}
}

// TestLinksIntoOneSwitchThatLostTogether: of several links into a switch that stall and lost load none is slow itself.
func TestLinksIntoOneSwitchThatLostTogether(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	for beside, want := range map[float64]bool{48: true, 25: false} { // use of the other link
		p, _ := readings(t, g, map[string]float64{"leaf0>spine0": 60, "leaf1>spine0": 50},
			map[string]float64{"leaf0>spine0": 20, "leaf1>spine0": beside, "spine0>leaf1": 45, "spine0>leaf2": 45,
				"spine0>leaf3": 45})
		p.Before = func(schema.LinkID) float64 { return 50 }
		if got := (ports{p}).slowItself(roottest.Link(t, g, "leaf0>spine0")); got != want {
			t.Errorf("beside one that carries %v%%: slow itself %v, want %v", beside, got, want)
		}
	}
}
