package segment

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// exchangeAmong stalls the hosts of the first leaves both ways, and all links between these leaves.
func exchangeAmong(leaves int, percent float32) stalls {
	s := stalls{}
	for leaf := range leaves {
		for h := range 8 {
			host := fmt.Sprint("host", 8*leaf+h)
			s[[2]string{host, fmt.Sprint("leaf", leaf)}], s[[2]string{fmt.Sprint("leaf", leaf), host}] = percent, percent
		}
		for spine := range 4 {
			up, down := fmt.Sprint("leaf", leaf), fmt.Sprint("spine", spine)
			s[[2]string{up, down}], s[[2]string{down, up}] = percent, percent
		}
	}
	return s
}

// slowTree is what waits for the link from spine0 to leaf7: links from leaves 4 to 6, and their hosts.
func slowTree() stalls {
	s := stalls{{"spine0", "leaf7"}: 60}
	for leaf := 4; leaf < 7; leaf++ {
		s[[2]string{fmt.Sprint("leaf", leaf), "spine0"}] = 50
		for h := range 4 {
			s[[2]string{fmt.Sprint("host", 8*leaf+h), fmt.Sprint("leaf", leaf)}] = 40
		}
	}
	return s
}

func (s stalls) links(t *testing.T, g *topology.Graph) []schema.LinkID {
	var links []schema.LinkID
	for ends := range s {
		links = append(links, linkNamed(t, g, ends[0], ends[1]))
	}
	slices.Sort(links)
	return links
}

// joinAll takes all stalled links for one cause that has no root.
func joinAll(m *treeMethod) {
	m.shares.fall = append(m.shares.fall[:0], make([]float64, 2*len(m.sinks.all))...)
	m.causes.sets.reset(2 * len(m.sinks.all))
	for a := range m.sinks.all {
		m.causes.sets.union(0, int32(a))
	}
	for i := range m.links {
		m.shares.of[i].set(part{cause: m.causes.sets.find(0), stall: m.stall[i]})
	}
	m.shares.listMembers(true)
}

// split parts what all stalled links of a painting are, taken for one cause, and says which are the first one's.
func split(values painting, g *topology.Graph) (m *treeMethod, rest []schema.LinkID, trees [][]schema.LinkID) {
	m = newTreeMethod(newWaits(g), newAdjacency(g), overlapping())
	var out partition
	m.segment(values, &out)
	joinAll(m)
	m.outsiders.split(m)
	m.shares.listMembers(true)
	for c := range int32(len(m.shares.members.off) - 1) {
		var links []schema.LinkID
		for _, i := range m.shares.members.of(c) {
			links = append(links, schema.LinkID(m.links[i]))
		}
		switch slices.Sort(links); {
		case c >= int32(2*len(m.sinks.all)):
			trees = append(trees, links)
		case len(links) > 0:
			rest = links
		}
	}
	return m, rest, trees
}

// A tree of other hosts is no part of an exchange that it was joined with, and has its own root.
func TestTreeInAnExchangeIsItsOwn(t *testing.T) {
	g := parse(t, twoLevels)
	exchange, tree := exchangeAmong(4, 30), slowTree()
	m, rest, trees := split(exchange.with(tree).on(t, g), g)
	if !slices.Equal(rest, exchange.links(t, g)) || len(trees) != 1 || !slices.Equal(trees[0], tree.links(t, g)) {
		t.Fatalf("got %d links and trees %v, want %d and %v", len(rest), trees, len(exchange), tree.links(t, g))
	}
	if got, want := m.outsiders.roots[0].link, linkNamed(t, g, "spine0", "leaf7"); got != want {
		t.Errorf("root %d, want %d", got, want)
	}
}

// A tree of which the only way into an exchange is the root is none of it, though what lies beyond is hotter; of two ways
// none is.
func TestOnlyEntryIsTheRoot(t *testing.T) {
	g := parse(t, twoLevels)
	exchange, tree := exchangeAmong(4, 60), stalls{{"leaf5", "spine0"}: 50}
	for h := range 8 {
		tree[[2]string{fmt.Sprint("host", 40+h), "leaf5"}] = 45
	}
	_, _, trees := split(exchange.with(tree).on(t, g), g)
	if len(trees) != 1 || !slices.Equal(trees[0], tree.links(t, g)) {
		t.Errorf("got %v, want one tree of %v", trees, tree.links(t, g))
	}
	if _, _, trees = split(exchange.with(tree).with(stalls{{"leaf5", "spine1"}: 50}).on(t, g), g); len(trees) > 0 {
		t.Errorf("got %v by two ways, want none", trees)
	}
}

