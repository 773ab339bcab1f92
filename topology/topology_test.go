package topology_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func parse(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	return topologytest.Parse(t, "test", spec)
}

func TestBuiltinSizes(t *testing.T) {
	for _, c := range []struct {
		spec                  string
		hosts, devices, links int
	}{
		{"torus:24x24x24", 13824, 13824, 41472},
		{"torus:4x4", 16, 16, 32},
		{"mesh:8x8", 64, 64, 112},
		{"fattree:leaves=4,hosts=4,spines=4", 16, 24, 2 * (16 + 16)},
		{"fattree:leaves=4,hosts=3,spines=2,rails=8", 12, 12 + 32 + 2, 2 * 32 * (3 + 2)},
		{"fattree:leaves=4,hosts=3,spines=2,planes=2", 12, 12 + 8 + 4, 2 * 8 * (3 + 2)},
		{"fattree:k=4", 16, 16 + 20, 2 * 48},
		{"fattree:k=16", 1024, 1024 + 320, 2 * 3 * 1024},
		{"dragonfly:groups=9,routers=4,hosts=2", 72, 72 + 36, 2 * (72 + 9*6 + 36)},
	} {
		g := parse(t, c.spec)
		if len(g.Hosts()) != c.hosts || g.NumDevices() != c.devices || g.NumLinks() != c.links {
			t.Errorf("%s: %d hosts, %d devices, %d links; want %d, %d, %d", c.spec, len(g.Hosts()), g.NumDevices(), g.NumLinks(), c.hosts, c.devices, c.links)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, spec := range []string{"", "torus", "torus:", "torus:8x0", "torus:9999x9999x9999", "ring:3", "fattree:k=3", "fattree:leaves=2",
		"fattree:k=4,hosts=2", "fattree:leaves=1,leaves=2,hosts=1,spines=1", "fattree:leaves=1,hosts=1,spines=1,rails=2,planes=2", "fattree:k=4,rails=2", "dragonfly:groups=1,routers=1,hosts=1", "fattree:x=1"} {
		if _, err := topology.Parse("test", spec); err == nil {
			t.Errorf("%q: no error", spec)
		}
	}
}

// A number that is too large is refused with the largest.
func TestParseNamesTheLargestNumber(t *testing.T) {
	if _, err := topology.Parse("test", "fattree:leaves=99999999,hosts=2,spines=2"); err == nil || !strings.Contains(err.Error(), `"leaves=99999999": want a number from 1 to 1048576`) {
		t.Error(err)
	}
}

// The numbering matches the paper's data.
func TestTorusLinkNumbers(t *testing.T) {
	g := parse(t, "torus:5x4x3")
	for id := schema.LinkID(0); int(id) < g.NumLinks(); id++ {
		l := g.Link(id)
		c := g.Device(l.From).Coord
		if want := int(l.Dim) + 3*(c[0]+5*(c[1]+4*c[2])); int(id) != want {
			t.Fatalf("link %d leaves %v in dimension %d: want %d", id, c, l.Dim, want)
		}
		ports, ok := g.FindPort(g.Device(l.To).Name, l.ToPort)
		if !ok || ports.Egress != id || ports.Ingress != id {
			t.Fatalf("link %d is not found from its far port %s", id, l.ToPort)
		}
	}
}

// L1 agrees with the definition in floating point, and has the right neighbourhood sizes.
func TestTorusDistance(t *testing.T) {
	g := parse(t, "torus:6x7x8")
	rng := rand.New(rand.NewSource(1))
	dims := g.Grid().Dims
	half := func(id schema.LinkID) [3]float64 {
		l := g.Link(id)
		var p [3]float64
		for i, x := range g.Device(l.From).Coord {
			p[i] = float64(x)
		}
		p[l.Dim] += .5
		return p
	}
	for range 2000 {
		a, b := schema.LinkID(rng.Intn(g.NumLinks())), schema.LinkID(rng.Intn(g.NumLinks()))
		pa, pb, want := half(a), half(b), 0.
		for i := range 3 {
			d := pa[i] - pb[i]
			if d < 0 {
				d = -d
			}
			want += min(d, float64(dims[i])-d)
		}
		if got := g.L1(a, b); float64(got) != want {
			t.Fatalf("L1(%d, %d) = %d, want %v", a, b, got, want)
		}
	}
	near := 0
	for id := schema.LinkID(1); int(id) < g.NumLinks(); id++ {
		if g.L1(0, id) <= 2 {
			near++
		}
	}
	if near != 64 {
		t.Errorf("%d links within L1 <= 2, want 64", near)
	}
	if n := len(g.AppendNeighbours(nil, 0)); n != 10 {
		t.Errorf("%d links share a switch with link 0, want 10", n)
	}
}

func TestDirectedPorts(t *testing.T) {
	for _, spec := range []string{"fattree:leaves=3,hosts=2,spines=2", "fattree:leaves=3,hosts=2,spines=2,rails=3", "fattree:leaves=3,hosts=2,spines=2,planes=2", "fattree:k=6", "dragonfly:groups=9,routers=4,hosts=2", "dragonfly:groups=7,routers=3,hosts=1"} {
		g := parse(t, spec)
		for id := schema.LinkID(0); int(id) < g.NumLinks(); id++ {
			l := g.Link(id)
			near, _ := g.PortAt(l.From, l.FromPort)
			far, _ := g.PortAt(l.To, l.ToPort)
			if near.Egress != id || far.Ingress != id || near.Ingress == schema.NoLink || g.Link(near.Ingress).From != l.To {
				t.Fatalf("%s: link %d and its ports disagree", spec, id)
			}
		}
		if g.NumPorts() != g.NumLinks() {
			t.Errorf("%s: %d ports for %d directed links", spec, g.NumPorts(), g.NumLinks())
		}
	}
}

// Port r+1 of a host is on the leaf of its group in rail r; the leaves of all rails share spines, those of planes do not.
func TestRails(t *testing.T) {
	for _, c := range []struct{ spec, leafOfPort3, ownSpine, spineOfAnother string }{
		{"fattree:leaves=2,hosts=2,spines=2,rails=4", "leaf2-1", "spine0", "spine0"},
		{"fattree:leaves=2,hosts=2,spines=2,planes=4", "leaf2-1", "spine2-0", "spine0-0"},
	} {
		g := parse(t, c.spec)
		peer := func(device, port string) string {
			links, ok := g.FindPort(device, port)
			if !ok {
				t.Fatalf("%s: no port %s of %s", c.spec, port, device)
			}
			return g.Device(g.Link(links.Egress).To).Name
		}
		if leaf, spine, other := peer("host3", "3"), peer("leaf2-1", "3"), peer("leaf0-1", "3"); leaf != c.leafOfPort3 || spine != c.ownSpine || other != c.spineOfAnother {
			t.Errorf("%s: %s, %s and %s; want %+v", c.spec, leaf, spine, other, c)
		}
	}
}

func TestDragonflyJoinsAllGroups(t *testing.T) {
	g := parse(t, "dragonfly:groups=9,routers=4,hosts=2")
	joined := map[[2]int32]int{}
	for id := range g.NumLinks() {
		if l := g.Link(schema.LinkID(id)); l.Class == topology.ClassGlobal {
			joined[[2]int32{g.Device(l.From).Group, g.Device(l.To).Group}]++
		}
	}
	if len(joined) != 9*8 {
		t.Errorf("%d ordered pairs of groups are joined, want 72", len(joined))
	}
}

func TestNewVersionKeepsNumbers(t *testing.T) {
	build := func(b *topology.Builder, spines ...string) *topology.Graph {
		leaf := b.Device(topology.Device{Name: "leaf", Kind: topology.Switch})
		for i, s := range spines {
			b.Both(topology.Link{From: leaf, FromPort: s, To: b.Device(topology.Device{Name: s}), ToPort: "1", CapacityBytesPerSecond: float64(1 + i), Dim: -1})
		}
		g, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	v1 := build(topology.NewBuilder("f"), "a", "c")
	v2 := build(topology.NewVersion(v1), "a", "b", "c") // b appears in between
	v3 := build(topology.NewVersion(v2), "b", "c")      // a vanishes
	if v1.Version() == v2.Version() || v2.Version() == v3.Version() {
		t.Error("a change must change the version")
	}
	for _, s := range []string{"a", "c"} {
		was, _ := v1.FindPort("leaf", s)
		now, _ := v3.FindPort("leaf", s)
		if was != now {
			t.Errorf("port %s was %v, is %v", s, was, now)
		}
	}
	a, _ := v3.FindPort("leaf", "a")
	if v3.Link(a.Egress).Up || v3.NumLinks() != 6 {
		t.Error("a vanished link must stay, down")
	}
	if again := build(topology.NewVersion(v3), "b", "c"); again.Version() != v3.Version() {
		t.Error("the same fabric again must have the same version")
	}
}

func TestBuilderRefuses(t *testing.T) {
	b := topology.NewBuilder("f")
	x, y, z := b.Device(topology.Device{Name: "x"}), b.Device(topology.Device{Name: "y"}), b.Device(topology.Device{Name: "z"})
	b.Link(topology.Link{From: x, FromPort: "1", To: y, ToPort: "1"})
	b.Link(topology.Link{From: x, FromPort: "1", To: z, ToPort: "1"})
	if _, err := b.Build(); err == nil {
		t.Error("one port with two peers must be refused")
	}
	if _, err := topology.NewBuilder("empty").Build(); err == nil {
		t.Error("a fabric without links must be refused")
	}
}

// An adapter that was taken out of one device serves in another: the file of the next version is valid by itself, and
// so is that version.
func TestGUIDsMayMoveBetweenVersions(t *testing.T) {
	text := func(devices string) string {
		return "giverny_topology: 1\nfabric: f\ndevices:\n- {name: s, kind: switch}\n" + devices + "links:\n- [s, \"1\", a, \"1\", 1, host]\n- [a, \"1\", s, \"1\", 1, host]\n"
	}
	read := func(devices string, prev *topology.Graph) (*topology.Graph, error) {
		g, _, err := topology.ReadYAML(strings.NewReader(text(devices)), "fabric", "", prev)
		return g, err
	}
	device := func(name, guid string) string { return fmt.Sprintf("- {name: %s, kind: host, guid: %q}\n", name, guid) }
	before, err := read(device("a", "1")+device("b", "2"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ now, a, b string }{ // devices, and which has the GUIDs of a and b
		{device("a", "2") + device("b", "1"), "b", "a"},
		{device("b", "1") + device("a", "2"), "b", "a"},
		{device("a", "2"), "", "a"},
		{device("a", "2") + device("b", "3"), "", "a"},
		{device("a", "1"), "a", "b"}, // b is down, but known
	} {
		g, err := read(c.now, before)
		if err != nil {
			t.Errorf("%q: %v", c.now, err)
			continue
		}
		for guid, want := range map[string]string{"1": c.a, "2": c.b} {
			got := ""
			if d, ok := g.FindDevice(guid); ok {
				got = g.Device(d).Name
			}
			if got != want {
				t.Errorf("%q: GUID %s is of %q, want %q", c.now, guid, got, want)
			}
		}
		if again, err := read(c.now, g); err != nil || again.Version() != g.Version() {
			t.Errorf("%q: read again it has another version: %v", c.now, err)
		}
	}
	if g, err := read(device("a", "2")+device("b", "2"), before); err == nil {
		t.Errorf("two devices of version %x have one GUID", g.Version())
	}
}

// TestEndsOfLinks: what a link joins follows from its ends, on every link of a fat tree.
func TestEndsOfLinks(t *testing.T) {
	g := parse(t, "fattree:leaves=2,hosts=2,spines=1")
	for l := range schema.LinkID(g.NumLinks()) {
		from, to := g.Ends(l)
		if g.OtherEnd(l, from) != to || g.OtherEnd(l, to) != from {
			t.Errorf("link %d: other ends %d and %d", l, g.OtherEnd(l, from), g.OtherEnd(l, to))
		}
		if want := g.IsSwitch(from) && g.IsSwitch(to); g.BetweenSwitches(l) != want {
			t.Errorf("link %d between switches: %v", l, !want)
		}
		if !g.Adjacent(from, to) || !g.Adjacent(to, from) {
			t.Errorf("link %d joins devices that are not adjacent", l)
		}
	}
	a, _ := g.FindDevice("leaf0")
	b, _ := g.FindDevice("leaf1")
	if g.Adjacent(a, b) {
		t.Error("two leaves are adjacent")
	}
}
