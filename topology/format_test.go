package topology_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/internal/test/repo"
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

// formatCase is a file with its format and content; zero: any number.
type formatCase struct {
	file, format              string
	switches, adapters, links int
	warning                   string // a part of it; empty: none
}

func TestFormats(t *testing.T) {
	for _, c := range []formatCase{
		{"plain.txt", "ibnetdiscover", 3, 5, 16, `1 of 8 devices are named as peers and have no record of their own, the first: "storage"`},
		{"ports.txt", "ibnetdiscover", 3, 2, 6, ""},
		{"topology.conf", "slurm", 4, 10, 26, ""},
		{"netq.json", "netq", 2, 2, 10, ""},
		{"cables.csv", "cables", 2, 3, 12, ""},
	} {
		readFormat(t, c, sample(t, c.file))
	}
}

func TestRecordedFormats(t *testing.T) {
	for _, c := range []formatCase{
		{"topology/ibnetdiscover/selene.compute.txt", "ibnetdiscover", 666, 4341, 25704, ""},
		{"topology/ibnetdiscover/topograph-ndr.txt", "ibnetdiscover", 0, 0, 0, ""},
		{"topology/ibnetdiscover/treydock/test.out", "ibnetdiscover", 4, 3, 8, ""},
		{"counters/ibsim/big-ibnetdiscover.txt", "ibnetdiscover", 0, 0, 0, ""},
		{"topology/slurm/X5.topofile", "ibnetdiscover", 0, 0, 0, ""},
		{"topology/slurm/X5.topology.conf", "slurm", 11, 0, 0, ""},
		{"topology/netq/topologyGraph.json", "netq", 0, 0, 0, ""},
	} {
		readFormat(t, c, readFile(t, repo.Fixture(t, filepath.FromSlash(c.file))))
	}
}

func readFormat(t *testing.T, c formatCase, text []byte) {
	t.Helper()
	f := detect(t, text)
	g, warnings, err := f.Read(bytes.NewReader(text), c.file, "fabric", nil)
	if err != nil {
		t.Errorf("%s: %v", c.file, err)
		return
	}
	s := topology.Summarize(g)
	for _, n := range [][2]int{{s.Switches, c.switches}, {s.ChannelAdapters, c.adapters}, {s.Links, c.links}} {
		if n[0] == 0 || n[1] > 0 && n[0] != n[1] {
			t.Errorf("%s: %+v, want %+v", c.file, s, c)
		}
	}
	asWarned := len(warnings) == 0
	if c.warning != "" {
		asWarned = len(warnings) == 1 && strings.Contains(warnings[0], c.warning)
	}
	if f.Name != c.format || !asWarned || s.Ports != s.Links {
		t.Errorf("%s: %s, %+v, %q", c.file, f.Name, s, warnings)
	}
	roundTrip(t, g)
}

