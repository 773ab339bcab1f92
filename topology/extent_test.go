package topology_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// span is the number of switches in an interval of a ring.
func span(lo, hi, n int) int { return (hi-lo+n)%n + 1 }

// The box agrees with a search over all boxes.
func TestBoundingBoxIsSmallest(t *testing.T) {
	for _, spec := range []string{"torus:5x4x7", "mesh:5x4x7", "torus:2x3"} {
		g := parse(t, spec)
		dims := g.Grid().Dims
		rapid.Check(t, func(t *rapid.T) {
			ids := rapid.SliceOfN(rapid.IntRange(0, g.NumLinks()-1), 1, 8).Draw(t, "links")
			links := make([]schema.LinkID, len(ids))
			for i, id := range ids {
				links[i] = schema.LinkID(id)
			}
			box := g.BoundingBox(links)
			for d, n := range dims {
				holds := func(lo, hi int) bool {
					for _, l := range links {
						for _, at := range ends(g, l, d) {
							if (at-lo+n)%n >= span(lo, hi, n) {
								return false
							}
						}
					}
					return true
				}
				if !holds(box.Min[d], box.Max[d]) {
					t.Fatalf("%s: box %v does not hold %v", spec, box, links)
				}
				for lo := range n {
					for hi := range n {
						if (g.Grid().Wrap || lo <= hi) && holds(lo, hi) && span(lo, hi, n) < span(box.Min[d], box.Max[d], n) {
							t.Fatalf("%s: dimension %d: %d-%d is shorter than %v", spec, d, lo, hi, box)
						}
					}
				}
			}
		})
	}
}

func ends(g *topology.Graph, l schema.LinkID, dim int) [2]int {
	from, to := g.Ends(l)
	return [2]int{g.Device(from).Coord[dim], g.Device(to).Coord[dim]}
}

