package diagnose

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestSlowPortIsTheOneAllWaitFor: of ports that all lost traffic the one is slow for which every input may wait. What
// comes from a neighbour does not go back to it.
func TestSlowPortIsTheOneAllWaitFor(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _, links := readings(t, g,
		map[string]float64{"leaf0>spine0": 70, "leaf1>spine0": 70, "leaf2>spine0": 70},
		map[string]float64{"leaf0>spine0": 20, "leaf1>spine0": 20, "leaf2>spine0": 20, "leaf3>spine0": 20,
			"spine0>leaf0": 20, "spine0>leaf1": 10, "spine0>leaf2": 15, "spine0>leaf3": 25})
	p.before = func(schema.LinkID) float64 { return 50 }
	spine, _ := g.FindDevice("spine0")
	if got, want := p.slowest(spine, caseOf(p, links)), linkBetween(t, g, "spine0>leaf3"); got != want {
		from, to := g.Ends(got)
		t.Errorf("%s>%s is slow, want spine0>leaf3", g.Device(from).Name, g.Device(to).Name)
	}
}

// TestBusiestPort: where stall ends at a switch with no full port, the one that carries most is reported, and no root
// decides the class.
func TestBusiestPort(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _, links := readings(t, g,
		map[string]float64{"spine0>leaf0": 40, "spine1>leaf0": 40},
		map[string]float64{"spine0>leaf0": 60, "spine1>leaf0": 60, "leaf0>host0": 66, "leaf0>host1": 71, "leaf0>host2": 68, "leaf0>spine0": 90})
	rc := caseOf(p, links)
	p.spread(rc)
	back := p.rootOf(rc, backPressure{link: schema.NoLink, use: -1})
	if back.kind != "" || back.leading != linkBetween(t, g, "leaf0>host1") {
		t.Errorf("root %q, reported link %d, want no root and leaf0>host1", back.kind, back.leading)
	}
}

// TestGapsAreFilled: a reading that is lost in one interval is that of the interval before, one lost in two is not known.
func TestGapsAreFilled(t *testing.T) {
	const links = 70
	m := memory{length: 4, links: links}
	capacity := func(int) float64 { return 200 }
	series := func(metric schema.Metric, value float32, lost ...int) schema.Series {
		s := schema.Series{Metric: metric, Values: make([]float32, links), Valid: schema.NewBitmap(links), Count: links - len(lost)}
		for l := range links {
			s.Values[l] = value
			s.Valid.Set(l)
		}
		for _, l := range lost {
			s.Values[l] = -1
			s.Valid.Unset(l)
		}
		return s
	}
	snapshot := func(lost ...int) *schema.Snapshot {
		return &schema.Snapshot{Series: []schema.Series{series(schema.CreditStall, 40, lost...), series(schema.Throughput, 100, lost...)}}
	}
	m.follow(9, 10, snapshot(3), capacity)
	now := snapshot(3, 5, 69)
	m.follow(10, 11, now, capacity)
	var g gaps
	got := g.fill(now, &m, 11, capacity)
	for i, want := range []float32{40, 100} {
		s := &got.Series[i]
		for _, l := range []int{5, 69} {
			if !s.Valid.Has(l) || s.Values[l] != want {
				t.Errorf("%v of link %d is %v, valid %t, want %v", s.Metric, l, s.Values[l], s.Valid.Has(l), want)
			}
		}
		if s.Valid.Has(3) {
			t.Errorf("%v of link 3 is known after two intervals without a reading", s.Metric)
		}
		if now.Series[i].Valid.Has(5) {
			t.Error("the snapshot itself was changed")
		}
	}
}

// TestRootIsTheReceiversPort: where traffic to one host meets at a spine, the root is the host's port, which is as full. What
// goes on to two hosts has no such port, and the spine's is the root.
func TestRootIsTheReceiversPort(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	for _, c := range []struct {
		name string
		uses map[string]float64
		want string
	}{
		{"one receiver", map[string]float64{"spine0>leaf3": 100, "leaf3>host12": 99}, "leaf3>host12"},
		{"two receivers", map[string]float64{"spine0>leaf3": 100, "leaf3>host12": 50, "leaf3>host13": 50}, "spine0>leaf3"},
		{"two full receivers", map[string]float64{"spine0>leaf3": 100, "leaf3>host12": 100, "leaf3>host13": 98}, "spine0>leaf3"},
	} {
		p, _, links := readings(t, g, map[string]float64{"leaf0>spine0": 70, "leaf1>spine0": 70, "leaf2>spine0": 70}, c.uses)
		rc := caseOf(p, links)
		p.spread(rc)
		if back := p.rootOf(rc, backPressure{link: schema.NoLink, use: -1}); back.link != linkBetween(t, g, c.want) {
			t.Errorf("%s: root is link %d, want %s", c.name, back.link, c.want)
		}
	}
}

