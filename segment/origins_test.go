package segment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// stalls are percents by the names of a link's ends.
type stalls map[[2]string]float32

// linkNamed is the link between two devices.
func linkNamed(t *testing.T, g *topology.Graph, from, to string) schema.LinkID {
	t.Helper()
	for l := range schema.LinkID(g.NumLinks()) {
		a, b := g.Ends(l)
		if g.Device(a).Name == from && g.Device(b).Name == to {
			return l
		}
	}
	t.Fatalf("no link from %s to %s", from, to)
	return 0
}

func (s stalls) on(t *testing.T, g *topology.Graph) painting {
	t.Helper()
	values := blank(g).noisy(.3, 1)
	for ends, percent := range s {
		values[linkNamed(t, g, ends[0], ends[1])] = percent
	}
	return values
}

// with is these stalls and others, of which a link's last counts.
func (s stalls) with(others stalls) stalls {
	both := stalls{}
	for _, from := range [2]stalls{s, others} {
		for ends, percent := range from {
			both[ends] = percent
		}
	}
	return both
}

// beginsAt reports whether back pressure may begin at a link.
func beginsAt(t *testing.T, g *topology.Graph, values painting, from, to string) bool {
	t.Helper()
	m := newTreeMethod(newWaits(g), newAdjacency(g), overlapping())
	m.measure(values)
	m.findLinks(values)
	i := m.node[linkNamed(t, g, from, to)]
	return i >= 0 && m.slow[i]
}

const twoLevels = "fattree:leaves=8,hosts=8,spines=4"

// A link between switches may be a root if it is clearly hotter than all that it may wait for, alone in that, and at least
// three links wait for it that do not stall as those beside them do.
func TestSlowLinks(t *testing.T) {
	g := parse(t, twoLevels)
	slow := stalls{{"spine1", "leaf2"}: 50, {"leaf3", "spine1"}: 41, {"leaf4", "spine1"}: 42, {"leaf5", "spine1"}: 40}
	for _, c := range []struct {
		name  string
		other stalls
		want  bool
	}{
		{"three links wait", nil, true},
		{"two links wait", stalls{{"leaf5", "spine1"}: 0}, false},
		{"a port behind it stalls as much", stalls{{"leaf2", "host18"}: 47}, false},
		{"a port behind it stalls less", stalls{{"leaf2", "host18"}: 15}, true},
		{"another link into the same switch waits for the same", stalls{{"spine0", "leaf2"}: 45}, false},
		{"another link into the same switch hardly waits", stalls{{"spine0", "leaf2"}: 15}, true},
		{"another link leaves its switch as stalled", stalls{{"spine1", "leaf6"}: 45}, true},
		{"what waits stalls as all that leaves its leaf", stalls{{"leaf3", "spine0"}: 41, {"leaf3", "spine2"}: 41, {"leaf3", "spine3"}: 41}, false},
		{"what waits is hotter by far", stalls{{"leaf3", "spine1"}: 95, {"leaf4", "spine1"}: 95}, false},
		{"a host of the same switch stalls alone", stalls{{"host18", "leaf2"}: 45}, true},
		{"hosts of the same switch wait for another of its ports", stalls{{"host18", "leaf2"}: 45, {"host19", "leaf2"}: 45}, false},
	} {
		if got := beginsAt(t, g, slow.with(c.other).on(t, g), "spine1", "leaf2"); got != c.want {
			t.Errorf("%s: slow is %v, want %v", c.name, got, c.want)
		}
	}
}

// Of a leaf's links up, the only one that its hosts wait for is slow, where the tree behind comes over several.
func TestOnlyWay(t *testing.T) {
	g := parse(t, "fattree:leaves=4,hosts=16,spines=8")
	only := stalls{{"leaf1", "spine1"}: 32,
		{"spine1", "leaf2"}: 31, {"leaf2", "host34"}: 36}
	for _, spine := range []string{"spine0", "spine2", "spine3", "spine4"} {
		only[[2]string{spine, "leaf2"}] = 30
	}
	for host := 16; host < 28; host++ {
		only[[2]string{fmt.Sprint("host", host), "leaf1"}] = 28
	}
	few := stalls{}
	for host := 20; host < 28; host++ {
		few[[2]string{fmt.Sprint("host", host), "leaf1"}] = 0
	}
	for _, c := range []struct {
		name  string
		other stalls
		want  bool
	}{
		{"twelve hosts wait for one of eight", nil, true},
		{"four hosts wait for one of eight", few, false},
		{"for two of eight", stalls{{"leaf1", "spine3"}: 20}, true},
		{"the other falls less", stalls{{"leaf1", "spine2"}: 40}, false},
		{"for five of eight", stalls{{"leaf1", "spine3"}: 20, {"leaf1", "spine4"}: 20, {"leaf1", "spine5"}: 20, {"leaf1", "spine6"}: 20}, false},
		{"a port to a host there stalls", stalls{{"leaf1", "host30"}: 20}, false},
		{"the tree behind comes over few, too", stalls{{"spine0", "leaf2"}: 0, {"spine2", "leaf2"}: 0}, false},
		{"a host waits for something hotter", stalls{{"host16", "leaf1"}: 90}, false},
	} {
		if got := beginsAt(t, g, only.with(c.other).on(t, g), "leaf1", "spine1"); got != c.want {
			t.Errorf("%s: slow is %v, want %v", c.name, got, c.want)
		}
	}
	if beginsAt(t, g, only.on(t, g), "spine1", "leaf2") {
		t.Error("a link down to the root of the tree counts as an only way up")
	}
}

