package root

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestPortThatCannotSendMore: a port is slow if inputs that wait for it stall longer than it sends, unless it is full.
func TestPortThatCannotSendMore(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _ := readings(t, g, map[string]float64{"leaf1>spine0": 60, "leaf2>spine0": 40, "leaf0>spine0": 2},
		map[string]float64{"leaf1>spine0": 4, "leaf2>spine0": 18, "spine0>leaf0": 22, "spine0>leaf3": 45})
	port := roottest.Link(t, g, "spine0>leaf0")
	p.Before = func(schema.LinkID) float64 { return 24 }
	can := func() bool { return (ports{p}).canSend(port) >= ClearlyLess }
	if can() {
		t.Error("a port that carries 22% while inputs stall for half of the time can send more")
	}
	p.Use.Values[port] = 97
	if !can() {
		t.Error("a full port is not slow")
	}
}

// TestLoadedOrSlow: a port whose load is higher than ever before, by more than another one lost, is loaded.
func TestLoadedOrSlow(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _ := readings(t, g, map[string]float64{"spine0>leaf0": 30},
		map[string]float64{"spine0>leaf0": 40, "leaf0>host0": 55, "leaf0>host1": 15})
	new, lost := roottest.Link(t, g, "leaf0>host0"), roottest.Link(t, g, "leaf0>host1")
	was := map[schema.LinkID]float64{lost: 29}
	p.Before = func(l schema.LinkID) float64 { return was[l] }
	if !(ports{p}).loaded(new, lost) {
		t.Error("the port whose load is new is not what others wait for")
	}
	if was[new] = 50; (ports{p}).loaded(new, lost) {
		t.Error("a port that carries what it always did is loaded")
	}
}

// TestConstantLoadIsARate: of the ports of a switch none of which sends for as long as inputs wait, the one with
// constant load is slow, though it carries as much as before.
func TestConstantLoadIsARate(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g, map[string]float64{"leaf1>spine0": 80, "leaf2>spine0": 80},
		map[string]float64{"leaf1>spine0": 15, "leaf2>spine0": 15, "spine0>leaf0": 35, "spine0>leaf3": 45})
	p.Before = func(schema.LinkID) float64 { return 40 }
	slow := roottest.Link(t, g, "spine0>leaf0")
	p.Flat = func(l schema.LinkID) bool { return l == slow }
	if b := follow(p, links); b.Root.Link != slow || !b.Root.Slower {
		t.Errorf("the root is %v, slower %v", b.Root.Link, b.Root.Slower)
	}
}

// TestCableWithConstantLoadInBothDirections: a cable that carries less than before, the same both ways and in all
// intervals, lost rate, however much other ports of its switch gained. If one direction carries something else, the
// load fell.
func TestCableWithConstantLoadInBothDirections(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	stall := map[string]float64{"host0>leaf0": 40, "host1>leaf0": 40}
	up, down := roottest.Link(t, g, "leaf0>spine0"), roottest.Link(t, g, "spine0>leaf0")
	for name, c := range map[string]struct {
		back   float64
		isSlow bool
	}{
		"the same rate": {4.2, true},
		"another load":  {9, false},
	} {
		p, links := readings(t, g, stall,
			map[string]float64{"leaf0>spine0": 4, "spine0>leaf0": c.back, "leaf0>host0": 55, "leaf0>host1": 52,
				"leaf0>spine1": 40})
		p.Before = func(l schema.LinkID) float64 { return 15 }
		p.Flat = func(l schema.LinkID) bool { return l == up || l == down }
		if b := follow(p, links); (b.Root.Link == up && b.Root.Slower && b.Root.Cannot) != c.isSlow {
			t.Errorf("%s: the root is %v (the cable %v), slower %v", name, b.Root.Link, up, b.Root.Slower)
		}
	}
}

// TestTheSameLoadInBothDirections: of the ports of a switch that carry less than before, in the first intervals the
// cable is slow that carries the same both ways, not the port that lost most.
func TestTheSameLoadInBothDirections(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	for _, c := range []struct {
		back float64
		want string
	}{{24.7, "spine0>leaf0"}, {20, "spine0>leaf3"}} {
		p, links := readings(t, g, map[string]float64{"leaf1>spine0": 80, "leaf2>spine0": 80},
			map[string]float64{"leaf1>spine0": 15, "leaf2>spine0": 15, "spine0>leaf0": 25.3, "leaf0>spine0": c.back,
				"spine0>leaf3": 28, "leaf3>spine0": 23})
		was := map[schema.LinkID]float64{roottest.Link(t, g, "spine0>leaf0"): 57, roottest.Link(t, g, "leaf0>spine0"): 42,
			roottest.Link(t, g, "spine0>leaf3"): 73, roottest.Link(t, g, "leaf3>spine0"): 22}
		p.Before = func(l schema.LinkID) float64 { return was[l] }
		if b := follow(p, links); b.Root.Link != roottest.Link(t, g, c.want) || !b.Root.Slower {
			t.Errorf("%v%% the other way: root %v, slower %v, want %s", c.back, b.Root.Link, b.Root.Slower, c.want)
		}
	}
}