// Nothing is split off that is the exchange's by what is not measured, or that has no root, or if it is not known who
// takes part.
func TestExchangeStaysWhole(t *testing.T) {
	g := parse(t, twoLevels)
	exchange, tree := exchangeAmong(4, 30), slowTree()
	calmPorts, noRoot, lost := stalls{}, slowTree(), exchange.on(t, g)
	for ends := range exchange {
		if g.IsSwitch(deviceNamed(t, g, ends[1])) {
			calmPorts[ends] = 30
		}
	}
	noRoot[[2]string{"spine0", "leaf7"}] = 1
	for l := range schema.LinkID(g.NumLinks()) {
		if from, _ := g.Ends(l); g.Device(from).Name == "leaf1" || g.Device(from).Name == "spine1" {
			lost[l] = missing // nothing that leaves two of the switches
		}
	}
	for name, values := range map[string]painting{
		"alone":               exchange.on(t, g),
		"switches are lost":   lost,
		"no root":             exchange.with(noRoot).on(t, g),
		"ports do not stall":  calmPorts.with(tree).on(t, g),
		"mostly other links":  exchangeAmong(1, 30).with(tree).on(t, g),
		"too few other links": exchange.with(stalls{{"spine0", "leaf7"}: 60, {"leaf4", "spine0"}: 50, {"leaf5", "spine0"}: 50, {"leaf6", "spine0"}: 50}).on(t, g),
	} {
		if _, rest, trees := split(values, g); len(trees) > 0 || len(rest) == 0 {
			t.Errorf("%s: %d links and trees %v, want all in one", name, len(rest), trees)
		}
	}
}

func deviceNamed(t *testing.T, g *topology.Graph, name string) topology.DeviceID {
	t.Helper()
	for d := range topology.DeviceID(g.NumDevices()) {
		if g.Device(d).Name == name {
			return d
		}
	}
	t.Fatalf("no device %s", name)
	return 0
}

// leadsTo walks every way from a link to one that passes a test.
func (n *naiveTrees) leadsTo(l schema.LinkID, passes func(schema.LinkID) bool) bool {
	return passes(l) || slices.ContainsFunc(n.next(l), func(s schema.LinkID) bool {
		_, end := n.g.Ends(s)
		return n.g.IsSwitch(end) && n.leadsTo(s, passes)
	})
}

// isInside reports whether a link is of a host that stalls both ways, or on a way from such a host's leaf to another's.
func (n *naiveTrees) isInside(l schema.LinkID) bool {
	partners := map[topology.DeviceID]bool{}
	for s := range schema.LinkID(n.g.NumLinks()) {
		for back := range schema.LinkID(n.g.NumLinks()) {
			from, to := n.g.Ends(s)
			if start, end := n.g.Ends(back); start == to && end == from && n.isStalled(s) && n.isStalled(back) && !n.g.IsSwitch(from) {
				partners[from], partners[to] = true, true
			}
		}
	}
	from, to := n.g.Ends(l)
	if !n.g.IsSwitch(from) || !n.g.IsSwitch(to) {
		return n.isStalled(l) && partners[from] && partners[to]
	}
	comes := slices.ContainsFunc(run(0, n.g.NumLinks()), func(s schema.LinkID) bool {
		begin, end := n.g.Ends(s)
		return n.isStalled(s) && partners[begin] && n.g.IsSwitch(begin) && n.g.IsSwitch(end) && n.leadsTo(s, func(x schema.LinkID) bool { return x == l })
	})
	return comes && n.leadsTo(l, func(x schema.LinkID) bool {
		_, end := n.g.Ends(x)
		return partners[end] && n.g.IsSwitch(end)
	})
}

// What is inside an exchange is what a walk over all ways between its hosts finds.
func TestInsideIsWhatNaiveWalksFind(t *testing.T) {
	compared := [2]int{}
	for _, spec := range []string{"fattree:leaves=4,hosts=3,spines=3", "fattree:k=4"} {
		g := parse(t, spec)
		m := newTreeMethod(newWaits(g), newAdjacency(g), overlapping())
		rng := rand.New(rand.NewSource(12))
		for i := range 40 {
			values := patchyValues(rng, g)
			for l, v := range values {
				values[l] = max(0, v) // no gaps
			}
			var out partition
			m.segment(values, &out)
			if len(m.links) == 0 {
				continue
			}
			joinAll(m)
			o := &m.outsiders
			o.begin(m.shares.members.of(m.causes.sets.find(0)))
			if o.findPartners(&m.trees) {
				o.findInside(&m.trees)
				n := naiveTrees{g, values, float32(m.noise.mean + max(m.minMean+leastSigmas*m.noise.base, hotTreeSigmas*m.noise.base)), m.noise}
				for node, l := range m.links {
					got, want := o.marks[node]&isInside != 0, n.isInside(schema.LinkID(l))
					if got != want {
						t.Fatalf("%s, snapshot %d: link %d is inside: %v, want %v", spec, i, l, got, want)
					}
					if compared[0]++; want {
						compared[1]++
					}
				}
			}
			o.end(&m.trees)
		}
	}
	if compared[1] < 100 || compared[0] < compared[1]+100 {
		t.Errorf("only %d links compared, %d of them inside", compared[0], compared[1])
	}
}