// roundTrip writes a graph in our own format, reads it back and compares.
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
		t.Fatalf("%v in\n%s", err, text.Bytes())
	}
	if back.Version() != g.Version() || back.Fabric() != g.Fabric() || back.NumLinks() != g.NumLinks() || back.NumDevices() != g.NumDevices() {
		t.Fatalf("%q version %x became %q version %x", g.Fabric(), g.Version(), back.Fabric(), back.Version())
	}
	for id := range schema.LinkID(g.NumLinks()) {
		if g.Link(id) != back.Link(id) {
			t.Fatalf("link %d: %+v became %+v", id, g.Link(id), back.Link(id))
		}
	}
	for d := range topology.DeviceID(g.NumDevices()) {
		if diff := cmp.Diff(g.Device(d), back.Device(d), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("device %d (-was +is):\n%s", d, diff)
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
		{"yaml", head + "- [a, 1, b, 1, 1e9, host]\n---\n" + head, "more than one YAML document"},
		{"yaml", head + "- [a, 1, c, 1, 1e9, host]\n", `in.txt:7: device "c"`},
		{"yaml", head + "- [a, 1, b, 1, fast, host]\n", "in.txt:7"},
		{"yaml", head + "- [a, 1, b, 1, 1e9, hose]\n", "in.txt:7"},
		{"yaml", head + "- [a, 1]\n", "in.txt:7"},
		{"yaml", head + "- [a, 1, b, 1, -1, host]\n", "capacity"},
		{"yaml", head + "- [a, 1, b, 1, 1e9, host, 3]\n", "in.txt:7"},
		{"slurm", "SwitchName=a Nodes=n[1-\n", "in.txt:1"},
		{"slurm", "SwitchName=a Nodes=n[5-1]\n", "in.txt:1"},
		{"slurm", "SwitchName=a Nodes=n[1-9999999]\n", "more than 131072 hosts"},
		{"slurm", "SwitchName=a Nodes=n[0-9223372036854775807]\n", "more than 131072 hosts"},
		{"slurm", "SwitchName=a Nodes=n[9223372036854775807-9223372036854775807][1-200000]\n", "more than 131072 hosts"},
		{"slurm", "SwitchName=a Nodes=n[1-1000]m[1-1000]\n", "more than 131072 hosts"},
		{"slurm", "SwitchName=a Nodes=n[1-100000],m[1-100000]\n", "more than 131072 hosts"},
		{"slurm", "SwitchName=a Nodes=n" + strings.Repeat("[1]", 300) + "\n", "more than 253 bytes"},
		{"slurm", "SwitchName=a Nodes=n[" + strings.Repeat("0", 300) + "1-2]\n", "want a range"},
		{"slurm", "SwitchName=a Nodes=,b\n", "no name"},
		{"slurm", "# x\nBlockName=a Nodes=b\n", "block plugin"},
		{"slurm", "SwitchName=a Nods=b\n", "Nods"},
		{"slurm", "SwitchName=a Nodes=b\n#" + strings.Repeat("x", 1<<20) + "\n", "in.txt:2: the line is longer than 1048576 bytes"},
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

// A switch that is only named as a child may have children of its own in a part that is missing.
func TestSlurmWithoutTheLineOfASwitch(t *testing.T) {
	_, warnings, err := topology.ReadSlurm(strings.NewReader("SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Switches=s[0,2]\n"), "in.txt", "f", nil)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], `1 of 7 devices are named as peers and have no record of their own, the first: "s2"`) {
		t.Errorf("%v, warnings %q", err, warnings)
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

// Whatever a reader makes of any text survives our own format.
func FuzzFormats(f *testing.F) {
	for _, file := range []string{"plain.txt", "ports.txt", "contradiction.txt", "topology.conf", "netq.json", "cables.csv"} {
		f.Add(sample(f, file))
	}
	f.Add([]byte("SwitchName=s0 Nodes=n[08-10,12],m\n"))
	f.Add([]byte("SwitchName=s0 Nodes=n[0-9223372036854775807]\n"))
	f.Add([]byte("SwitchName=s0 Nodes=n[1-20]c[1-20]\n"))
	f.Add([]byte("CA 0 0 0 0 0 - 0x 0 0 0x "))
	f.Add([]byte("SwitchName=\xff\x7f Nodes=\u0085,\ufeff,<\"\\>\n"))
	f.Add([]byte("giverny_topology: 1\nfabric: f\ngrid: {dims: [2], wrap: true}\ndevices:\n- {name: a, kind: switch, coord: [0]}\nlinks:\n- [a, 1, a, 2, 1, torus, 0]\n"))
	f.Add([]byte(`[{"links":[{"compounded_links":[{"id":"x","interfaces":[{"interface":"1","node":"a"},{"interface":"1","node":"a"}]}]}],"nodes":[{"compounded_nodes":[{"id":"a"}]}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range topology.Formats {
			g, _, err := format.Read(bytes.NewReader(text), "in.txt", "f", nil)
			if err != nil || g.NumLinks() > 1<<12 { // a few letters of a host list can make many
				continue
			}
			roundTrip(t, g)
			if diff := topology.Diff(g, g); !diff.Empty() || g.Describe([]schema.LinkID{0}) == "" {
				t.Errorf("%s differs from itself: %v", format.Name, &diff)
			}
		}
	})
}

func BenchmarkReadYAML(b *testing.B) {
	g := parse(b, "fattree:k=36")
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

func TestCablesRefused(t *testing.T) {
	const header = "device,port,peer,peer_port,gbps,kind,peer_kind\n"
	for text, want := range map[string]string{
		"device,port,peer\n":                            "cables.csv:1: no column peer_port; want device, port, peer, peer_port, and if known gbps",
		header + "leaf0,1,,1,,,\n":                      "cables.csv:2: column peer: it is empty",
		header + "leaf0,1,h0,1,fast,,\n":                `cables.csv:2: column gbps: "fast": want a number`,
		header + "leaf0,1,h0,1,-1,,\n":                  "column gbps",
		header + "leaf0,1,h0,1,,router,\n":              `"leaf0": kind "router": want switch or host`,
		header + "a,1,h0,1,,,host\nb,1,h0,2,,,switch\n": `cables.csv:3: "h0": kind switch, but host in an earlier row`,
		header + "leaf0,1\n":                            "cables.csv:2: 2 fields where the header has 7",
		"# nothing\n" + header:                          "no links",
	} {
		if _, _, err := topology.ReadCables(strings.NewReader(text), "cables.csv", "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A device is a switch because it is in the column device, whatever row comes first, unless a row says otherwise.
func TestCablesKindsAndRates(t *testing.T) {
	const text = "device,port,peer,peer_port,gbps,kind\nleaf0,1,spine0,1,100,\nspine0,1,leaf0,1,100,\nhost0,1,leaf0,2,,host\nleaf0,2,host0,1,,\n"
	g, warnings, err := topology.ReadCables(strings.NewReader(text), "cables.csv", "", nil)
	if err != nil || len(warnings) > 0 || g.NumLinks() != 4 {
		t.Fatalf("%v %v", warnings, err)
	}
	for name, want := range map[string]topology.Device{"leaf0": {Kind: topology.Switch, Level: 1}, "spine0": {Kind: topology.Switch, Level: 2}, "host0": {Kind: topology.Host}} {
		id, _ := g.FindDevice(name)
		if d := g.Device(id); d.Kind != want.Kind || d.Level != want.Level {
			t.Errorf("%s: kind %v, level %d; want %v, %d", name, d.Kind, d.Level, want.Kind, want.Level)
		}
	}
	for port, want := range map[string]float64{"1": 12.5e9, "2": 0} {
		links, _ := g.FindPort("leaf0", port)
		if got := g.Capacity(links.Egress); got != want {
			t.Errorf("port %s: %g bytes/s, want %g", port, got, want)
		}
	}
}

// A core that is only a peer would make a level-1 switch of every spine: it is named.
func TestCablesWithoutTheRowsOfACore(t *testing.T) {
	text := "device,port,peer,peer_port\nleaf0,1,h0,1\nleaf0,2,spine0,1\nspine0,1,leaf0,2\nspine0,2,core0,1\nspine1,2,core0,2\nleaf0,3,spine1,1\n"
	for tail, want := range map[string]int{"": 1, "core0,1,spine0,2\n": 0} {
		g, warnings, err := topology.ReadCables(strings.NewReader(text+tail), "cables.csv", "", nil)
		if err != nil || len(warnings) != want || want > 0 && !strings.Contains(warnings[0], `"leaf0" and "spine0" are cabled to each other and both have hosts, "h0" and "core0": if one of these is a switch`) {
			t.Errorf("%q, %v, of %d devices; want %d", warnings, err, g.NumDevices(), want)
		}
	}
}