// TestCableThatHoldsUpBothItsEnds: where all traffic waits for one port, the others send less, too. Of those that
// cannot send for as long as others wait, the cable is slow whose other direction cannot either. No onset is needed.
func TestCableThatHoldsUpBothItsEnds(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=5,hosts=4,spines=2")
	cable := roottest.Link(t, g, "spine0>leaf0")
	for name, c := range map[string]struct {
		upWaits float64 // at the end of the other direction
		before  float64
		isSlow  bool
	}{
		"both ends wait":         {80, -1, true},
		"both, others lost more": {80, 60, true},
		"one end waits":          {0, -1, false},
	} {
		p, links := readings(t, g,
			map[string]float64{"leaf1>spine0": 85, "leaf2>spine0": 85, "leaf3>spine0": 85, "host0>leaf0": c.upWaits,
				"host1>leaf0": c.upWaits},
			map[string]float64{"leaf1>spine0": 12, "leaf2>spine0": 12, "leaf3>spine0": 12, "spine0>leaf0": 18,
				"leaf0>spine0": 18, "spine0>leaf1": 34, "spine0>leaf2": 15, "spine0>leaf3": 30, "spine0>leaf4": 14})
		p.Before = func(schema.LinkID) float64 { return c.before }
		links = slices.DeleteFunc(links, func(l schema.LinkID) bool { // the other end is in another region
			from, _ := g.Ends(l)
			return !g.IsSwitch(from)
		})
		b := follow(p, links)
		if got := b.Root.Link == cable && b.Root.Slower && b.Root.Cannot; got != c.isSlow {
			t.Errorf("%s: root %v, slower %v, cannot %v; the cable is %v, slow %v", name, b.Root.Link, b.Root.Slower,
				b.Root.Cannot, cable, c.isSlow)
		}
	}
}

// TestStallAtBothEndsIsOfOneCable: neither end of a slow cable has half of the stall, but both together have.
func TestStallAtBothEndsIsOfOneCable(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g,
		map[string]float64{"leaf1>spine0": 40, "leaf2>spine0": 40, "host0>leaf0": 40, "host1>leaf0": 40,
			"spine1>leaf3": 90},
		map[string]float64{"leaf1>spine0": 12, "leaf2>spine0": 12, "spine0>leaf0": 10, "leaf0>spine0": 10,
			"spine1>leaf3": 9, "leaf3>host12": 99})
	if b := follow(p, links); b.Root.Link != roottest.Link(t, g, "spine0>leaf0") &&
		b.Root.Link != roottest.Link(t, g, "leaf0>spine0") || !b.Root.Cannot {
		t.Errorf("root %v %s, cannot %v, want the cable from spine0 to leaf0", b.Root.Link, b.Root.Kind, b.Root.Cannot)
	}
}

// TestStalledLinkBeforeASlowCable: a link that stalls and lost load, and whose traffic goes on over a slow cable, waits
// for that.
func TestStalledLinkBeforeASlowCable(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, links := readings(t, g,
		map[string]float64{"leaf1>spine0": 85, "host0>leaf0": 80, "host1>leaf0": 80},
		map[string]float64{"leaf1>spine0": 12, "spine0>leaf0": 18, "leaf0>spine0": 18})
	p.Before = func(l schema.LinkID) float64 {
		if l == roottest.Link(t, g, "leaf1>spine0") {
			return 60
		}
		return 25
	}
	if b := follow(p, links); b.Root.Link != roottest.Link(t, g, "spine0>leaf0") &&
		b.Root.Link != roottest.Link(t, g, "leaf0>spine0") || b.Root.Share < .99 {
		t.Errorf("%.2f of the stall leads to %v, want all to the cable from spine0 to leaf0", b.Root.Share, b.Root.Link)
	}
}

// TestOnlyStalledInputsWait: an input below the least stall does not wait for a port.
func TestOnlyStalledInputsWait(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _ := readings(t, g, map[string]float64{"leaf1>spine0": 60, "leaf2>spine0": stalledPercent - 1},
		map[string]float64{"spine0>leaf0": 20})
	if got := (ports{p}).waitFor(roottest.Link(t, g, "spine0>leaf0")); got != 60 {
		t.Errorf("inputs wait for %v%% of the time, want 60%%", got)
	}
	p.Use.Values[roottest.Link(t, g, "spine0>leaf3")] = fullPercent
	if got := (ports{p}).waitFor(roottest.Link(t, g, "spine0>leaf0")); got != 0 {
		t.Errorf("inputs that may wait for another full port wait for this one for %v%% of the time", got)
	}
}

// TestALoadFromBeforeTheOnset: a port whose reading is lost in the interval of the onset has that of the one before, and
// so seems to send less than what waits for it asks for; it is not slow for that.
func TestALoadFromBeforeTheOnset(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=3,hosts=2,spines=2")
	port := roottest.Link(t, g, "spine0>leaf0")
	snap, region := roottest.Snapshot(t, g, map[string]float64{"leaf1>spine0": 60, "leaf2>spine0": 60}, map[string]float64{"leaf1>spine0": 20, "leaf2>spine0": 20, "spine0>leaf0": 30})
	for _, stale := range []bool{false, true} {
		past := Past{Before: func(schema.LinkID) float64 { return 45 }, Stale: func(l schema.LinkID) bool { return stale && l == port }}
		f := NewFinder(g, nil)
		p := f.On(snap).For(snap.Find(schema.CreditStall), past)
		b := f.Follow(p, &schema.Region{Links: region}, []float64{60, 60})
		if b.Root.Slower == stale || b.Root.Cannot == stale {
			t.Errorf("stale %v: %+v", stale, b.Root)
		}
	}
}