// oneRegion checks that a painting is one region, of these links.
func oneRegion(t *testing.T, g *topology.Graph, s stalls, values painting) {
	t.Helper()
	var want []schema.LinkID
	for ends, percent := range s {
		if l := linkNamed(t, g, ends[0], ends[1]); percent >= schema.LowPercent {
			want = append(want, l)
		}
	}
	slices.Sort(want)
	got := newSegmenter(t, g, overlapping()).Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: values}))
	if len(got) != 1 || !slices.Equal(got[0].Links, want) {
		t.Errorf("got %s, want one region of %d links", sizes(got), len(want))
	}
}

const oneGroupOfEight = "dragonfly:groups=5,routers=8,hosts=4"

// incastAt0 is an incast at a router of a group, from all others of it.
func incastAt0() stalls {
	s := stalls{{"router0-0", "host0"}: 60}
	for router := 1; router < 8; router++ {
		from := fmt.Sprint("router0-", router)
		s[[2]string{from, "router0-0"}] = 52
		for host := 4 * router; host < 4*router+3; host++ {
			s[[2]string{fmt.Sprint("host", host), from}] = 46
		}
	}
	return s
}

// Of two ports to hosts that stall at a switch each is a root if they differ, and what waits there stalls less.
func TestPairOfPorts(t *testing.T) {
	g := parse(t, twoLevels)
	two := stalls{{"leaf2", "host16"}: 60, {"leaf2", "host17"}: 40,
		{"spine0", "leaf2"}: 50, {"spine1", "leaf2"}: 50, {"spine2", "leaf2"}: 30, {"spine3", "leaf2"}: 30}
	for _, c := range []struct {
		name  string
		other stalls
		want  bool
	}{
		{"two ports differ", nil, true},
		{"they are alike", stalls{{"leaf2", "host17"}: 59}, false},
		{"a third stalls", stalls{{"leaf2", "host18"}: 50}, false},
		{"one stalls hardly", stalls{{"leaf2", "host17"}: 0}, false},
		{"what waits is hotter", stalls{{"spine0", "leaf2"}: 95, {"spine1", "leaf2"}: 95, {"spine2", "leaf2"}: 95}, false},
	} {
		if got := beginsAt(t, g, two.with(c.other).on(t, g), "leaf2", "host16"); got != c.want {
			t.Errorf("%s: a root is %v, want %v", c.name, got, c.want)
		}
	}
}

// between is the ends of a link from one group to another.
func between(t *testing.T, g *topology.Graph, from, to string) [2]string {
	t.Helper()
	for l := range schema.LinkID(g.NumLinks()) {
		a, b := g.Ends(l)
		if strings.HasPrefix(g.Device(a).Name, from) && strings.HasPrefix(g.Device(b).Name, to) {
			return [2]string{g.Device(a).Name, g.Device(b).Name}
		}
	}
	t.Fatalf("no link from %s to %s", from, to)
	return [2]string{}
}

// Traffic that takes a detour over routers of one group, at which no host waits, is part of what it leads to.
func TestDetourIsFollowed(t *testing.T) {
	g := parse(t, oneGroupOfEight)
	s := incastAt0()
	global := between(t, g, "router1-", "router0-")
	others := slices.DeleteFunc([]string{"router1-0", "router1-1", "router1-2"}, func(r string) bool { return r == global[0] })
	if !strings.HasSuffix(global[1], "-0") {
		s[global] = 48
	} else {
		s[global] = 52
	}
	s[[2]string{others[0], global[0]}] = 45
	s[[2]string{others[1], others[0]}] = 42
	oneRegion(t, g, s, s.on(t, g))
}

