package topology_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

func detect(t *testing.T, text []byte) topology.Format {
	t.Helper()
	f, err := topology.DetectFormat(text[:min(len(text), topology.DetectSize)])
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFormatsOnRealData(t *testing.T) {
	for _, c := range []struct {
		path, format              string
		switches, adapters, links int
	}{
		{"topology/ibnetdiscover/selene.compute.txt", "ibnetdiscover", 666, 4341, 25704},
		{"topology/ibnetdiscover/topograph-ndr.txt", "ibnetdiscover", 0, 0, 0},
		{"topology/ibnetdiscover/treydock/test.out", "ibnetdiscover", 4, 3, 8},
		{"counters/ibsim/big-ibnetdiscover.txt", "ibnetdiscover", 0, 0, 0},
		{"topology/slurm/X5.topofile", "ibnetdiscover", 0, 0, 0},
		{"topology/slurm/X5.topology.conf", "slurm", 11, 0, 0},
		{"topology/netq/topologyGraph.json", "netq", 0, 0, 0},
	} {
		text := fixture(t, c.path)
		f := detect(t, text)
		g, warnings, err := f.Read(bytes.NewReader(text), c.path, "fabric", nil)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		s := topology.Summarize(g)
		t.Logf("%s: %+v %q", c.path, s, warnings)
		if f.Name != c.format || len(warnings) > 0 || c.links > 0 && (s.Switches != c.switches || s.ChannelAdapters != c.adapters || s.Links != c.links) {
			t.Errorf("%s: %s, %+v, %q", c.path, f.Name, s, warnings)
		}
		if s.Switches == 0 || s.Links == 0 || s.Ports != s.Links {
			t.Errorf("%s: %+v", c.path, s)
		}
		roundTrip(t, g)
	}
}

func roundTrip(t *testing.T, g *topology.Graph) {
	t.Helper()
	var text bytes.Buffer
	if err := topology.Write(&text, g); err != nil {
		t.Fatal(err)
	}
	if f := detect(t, text.Bytes()); f.Name != "yaml" {
		t.Errorf("own format detected as %s", f.Name)
	}
	back, _, err := topology.ReadYAML(bytes.NewReader(text.Bytes()), "own.yaml", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if back.Version() != g.Version() {
		t.Errorf("%s: version %x became %x", g.Fabric(), g.Version(), back.Version())
	}
	for id := range schema.LinkID(g.NumLinks()) {
		if g.Link(id) != back.Link(id) {
			t.Fatalf("link %d: %+v became %+v", id, g.Link(id), back.Link(id))
		}
	}
}

func TestOwnFormatRoundTrip(t *testing.T) {
	for _, spec := range []string{"torus:4x3x2", "mesh:3x3", "fattree:k=4", "dragonfly:groups=5,routers=2,hosts=1"} {
		roundTrip(t, parse(t, spec))
	}
	g := parse(t, "fattree:leaves=2,hosts=1,spines=1")
	b := topology.NewVersion(g) // everything down
	b.Link(g.Link(0))
	v2, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, v2)
}

func TestFormatFaults(t *testing.T) {
	const head = "giverny_topology: 1\nfabric: f\ndevices:\n- {name: a, kind: switch}\n- {name: b, kind: host}\nlinks:\n"
	for _, c := range []struct{ format, text, want string }{
		{"yaml", "giverny_topology: 2\n", "reads version 1"},
		{"yaml", "giverny_topology: 1\nlink: []\n", "line 2"},
		{"yaml", head + "- [a, 1, c, 1, 1e9, host]\n", `in.txt:7: device "c"`},
		{"yaml", head + "- [a, 1, b, 1, fast, host]\n", "in.txt:7"},
		{"yaml", head + "- [a, 1, b, 1, 1e9, hose]\n", "in.txt:7"},
		{"yaml", head + "- [a, 1]\n", "in.txt:7"},
		{"yaml", head + "- [a, 1, b, 1, -1, host]\n", "capacity"},
		{"yaml", head + "- [a, 1, b, 1, 1e9, host, 3]\n", "in.txt:7"},
		{"slurm", "SwitchName=a Nodes=n[1-\n", "in.txt:1"},
		{"slurm", "SwitchName=a Nodes=n[5-1]\n", "in.txt:1"},
		{"slurm", "SwitchName=a Nodes=n[1-9999999]\n", "more than"},
		{"slurm", "# x\nBlockName=a Nodes=b\n", "block plugin"},
		{"slurm", "SwitchName=a Nods=b\n", "Nods"},
		{"netq", "{}", "JSON list"},
		{"netq", `[{"links":[{"compounded_links":[{"id":"x","interfaces":[{"interface":"1","node":"a"},{"interface":"1","node":"b"}]}]}]}]`, `"a"`},
	} {
		f, err := topology.FindFormat(c.format)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = f.Read(strings.NewReader(c.text), "in.txt", "f", nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "in.txt") {
			t.Errorf("%s: %q: %v, want %q in it", c.format, c.text, err, c.want)
		}
	}
}

func TestSlurmHostlist(t *testing.T) {
	const text = "SwitchName=s0 Nodes=n[08-10,12],m\nSwitchName=s1 Switches=s0 \\\n Nodes=r[1-2]c[1-2]\n"
	g, _, err := topology.ReadSlurm(strings.NewReader(text), "in.txt", "f", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n08", "n09", "n10", "n12", "m", "r1c1", "r2c2"} {
		if _, ok := g.FindDevice(name); !ok {
			t.Errorf("no %s", name)
		}
	}
	if s := topology.Summarize(g); s.Switches != 2 || s.ChannelAdapters != 9 || s.Links != 2*(9+1) {
		t.Errorf("%+v", s)
	}
}

func FuzzFormats(f *testing.F) {
	f.Add([]byte("SwitchName=s0 Nodes=n[08-10,12],m\n"))
	f.Add([]byte("giverny_topology: 1\nfabric: f\ngrid: {dims: [2], wrap: true}\ndevices:\n- {name: a, kind: switch, coord: [0]}\nlinks:\n- [a, 1, a, 2, 1, torus, 0]\n"))
	f.Add([]byte(`[{"links":[{"compounded_links":[{"id":"x","interfaces":[{"interface":"1","node":"a"},{"interface":"1","node":"a"}]}]}],"nodes":[{"compounded_nodes":[{"id":"a"}]}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range topology.Formats {
			g, _, err := format.Read(bytes.NewReader(text), "in.txt", "f", nil)
			if err == nil {
				fmt.Fprint(&bytes.Buffer{}, g.Describe([]schema.LinkID{0}))
			}
		}
	})
}

func BenchmarkReadYAML(b *testing.B) {
	g := readIB(b, fixture(b, "topology/ibnetdiscover/selene.compute.txt"), nil)
	var text bytes.Buffer
	if err := topology.Write(&text, g); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, _, err := topology.ReadYAML(bytes.NewReader(text.Bytes()), "own.yaml", "", nil); err != nil {
			b.Fatal(err)
		}
	}
}