// TestSlowPortLostMost: a port whose little traffic ended is not the slow one.
func TestSlowPortLostMost(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _, links := readings(t, g,
		map[string]float64{"leaf0>spine0": 70, "leaf1>spine0": 70},
		map[string]float64{"leaf0>spine0": 10, "leaf1>spine0": 10, "spine0>leaf3": 20, "spine0>leaf2": 0})
	p.before = func(l schema.LinkID) float64 {
		if l == linkBetween(t, g, "spine0>leaf2") {
			return 20
		}
		return 90
	}
	spine, _ := g.FindDevice("spine0")
	if got := p.slowest(spine, caseOf(p, links)); got != linkBetween(t, g, "spine0>leaf3") {
		t.Errorf("link %d is slow, want spine0>leaf3", got)
	}
}

// TestSlowPortCarriesTheSame: of ports that carry less, the one whose load does not vary sends all that it can.
func TestSlowPortCarriesTheSame(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _, links := readings(t, g,
		map[string]float64{"leaf0>spine0": 70, "leaf1>spine0": 70},
		map[string]float64{"leaf0>spine0": 10, "leaf1>spine0": 10, "spine0>leaf3": 25, "spine0>leaf2": 20})
	p.before = func(schema.LinkID) float64 { return 90 }
	slow := linkBetween(t, g, "spine0>leaf3")
	p.flat = func(l schema.LinkID) bool { return l == slow }
	spine, _ := g.FindDevice("spine0")
	if got := p.slowest(spine, caseOf(p, links)); got != slow {
		t.Errorf("link %d is slow, want spine0>leaf3", got)
	}
}

// TestRootBehindTwoGlobalLinks: with the fewest hops a way may lead through a group of a dragonfly over two links between groups.
func TestRootBehindTwoGlobalLinks(t *testing.T) {
	g := graphOf(t, "dragonfly:groups=9,routers=4,hosts=2")
	p, _, links := readings(t, g,
		map[string]float64{"router2-0>router3-3": 80, "router3-3>router1-0": 70, "router1-0>router1-3": 65},
		map[string]float64{"router2-0>router3-3": 20, "router3-3>router1-0": 30, "router1-0>router1-3": 35, "router1-3>host14": 100})
	p.before = func(schema.LinkID) float64 { return -1 }
	rc := caseOf(p, links)
	p.spread(rc)
	if back := p.rootOf(rc, backPressure{link: schema.NoLink, use: -1}); back.link != linkBetween(t, g, "router1-3>host14") || back.share < .99 {
		t.Errorf("%.2f of the stall leads to link %d, want all to router1-3>host14", back.share, back.link)
	}
}

// TestSlowPortToAHost: where a port to a host carries less than before while others wait for it, the host or its link is
// slow. A port that carries nothing any more is none that they wait for.
func TestSlowPortToAHost(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	p, _, links := readings(t, g, map[string]float64{"spine0>leaf0": 80},
		map[string]float64{"spine0>leaf0": 20, "leaf0>host0": 12, "leaf0>host1": 48, "leaf0>host2": 0})
	p.before = func(schema.LinkID) float64 { return 50 }
	rc := caseOf(p, links)
	p.spread(rc)
	back := p.rootOf(rc, backPressure{link: schema.NoLink, use: -1})
	if back.link != linkBetween(t, g, "leaf0>host0") || back.kind != slowReceiver || !back.slower {
		from, to := g.Ends(back.link)
		t.Errorf("root %s %s>%s, want a slow receiver at leaf0>host0", back.kind, g.Device(from).Name, g.Device(to).Name)
	}
	s := &Stage{graph: g}
	rc.back = back
	if !rc.back.cannot {
		t.Error("it sends all that it can, of 12%, while an input stalls for 80% of the time")
	}
	for cannot, want := range map[bool]float64{true: slowLinkMeasured, false: slowLinkFell} {
		rc.back.cannot = cannot
		if rc.failures = nil; s.slowHostScore(rc) != want {
			t.Errorf("score %g, want %g", s.slowHostScore(rc), want)
		}
		if rc.failures = []nearFailure{{score: 1}}; s.slowHostScore(rc) != want-slowHostFailure {
			t.Errorf("score beside a failure %g, want %g", s.slowHostScore(rc), want-slowHostFailure)
		}
	}
}
