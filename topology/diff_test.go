package topology_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// rebuild makes a graph of the same fabric: devices and links in another order, some
// omitted, some added, some down, and on a duplex graph some given from their other
// end.
func rebuild(t *rapid.T, g *topology.Graph) *topology.Graph {
	b := topology.NewBuilder("again")
	if g.Duplex() {
		b.SetDuplex()
	}
	devices := rapid.Permutation(slices.Collect(numbers(g.NumDevices()))).Draw(t, "devices")
	id := make([]topology.DeviceID, g.NumDevices())
	for _, d := range devices {
		id[d] = b.Device(topology.Device{Name: g.Device(topology.DeviceID(d)).Name})
	}
	for _, l := range rapid.Permutation(slices.Collect(numbers(g.NumLinks()))).Draw(t, "links") {
		link := g.Link(schema.LinkID(l))
		link.From, link.To = id[link.From], id[link.To]
		switch rapid.IntRange(0, 9).Draw(t, "fate") {
		case 0: // gone
			continue
		case 1: // another peer
			link.To = b.Device(topology.Device{Name: fmt.Sprint("new", l)})
		case 2: // the same cable, seen from its other end
			if g.Duplex() {
				link.From, link.To, link.FromPort, link.ToPort = link.To, link.From, link.ToPort, link.FromPort
			}
		}
		b.Link(link)
	}
	b.Link(topology.Link{From: b.Device(topology.Device{Name: "x"}), FromPort: "1", To: b.Device(topology.Device{Name: "y"}), ToPort: "1", Dim: -1})
	now, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func numbers(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// naiveMoved compares the names of every link with those of every other.
func naiveMoved(was, now *topology.Graph) []schema.LinkID {
	name := func(g *topology.Graph, id schema.LinkID, reversed bool) string {
		l := g.Link(id)
		if reversed {
			l.From, l.To, l.FromPort, l.ToPort = l.To, l.From, l.ToPort, l.FromPort
		}
		return fmt.Sprintf("%q %q %q %q", g.Device(l.From).Name, l.FromPort, g.Device(l.To).Name, l.ToPort)
	}
	moved := make([]schema.LinkID, was.NumLinks())
	for i := range moved {
		moved[i] = schema.NoLink
		for _, reversed := range []bool{true, false} { // the link's own direction wins
			for id := range schema.LinkID(now.NumLinks()) {
				if (!reversed || now.Duplex()) && was.Duplex() == now.Duplex() && name(was, schema.LinkID(i), reversed) == name(now, id, false) {
					moved[i] = id
				}
			}
		}
	}
	return moved
}

func TestMovedAgainstNames(t *testing.T) {
	for _, spec := range []string{"fattree:leaves=3,hosts=2,spines=2", "torus:3x3", "torus:2x2x2", "mesh:2x4", "dragonfly:groups=3,routers=2,hosts=1"} {
		g := parse(t, spec)
		rapid.Check(t, func(t *rapid.T) {
			was, now := rebuild(t, g), rebuild(t, g)
			moved := topology.Moved(was, now)
			if want := naiveMoved(was, now); !slices.Equal(moved, want) {
				t.Fatalf("%s: %v, want %v", spec, moved, want)
			}
			checkDiff(t, was, now, moved)
		})
	}
}

// checkDiff checks a difference's link counts: links neither removed nor added are in
// both.
func checkDiff(t *rapid.T, was, now *topology.Graph, moved []schema.LinkID) {
	d := topology.Diff(was, now)
	kept := was.NumLinks() - len(d.LinksRemoved)
	if kept != now.NumLinks()-len(d.LinksAdded) {
		t.Fatalf("%v: %d links, then %d", &d, was.NumLinks(), now.NumLinks())
	}
	for i, id := range moved {
		if slices.Contains(d.LinksRemoved, schema.LinkID(i)) != (id == schema.NoLink) || slices.Contains(d.LinksAdded, id) {
			t.Fatalf("link %d of the earlier graph is %d: %v", i, id, &d)
		}
	}
	for _, r := range d.Recabled {
		if was.PortKey(r.Was).Device != now.PortKey(r.Now).Device && !was.Duplex() || !slices.Contains(d.LinksRemoved, r.Was) || !slices.Contains(d.LinksAdded, r.Now) {
			t.Fatalf("recabled from %s to %s", was.LinkName(r.Was), now.LinkName(r.Now))
		}
	}
	devices := was.NumDevices() - len(d.DevicesRemoved) + len(d.DevicesAdded)
	if devices != now.NumDevices() {
		t.Fatalf("%v: %d devices, then %d", &d, was.NumDevices(), now.NumDevices())
	}
}

func TestDirectedAndDuplexShareNoLinks(t *testing.T) {
	g := parse(t, "torus:3x3")
	b := topology.NewBuilder("directed")
	for d := range topology.DeviceID(g.NumDevices()) {
		b.Device(*g.Device(d))
	}
	for id := range schema.LinkID(g.NumLinks()) {
		b.Both(g.Link(id))
	}
	directed, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, moved := range [][]schema.LinkID{topology.Moved(g, directed), topology.Moved(directed, g)} {
		for i, id := range moved {
			if id != schema.NoLink {
				t.Fatalf("link %d is %d", i, id)
			}
		}
	}
}

func TestDiffForOperators(t *testing.T) {
	g := parse(t, "fattree:leaves=2,hosts=2,spines=1")
	b := topology.NewVersion(g)
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		switch {
		case id < 2: // host0's cable is down
			continue
		case id == 2: // the port of host1 leads to a new switch
			l.To = b.Device(topology.Device{Name: "leaf2"})
		case id == 3:
			continue // leaf0's port to host1 is down
		case id == 4:
			l.CapacityBytesPerSecond *= 2
		}
		b.Link(l)
	}
	now, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	d := topology.Diff(g, now)
	const want = "devices: 1 added; links: 1 recabled, 3 went down, 1 rerated"
	if d.String() != want {
		t.Errorf("%v, want %s", &d, want)
	}
	if back := topology.Diff(now, g); len(back.CameUp) != 3 || len(back.DevicesRemoved) != 1 {
		t.Errorf("the other way: %v", &back)
	}
	if same := topology.Diff(g, g); !same.Empty() || same.String() != "no change" {
		t.Errorf("%v", &same)
	}
}

// The version depends on all of the content, and on nothing else.
func TestVersionIsTheContent(t *testing.T) {
	build := func(edit func(b *topology.Builder, d *topology.Device, l *topology.Link)) uint64 {
		b := topology.NewBuilder("f")
		b.SetDuplex()
		b.SetGrid(topology.Grid{Dims: []int{2, 2}})
		d, l := topology.Device{Name: "a", Level: 1, Group: -1, Coord: []int{0, 0}}, topology.Link{FromPort: "1", ToPort: "2", CapacityBytesPerSecond: 1, Class: topology.ClassTorus, Up: true}
		edit(b, &d, &l)
		b.Device(d)
		l.To = b.Device(topology.Device{Name: "z", Coord: []int{1, 0}})
		b.Link(l)
		g, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		return g.Version()
	}
	seen := map[uint64]int{}
	for i, edit := range []func(b *topology.Builder, d *topology.Device, l *topology.Link){
		func(*topology.Builder, *topology.Device, *topology.Link) {},
		func(b *topology.Builder, _ *topology.Device, _ *topology.Link) {
			b.SetGrid(topology.Grid{Dims: []int{2, 2}, Wrap: true})
		},
		func(b *topology.Builder, _ *topology.Device, _ *topology.Link) {
			b.SetGrid(topology.Grid{Dims: []int{2, 3}})
		},
		func(_ *topology.Builder, d *topology.Device, _ *topology.Link) { d.Name = "b" },
		func(_ *topology.Builder, d *topology.Device, _ *topology.Link) { d.GUID = "1" },
		func(_ *topology.Builder, d *topology.Device, _ *topology.Link) { d.Label = "1" },
		func(_ *topology.Builder, d *topology.Device, _ *topology.Link) { d.Kind = topology.Host },
		func(_ *topology.Builder, d *topology.Device, _ *topology.Link) { d.Level = 2 },
		func(_ *topology.Builder, d *topology.Device, _ *topology.Link) { d.Group = 0 },
		func(_ *topology.Builder, d *topology.Device, _ *topology.Link) { d.Coord = []int{0, 1} },
		func(_ *topology.Builder, _ *topology.Device, l *topology.Link) { l.FromPort = "3" },
		func(_ *topology.Builder, _ *topology.Device, l *topology.Link) { l.ToPort = "3" },
		func(_ *topology.Builder, _ *topology.Device, l *topology.Link) { l.CapacityBytesPerSecond = 2 },
		func(_ *topology.Builder, _ *topology.Device, l *topology.Link) { l.Class = topology.ClassSwitch },
		func(_ *topology.Builder, _ *topology.Device, l *topology.Link) { l.Dim = 1 },
	} {
		version := build(edit)
		if version != build(edit) {
			t.Errorf("edit %d: two versions of one content", i)
		}
		if other, known := seen[version]; known {
			t.Errorf("edits %d and %d have the same version", other, i)
		}
		seen[version] = i
	}
}

func BenchmarkMoved(b *testing.B) {
	was := parse(b, "torus:24x24x24")
	b.Run(fmt.Sprintf("links=%d", was.NumLinks()), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			topology.Moved(was, was)
		}
	})
}