// A link of a group that reads zero where all beside it stall does not cut off what waits for it.
func TestFalseZeroWithinGroup(t *testing.T) {
	g := parse(t, "dragonfly:groups=17,routers=8,hosts=4")
	s := incastAt0().with(stalls{{"router0-5", "router0-0"}: 0})
	for host := 20; host < 24; host++ {
		s[[2]string{fmt.Sprint("host", host), "router0-5"}] = 50
	}
	globals := 0
	for group := 1; group < 17; group++ {
		for l := range schema.LinkID(g.NumLinks()) {
			from, to := g.Ends(l)
			if name := g.Device(from).Name; g.Device(to).Name == "router0-5" && strings.HasPrefix(name, fmt.Sprintf("router%d-", group)) {
				s[[2]string{name, "router0-5"}] = 50
				globals++
			}
		}
	}
	if globals != 2 {
		t.Fatalf("%d links from other groups, want 2", globals)
	}
	oneRegion(t, g, s, s.on(t, g))
}

// Where one link of a group is all that waits at a switch, that link is the root, though few links wait for it.
func TestOnlyLinkIntoASwitchIsTheRoot(t *testing.T) {
	g := parse(t, "dragonfly:groups=17,routers=8,hosts=4")
	s := stalls{{"router0-5", "router0-6"}: 60}
	for l := range schema.LinkID(g.NumLinks()) {
		a, b := g.Ends(l)
		from, to := g.Device(a).Name, g.Device(b).Name
		if to != "router0-5" || strings.HasPrefix(from, "router0-") || !g.IsSwitch(a) {
			continue
		}
		s[[2]string{from, to}] = 55
		for k := range schema.LinkID(g.NumLinks()) {
			if host, router := g.Ends(k); router == a && !g.IsSwitch(host) {
				s[[2]string{g.Device(host).Name, from}] = 50
			}
		}
	}
	snap := snapshotOf(map[schema.Metric][]float32{schema.XmitWait: s.on(t, g)})
	got := newSegmenter(t, g, overlapping()).Step(snap)
	if want := linkNamed(t, g, "router0-5", "router0-6"); len(got) != 1 || got[0].Root == nil || got[0].Root.Link != want {
		t.Errorf("%s, want one region with its root at link %d", sizes(got), want)
	}
}

// Links that alone stall of the ways up from their leaves and meet at one spine wait for a port of it, not for the tree that
// comes over several spines; few do so by chance.
func TestLonelyLinksWaitWhereTheyMeet(t *testing.T) {
	g := parse(t, "fattree:leaves=12,hosts=4,spines=8")
	s := stalls{{"leaf3", "host12"}: 60}
	for spine := range 4 {
		s[[2]string{fmt.Sprint("spine", spine), "leaf3"}] = 49
	}
	for leaf := 4; leaf < 10; leaf++ {
		s[[2]string{fmt.Sprint("leaf", leaf), "spine1"}] = 44
	}
	for spine := range 4 {
		s[[2]string{"leaf10", fmt.Sprint("spine", spine)}] = 40
	}
	for _, c := range []struct {
		name  string
		other stalls
		want  bool
	}{
		{"six leaves", nil, true},
		{"four leaves", stalls{{"leaf4", "spine1"}: 0, {"leaf5", "spine1"}: 0}, false},
		{"of two leaves other ways up stall", stalls{{"leaf4", "spine0"}: 43, {"leaf5", "spine0"}: 43}, false},
		{"nothing else waits for the tree over other spines", stalls{{"leaf10", "spine0"}: 0, {"leaf10", "spine2"}: 0, {"leaf10", "spine3"}: 0}, false},
		{"the tree comes over one spine", stalls{{"spine0", "leaf3"}: 0, {"spine2", "leaf3"}: 0, {"spine3", "leaf3"}: 0}, false},
	} {
		m := newTreeMethod(newWaits(g), newAdjacency(g), overlapping())
		values := s.with(c.other).on(t, g)
		m.measure(values)
		m.findLinks(values)
		m.findSinks()
		i := m.node[linkNamed(t, g, "leaf9", "spine1")]
		if got := m.sink[i] == m.to[i]; got != c.want {
			t.Errorf("%s: waits at the spine is %v, want %v", c.name, got, c.want)
		}
	}
}