func TestDescribe(t *testing.T) {
	torus, tree2, tree3 := parse(t, "torus:24x24x24"), parse(t, "fattree:leaves=8,hosts=4,spines=4"), parse(t, "fattree:k=4")
	touching := func(g *topology.Graph, devices ...string) (links []schema.LinkID) {
		for _, name := range devices {
			d, ok := g.FindDevice(name)
			if !ok {
				t.Fatal(name)
			}
			links = append(links, g.LinksAt(d)...)
		}
		return links
	}
	egress := func(g *topology.Graph, device, port string) schema.LinkID {
		p, ok := g.FindPort(device, port)
		if !ok {
			t.Fatal(device, port)
		}
		return p.Egress
	}
	ways := func(g *topology.Graph, devices ...string) (up []schema.LinkID) {
		for _, name := range devices {
			d, _ := g.FindDevice(name)
			for _, l := range g.LinksAt(d) {
				if from, to := g.Ends(l); from == d && g.IsSwitch(to) {
					up = append(up, l)
				}
			}
		}
		return up
	}
	hosts := func(g *topology.Graph, switches ...string) (links []schema.LinkID) {
		for _, l := range touching(g, switches...) {
			if from, _ := g.Ends(l); !g.IsSwitch(from) {
				links = append(links, l)
			}
		}
		return links
	}
	class := func(g *topology.Graph, of topology.LinkClass, group int32) (links []schema.LinkID) {
		for l := range schema.LinkID(g.NumLinks()) {
			if from, _ := g.Ends(l); g.Link(l).Class == of && g.Device(from).Group == group {
				links = append(links, l)
			}
		}
		return links
	}
	between := func(g *topology.Graph, ends ...string) (links []schema.LinkID) {
		for i := 0; i < len(ends); i += 2 {
			from, _ := g.FindDevice(ends[i])
			for _, l := range g.LinksAt(from) {
				if a, b := g.Ends(l); a == from && g.Device(b).Name == ends[i+1] {
					links = append(links, l)
				}
			}
		}
		return links
	}
	wide, pods, groups := parse(t, "fattree:leaves=32,hosts=2,spines=2"), parse(t, "fattree:k=8"), parse(t, "dragonfly:groups=9,routers=4,hosts=2")
	vendor := vendorFabric(t)
	for _, c := range []struct {
		g     *topology.Graph
		links []schema.LinkID
		want  string
	}{
		{torus, []schema.LinkID{egress(torus, "23,5,5", "X+"), egress(torus, "23,5,5", "Y+")}, "(23,5,5) 2x2x1"},
		{tree2, []schema.LinkID{egress(tree2, "host5", "1")}, "leaf1"},
		{tree2, []schema.LinkID{egress(tree2, "leaf3", "5")}, "leaf3, spine0"},
		{tree2, touching(tree2, "spine0", "spine1"), "leaf0-7, spine0-1"},
		{tree3, []schema.LinkID{egress(tree3, "leaf2-0", "3"), egress(tree3, "leaf2-1", "3")}, "pod 2, leaf uplinks"},
		{tree3, slices.Concat(touching(tree3, "leaf2-0"), touching(tree3, "agg2-1")), "pod 2"},
		{tree3, ways(tree3, "leaf2-0", "leaf2-1", "agg2-0", "agg2-1"), "pod 2"},
		{tree3, between(tree3, "leaf2-0", "agg2-0", "leaf2-1", "agg2-1", "agg2-0", "core0"), "pod 2, uplinks"},
		{tree3, between(tree3, "agg2-0", "core0", "agg2-0", "core1", "agg2-1", "core2"), "pod 2, aggregation uplinks"},
		{tree3, between(tree3, "agg2-0", "leaf2-0", "agg2-0", "leaf2-1"), "agg2-0, all downlinks"},
		{tree3, between(tree3, "core0", "agg0-0", "core1", "agg1-0", "core2", "agg2-1", "core3", "agg3-1"), "core downlinks to pods 0-3"},
		{tree3, between(tree3, "core0", "agg0-0", "core1", "agg1-0", "core1", "agg3-0"), "core0-1 downlinks to pods 0-1,3"},
		{tree3, between(tree3, "agg0-0", "core0", "agg1-0", "core0"), "uplinks of pods 0-1 to core0"},
		{tree3, ways(tree3, "leaf2-0", "leaf2-1"), "pod 2, all leaf uplinks"},
		{vendor, touching(vendor, "MF0;CSPINE4-61:MQM8700/U1", "MF0;CSPINE4-62:MQM8700/U1"), "CSPINE4-61..62, LG01-01, LG03-02"},
		{vendor, touching(vendor, "MF0;LG01-01:MQM8700/U1", "MF0;LG03-02:MQM8700/U1"), "CSPINE4-61..62, LG01-01, LG03-02"},
		{tree2, ways(tree2, "leaf3"), "leaf3, all uplinks"},
		{tree2, ways(tree2, "leaf3")[:2], "leaf3, spine0-1"},
		{tree2, slices.Concat(ways(tree2, "leaf3"), ways(tree2, "leaf4")), "leaf3-4, spine0-3"},
		{tree2, ways(tree2, "spine2")[1:7], "spine2, 6 downlinks"},
		{wide, hosts(wide, "leaf3", "leaf7", "leaf12", "leaf13", "leaf14", "leaf20", "leaf25"), "leaf3,7,12-14,20,25"},
		{wide, hosts(wide, "leaf1", "leaf3", "leaf5", "leaf7", "leaf9", "leaf11", "leaf13", "leaf14"), "8 of leaf1-14"},
		{pods, hosts(pods, "leaf0-1", "leaf2-0", "leaf2-2", "leaf3-3", "leaf5-0"), "leaf switches of pods 0,2-3,5"},
		{groups, class(groups, topology.ClassLocal, 3), "group 3, all local links"},
		{groups, class(groups, topology.ClassLocal, 3)[1:], "group 3, local links"},
		{groups, class(groups, topology.ClassGlobal, 3), "global links of groups 0-8"},
		{groups, append(class(groups, topology.ClassGlobal, 3), class(groups, topology.ClassLocal, 3)[0]), "router switches of groups 0-8"},
		{groups, hosts(groups, "router0-1", "router2-0", "router2-2", "router3-3", "router5-0"), "router switches of groups 0,2-3,5"},
		{tree3, nil, "nowhere"},
	} {
		if got := c.g.Describe(c.links); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// vendorFabric has names as given by a vendor's subnet manager, in its own order.
func vendorFabric(t *testing.T) *topology.Graph {
	t.Helper()
	b := topology.NewBuilder("ib0")
	var spines, leaves []topology.DeviceID
	for _, name := range []string{"MF0;CSPINE4-62:MQM8700/U1", "MF0;CSPINE4-61:MQM8700/U1"} {
		spines = append(spines, b.Device(topology.Device{Name: name, Level: 2, Group: -1}))
	}
	for _, name := range []string{"MF0;LG03-02:MQM8700/U1", "MF0;LG01-01:MQM8700/U1"} {
		leaves = append(leaves, b.Device(topology.Device{Name: name, Level: 1, Group: -1}))
	}
	for i, s := range spines {
		b.Both(topology.Link{From: s, To: spines[1-i], FromPort: "40", ToPort: "40", Class: topology.ClassSwitch, Dim: -1})
	}
	for i, l := range leaves {
		for j, s := range spines {
			b.Both(topology.Link{From: l, To: s, FromPort: fmt.Sprint(10 + j), ToPort: fmt.Sprint(1 + i), Class: topology.ClassSwitch, Dim: -1})
		}
		host := b.Device(topology.Device{Name: fmt.Sprintf("luna-000%d mlx5_0", i), Kind: topology.Host, Group: -1})
		b.Both(topology.Link{From: host, To: l, FromPort: "1", ToPort: "1", Class: topology.ClassHost, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Names that form no range, such as those of GUIDs: two, and how many more switches there are.
func TestDescribeManyKinds(t *testing.T) {
	b := topology.NewBuilder("ib0")
	spine := b.Device(topology.Device{Name: "spine", Level: 2, Group: -1})
	for i, name := range []string{"S-0002c90a", "S-0008f1b1", "S-0008f1b7", "S-0008f10c", "S-00d8f1e"} {
		leaf := b.Device(topology.Device{Name: name, Level: 1, Group: -1})
		b.Both(topology.Link{From: leaf, To: spine, FromPort: "1", ToPort: strconv.Itoa(i), Class: topology.ClassSwitch, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	var links []schema.LinkID
	for l := range g.NumLinks() {
		links = append(links, schema.LinkID(l))
	}
	if got, want := g.Describe(links), "S-0002c90a, S-00d8f1e and 4 more switches"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Many ports of one leaf are not a root: they are named as host ports.
func TestDescribeHostPorts(t *testing.T) {
	g := parse(t, "fattree:leaves=4,hosts=6,spines=2")
	egress := func(device string, from, to int) (links []schema.LinkID) {
		for port := from; port <= to; port++ {
			p, ok := g.FindPort(device, strconv.Itoa(port))
			if !ok {
				t.Fatal(device, port)
			}
			links = append(links, p.Egress)
		}
		return links
	}
	root := &schema.Root{Device: "leaf1", Port: "2", Peer: "host7", Link: egress("leaf1", 2, 2)[0]}
	for _, c := range []struct {
		links []schema.LinkID
		want  string
	}{
		{egress("leaf1", 1, 6), "leaf1, all host ports"},
		{egress("leaf1", 2, 6), "leaf1, 5 host ports"},
		{append(egress("leaf1", 2, 5), egress("host3", 1, 1)...), "leaf1, 4 host ports"},
		{append(egress("leaf1", 1, 6), egress("leaf2", 1, 1)...), "congestion tree at leaf1 port 2 (host7)"},
		{egress("leaf1", 1, 3), "congestion tree at leaf1 port 2 (host7)"},
	} {
		if got := g.DescribeRegion(&schema.Region{Links: c.links, Root: root}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A managed switch has one name, whether it, one of its ports or all its host ports are meant.
func TestManagedSwitchesHaveOneName(t *testing.T) {
	const managed, hosts = "MF0;leaf1:MQM8700/U1", 4
	for port, want := range map[string]string{"": "leaf1", "5": "leaf1 port 5"} {
		if got := topology.PortName(managed, port); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	b := topology.NewBuilder("ib0")
	leaf := b.Device(topology.Device{Name: managed, Kind: topology.Switch, Level: 1, Group: -1})
	for i := range hosts {
		port := strconv.Itoa(i + 1)
		host := b.Device(topology.Device{Name: "host" + port, Kind: topology.Host, Group: -1})
		b.Both(topology.Link{From: leaf, To: host, FromPort: port, ToPort: "1", Class: topology.ClassHost, Dim: -1})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	var links []schema.LinkID
	for i := range hosts {
		p, _ := g.FindPort(managed, strconv.Itoa(i+1))
		links = append(links, p.Egress)
	}
	if got, want := g.DescribeRegion(&schema.Region{Links: links}), "leaf1, all host ports"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDescribeRegion(t *testing.T) {
	g := parse(t, "fattree:k=4")
	port := func(device, port string) schema.LinkID {
		p, ok := g.FindPort(device, port)
		if !ok {
			t.Fatal(device, port)
		}
		return p.Egress
	}
	hosts := []schema.LinkID{port("host0", "1"), port("host4", "1"), port("host9", "1")}
	for _, c := range []struct {
		links []schema.LinkID
		root  *schema.Root
		want  string
	}{
		{hosts, &schema.Root{Device: "leaf3-0", Port: "2", Peer: "host13", Link: port("leaf3-0", "2")}, "congestion tree at leaf3-0 port 2 (host13), from pods 0-2"},
		{hosts[:1], &schema.Root{Device: "leaf3-0", Port: "2", Peer: "host13", Link: port("leaf3-0", "2")}, "congestion tree at leaf3-0 port 2 (host13), from hosts of leaf0-0"},
		{[]schema.LinkID{port("host12", "1")}, &schema.Root{Device: "leaf3-0", Port: "2", Peer: "host13", Link: port("leaf3-0", "2")}, "congestion tree at leaf3-0 port 2 (host13), from hosts of the same switch"},
		{hosts, &schema.Root{Device: "leaf3-0", Port: "2", Peer: "host13", Kind: schema.RootIncast, Link: port("leaf3-0", "2")}, "incast at leaf3-0 port 2 (host13), from pods 0-2"},
		{hosts[:2], &schema.Root{Device: "agg3-1", Port: "3", Peer: "core2", Link: port("agg3-1", "3")}, "congestion tree at agg3-1 port 3 (core2), from pods 0-1"},
		{hosts, &schema.Root{Device: "leaf3-0", Link: schema.NoLink}, "congestion tree at leaf3-0, from pods 0-2"},
		{hosts[:1], nil, "leaf0-0"},
	} {
		if got := g.DescribeRegion(&schema.Region{Links: c.links, Root: c.root}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Regions of one metric have unique names; those of two metrics may share one.
func TestDescribeRegionsTellsThemApart(t *testing.T) {
	g := parse(t, "fattree:k=4")
	port := func(device, port string) schema.LinkID {
		p, ok := g.FindPort(device, port)
		if !ok {
			t.Fatal(device, port)
		}
		return p.Egress
	}
	one, two, both := []schema.LinkID{port("leaf2-0", "3")}, []schema.LinkID{port("leaf2-0", "4")}, []schema.LinkID{port("leaf2-0", "3"), port("leaf2-1", "3")}
	three := []schema.LinkID{port("leaf2-1", "3"), port("leaf2-1", "4"), port("leaf2-0", "3")}
	regions := []schema.Region{{Metric: schema.XmitWait, Links: both}, {Metric: schema.XmitWait, Links: three},
		{Metric: schema.XmitWait, Links: []schema.LinkID{port("leaf2-0", "4"), port("leaf2-1", "4")}}, {Metric: schema.PauseRx, Links: both},
		{Metric: schema.XmitWait, Links: one}, {Metric: schema.XmitWait, Links: two}}
	g.DescribeRegions(regions)
	var got []string
	for i := range regions {
		got = append(got, regions[i].Name)
	}
	want := []string{"pod 2, leaf uplinks, with leaf2-0 port 3", "pod 2, leaf uplinks, with leaf2-1 port 3", "pod 2, leaf uplinks, with leaf2-0 port 4", "pod 2, leaf uplinks", "agg2-0, leaf2-0", "agg2-1, leaf2-0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"leaf3":                     "leaf3",
		"luna-0534 mlx5_6":          "luna-0534 mlx5_6",
		"MF0;LG27-05:MQM8700/U1":    "LG27-05",
		"MF0;ib-core:CS7500/L01U2":  "ib-core/L01U2",
		"Voltaire 4036 # hoibp0013": "hoibp0013",
		"Infiniscale-IV Mellanox Technologies 0002c90200417670":     "Infiniscale-IV 0002c90200417670",
		"MT4129 ConnectX7   Mellanox Technologies e09d7303003786b6": "MT4129 ConnectX7 e09d7303003786b6",
		"Mellanox Technologies Aggregation Node 0c42a1030019e496":   "Aggregation Node 0c42a1030019e496",
		"Mellanox Technologies":                                     "Mellanox Technologies",
	} {
		if got := topology.PlainName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestRenameRoot(t *testing.T) {
	for _, c := range [][3]string{
		{"congestion tree at leaf7 port 9 (host56), from pods 0-2", schema.RootSlowReceiver, "slow receiver at leaf7 port 9 (host56), from pods 0-2"},
		{"incast at leaf7", schema.RootSlowReceiver, "incast at leaf7"},
		{"congestion tree at leaf7", "", "congestion tree at leaf7"},
		{"congestion tree at leaf7", "new", "congestion tree at leaf7"},
		{"pod 3", schema.RootIncast, "pod 3"},
	} {
		if got := topology.RenameRoot(c[0], c[1]); got != c[2] {
			t.Errorf("%q, %s: got %q, want %q", c[0], c[1], got, c[2])
		}
		if topology.NamesRoot(c[0]) != (c[0] != "pod 3") {
			t.Errorf("%q: is it a root's name?", c[0])
		}
	}
}

// Switches whose names begin alike are named separately: pods' leaves p0l3 and spines p0a1.
func TestDescribeTellsKindsApart(t *testing.T) {
	var out bytes.Buffer
	if err := topology.Write(&out, parse(t, "fattree:k=8")); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`leaf(\d+)-`).ReplaceAllString(out.String(), "p${1}l")
	g := readYAML(t, regexp.MustCompile(`agg(\d+)-`).ReplaceAllString(text, "p${1}a"))
	var links []schema.LinkID
	for l := range schema.LinkID(g.NumLinks()) {
		if from, to := g.Ends(l); g.Device(from).Level == 1 && g.Device(to).Level == 2 {
			links = append(links, l)
		}
	}
	if got, want := g.Describe(links), "p*a* switches of pods 0-7, p*l* switches of pods 0-7"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