// Where they wait for a slow link of that spine, it is a root, however well the tree explains them.
func TestLonelyLinksWaitForASlowOne(t *testing.T) {
	g := parse(t, "fattree:leaves=12,hosts=4,spines=8")
	slow := linkNamed(t, g, "spine1", "leaf2")
	for leaves, want := range map[int]bool{3: false, 6: true} {
		s := stalls{{"leaf3", "host12"}: 60, {"spine1", "leaf2"}: 50}
		for spine := range 4 {
			s[[2]string{fmt.Sprint("spine", spine), "leaf3"}] = 49
			s[[2]string{"leaf10", fmt.Sprint("spine", spine)}] = 40
		}
		for leaf := 4; leaf < 4+leaves; leaf++ {
			s[[2]string{fmt.Sprint("leaf", leaf), "spine1"}] = 40
		}
		isRoot := false
		for _, r := range newSegmenter(t, g, overlapping()).Step(snapshotOf(map[schema.Metric][]float32{schema.XmitWait: s.on(t, g)})) {
			isRoot = isRoot || r.Root != nil && r.Root.Link == slow
		}
		if isRoot != want {
			t.Errorf("%d leaves: the slow link is a root is %v, want %v", leaves, isRoot, want)
		}
	}
}

// A root is seen to stall where a slow link or few ports do and others wait; two ports of hosts that send are an exchange's.
func TestRootIsSeenToStall(t *testing.T) {
	for name, c := range map[string]struct {
		sink
		want bool
	}{
		"one port":              {sink{slow: -1, links: 3, ports: 1, port: 40}, true},
		"nothing waits":         {sink{slow: -1, links: 1, ports: 1, port: 40}, false},
		"no port stalls":        {sink{slow: -1, links: 3}, false},
		"a slow link":           {sink{slow: 7, links: 3}, true},
		"many ports":            {sink{slow: -1, links: 3, ports: 6, hosts: 8, port: 40}, false},
		"both hosts send":       {sink{slow: -1, links: 3, ports: 2, sending: 2, hosts: 8, port: 40}, false},
		"one of two hosts does": {sink{slow: -1, links: 3, ports: 2, sending: 1, hosts: 8, port: 40}, true},
	} {
		if got := c.showsRoot(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Links that wait for each other in a circle, and for nothing else, are a region, too.
func TestCircleOfWaiting(t *testing.T) {
	b := topology.NewBuilder("ring")
	const switches = 9
	var at []topology.DeviceID
	for i := range switches {
		at = append(at, b.Device(topology.Device{Name: fmt.Sprint("s", i), Kind: topology.Switch, Level: -1, Group: -1}))
	}
	for i := range at {
		b.Both(topology.Link{From: at[i], FromPort: "1", To: at[(i+1)%switches], ToPort: "2", CapacityBytesPerSecond: 1e9, Class: topology.ClassSwitch, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	s := stalls{}
	for i := range switches {
		s[[2]string{fmt.Sprint("s", i), fmt.Sprint("s", (i+1)%switches)}] = 40
	}
	oneRegion(t, g, s, s.on(t, g))
}

// Many ports that stall are an exchange, not the roots of trees: more than three, or three of four.
func TestManyPorts(t *testing.T) {
	for _, c := range []struct {
		ports, hosts int
		want         bool
	}{{2, 4, false}, {3, 4, true}, {3, 8, false}, {4, 8, true}, {1, 1, false}} {
		s := sink{ports: c.ports, hosts: c.hosts}
		if got := s.hasManyPorts(); got != c.want {
			t.Errorf("%d of %d ports are many: %v, want %v", c.ports, c.hosts, got, c.want)
		}
	}
}

// What comes down to a switch of one pod is no part of a tree in another, though all its sources lead to that, too.
func TestWhatComesDownStaysInItsPod(t *testing.T) {
	g := parse(t, "fattree:k=8")
	tree := stalls{{"leaf0-0", "host0"}: 70}
	for agg := range 4 {
		up, down := fmt.Sprint("agg2-", agg), fmt.Sprint("agg0-", agg)
		tree[[2]string{down, "leaf0-0"}] = 60
		for core := 4 * agg; core < 4*agg+4; core++ {
			tree[[2]string{fmt.Sprint("core", core), down}] = 50
			tree[[2]string{up, fmt.Sprint("core", core)}] = 40
		}
		for leaf := range 4 {
			tree[[2]string{fmt.Sprint("leaf2-", leaf), up}] = 30
		}
	}
	other := stalls{}
	for core := range 4 {
		name := fmt.Sprint("core", core)
		other[[2]string{name, "agg3-0"}] = 25
		other[[2]string{"agg1-0", name}] = 22
		other[[2]string{fmt.Sprint("leaf1-", core), "agg1-0"}] = 20
	}
	snap := snapshotOf(map[schema.Metric][]float32{schema.XmitWait: tree.with(other).on(t, g)})
	got := newSegmenter(t, g, overlapping()).Step(snap)
	if len(got) != 2 || slices.Contains(got[0].Links, linkNamed(t, g, "core0", "agg3-0")) {
		t.Errorf("got %s, want the tree, and what comes down elsewhere by itself", sizes(got))
	}
}
