package hostping_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/simulated"
	"github.com/giverny/giverny/internal/test/repo"
)

func read(t testing.TB, path string) hostping.Graph {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, err := hostping.ReadGraph(filepath.Base(path), text, hostping.Auto)
	if err != nil {
		t.Fatal(err)
	}
	check(t, &g)
	return g
}

func machine(t testing.TB, name string) hostping.Graph {
	t.Helper()
	for _, m := range simulated.Machines() {
		if m.Name == name {
			g, err := hostping.ReadGraph(name, []byte(m.XML()), hostping.Auto)
			if err != nil {
				t.Fatal(err)
			}
			check(t, &g)
			return g
		}
	}
	t.Fatalf("no machine %s", name)
	return hostping.Graph{}
}

// check checks the invariants of a graph: a path is a walk along its links from the RNIC to the endpoint that passes
// no vertex twice, and there is one per pair.
func check(t testing.TB, g *hostping.Graph) {
	t.Helper()
	links := map[string]hostping.Link{}
	for _, l := range g.Links {
		if _, twice := links[l.ID]; twice {
			t.Errorf("link id %s is there twice", l.ID)
		}
		links[l.ID] = l
	}
	if len(g.Paths) != len(g.RNICs)*len(g.Endpoints) {
		t.Errorf("%d paths of %d RNICs and %d endpoints", len(g.Paths), len(g.RNICs), len(g.Endpoints))
	}
	for _, p := range g.Paths {
		at := links[p.Links[0]].B
		seen := map[string]bool{at: true}
		for _, id := range p.Links {
			switch l := links[id]; at {
			case l.A:
				at = l.B
			case l.B:
				at = l.A
			default:
				t.Fatalf("%s to %s: %s does not go on from %s", p.RNIC, p.Endpoint, id, at)
			}
			if seen[at] {
				t.Fatalf("%s to %s passes %s twice", p.RNIC, p.Endpoint, at)
			}
			seen[at] = true
		}
		if at != p.Endpoint {
			t.Errorf("%s to %s ends at %s", p.RNIC, p.Endpoint, at)
		}
	}
}

func links(g *hostping.Graph, rnic, endpoint string) string {
	for _, p := range g.Paths {
		if p.RNIC == rnic && p.Endpoint == endpoint {
			return strings.Join(p.Links, " ")
		}
	}
	return ""
}

func kinds(g *hostping.Graph) map[hostping.Kind]int {
	n := map[hostping.Kind]int{}
	for _, l := range g.Links {
		n[l.Kind]++
	}
	return n
}

func TestMachines(t *testing.T) {
	for _, c := range []struct {
		name                                   string
		gpus, rnics, memory, ports, pcie, buse int
	}{
		{"fig2", 8, 4, 2, 4, 16, 1},
		{"2x4-rails", 8, 8, 2, 8, 16, 1},
		{"4x2-pairs", 8, 8, 4, 4, 16, 6},
		{"nps4", 8, 8, 8, 4, 24, 1},
		{"1-socket", 5, 3, 2, 4, 6, 0},
	} {
		g := machine(t, c.name)
		k := kinds(&g)
		got := []int{len(g.Endpoints) - c.memory, len(g.RNICs), k[hostping.Memory], k[hostping.RootPort], k[hostping.PCIe], k[hostping.InterSocket]}
		if want := []int{c.gpus, c.rnics, c.memory, c.ports, c.pcie, c.buse}; !slices.Equal(got, want) {
			t.Errorf("%s: GPUs, RNICs, memory links, root ports, PCIe links, buses are %v, want %v", c.name, got, want)
		}
	}
}

// Fig. 2 has the four distances of section 3.2.2.
func TestDistancesOfThePaper(t *testing.T) {
	g := machine(t, "fig2")
	for _, c := range [][2]string{
		{"gpu0", "pci:mlx5_0 pci:gpu0"},                         // within a switch
		{"gpu1", "pci:mlx5_0 pci:switch-0000:03:00.0 pci:gpu1"}, // across switches
		{"gpu2", "pci:mlx5_0 pci:switch-0000:03:00.0 pci:switch-0000:01:00.0 pci:switch-0000:0b:00.0 pci:switch-0000:0d:00.0 pci:gpu2"}, // root complex
		{"numa1", "pci:mlx5_0 pci:switch-0000:03:00.0 pci:switch-0000:01:00.0 bus:socket0-socket1 memory:numa1"},                        // UPI
	} {
		if got := links(&g, "mlx5_0", c[0]); got != c[1] {
			t.Errorf("to %s: %s, want %s", c[0], got, c[1])
		}
	}
	if got := g.Affinitive["mlx5_0"]; !slices.Equal(got, []string{"gpu0", "gpu1", "numa0", "numa1"}) {
		t.Errorf("affinitive endpoints %v", got)
	}
}

func TestNCCL(t *testing.T) {
	g := read(t, "testdata/nccl.xml")
	if got := links(&g, "mlx5_4", "gpu1"); got != "pci:mlx5_4 pci:gpu1" {
		t.Errorf("behind one switch: %s", got)
	}
	if got := links(&g, "mlx5_4", "gpu0"); got != "pci:mlx5_4 pci:switch-0000:18:00.0 pci:gpu0" {
		t.Errorf("behind two switches: %s", got)
	}
	if got := links(&g, "mlx5_5", "numa0"); got != "pci:mlx5_5 bus:socket0-socket1 memory:numa0" {
		t.Errorf("at a root port of its own: %s", got)
	}
	if !reflect.DeepEqual(g.Affinitive, map[string][]string{"mlx5_4": {"gpu0", "gpu1", "numa0", "numa1"}, "mlx5_5": {"numa0", "numa1"}}) {
		t.Errorf("affinitive: %v", g.Affinitive)
	}
	if text := strings.Join(g.Assumed, "\n"); !strings.Contains(text, "the NUMA node without a number is numa1") || !strings.Contains(text, "names no sockets") {
		t.Errorf("assumed: %s", text)
	}
}

func TestNvidiaSMI(t *testing.T) {
	g := read(t, "testdata/nvidia-smi.txt")
	if got := links(&g, "mlx5_0", "gpu0"); got != "pci:mlx5_0 pci:gpu0" {
		t.Errorf("PIX: %s", got)
	}
	if got := links(&g, "mlx5_0", "gpu1"); got != "pci:mlx5_0 pci:switch-GPU0 pci:switch-GPU1 pci:gpu1" {
		t.Errorf("PXB: %s", got)
	}
	if got := links(&g, "mlx5_bond_0", "gpu2"); got != "pci:mlx5_bond_0 pci:switch-GPU3 pci:gpu2" {
		t.Errorf("NODE: %s", got)
	}
	if got := g.Affinitive["mlx5_bond_0"]; !slices.Equal(got, []string{"gpu3", "numa0", "numa1"}) {
		t.Errorf("affinitive: %v", got)
	}
}

// Two functions of a card share its link.
func TestFunctionsShareALink(t *testing.T) {
	m := simulated.Machine{Name: "dual", Sockets: []simulated.Socket{{NUMANodes: 1, Ports: []string{"(NG)"}}}}
	text := strings.Replace(m.XML(), `<object type="PCIDev" pci_busid="0000:03:00.0"`, `<object type="PCIDev" pci_busid="0000:03:00.1" pci_type="0207"><object type="OSDev" name="mlx5_9" osdev_type="3"/></object><object type="PCIDev" pci_busid="0000:03:00.0"`, 1)
	g, err := hostping.ReadGraph("dual", []byte(text), hostping.Hwloc)
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Fields(links(&g, "mlx5_0", "gpu0")), strings.Fields(links(&g, "mlx5_9", "gpu0"))
	if len(a) != 2 || !slices.Equal(a, b) {
		t.Errorf("paths %v and %v, want the same two links", a, b)
	}
}

// For a description without NUMA nodes, or with a single one, NUMA nodes are assumed and listed as assumed.
func TestMissingNUMA(t *testing.T) {
	m := simulated.Machines()[0].XML()
	without := strings.NewReplacer(`<object type="NUMANode" os_index="0" cpuset="0x000000ff"/>`, "", `<object type="NUMANode" os_index="1" cpuset="0x0000ff00"/>`, "").Replace(m)
	g, err := hostping.ReadGraph("host.xml", []byte(without), hostping.Auto)
	if err != nil {
		t.Fatal(err)
	}
	if k := kinds(&g); k[hostping.Memory] != 2 || !slices.Contains(g.Assumed, "each package has one NUMA node: the file names none") {
		t.Errorf("%v, assumed %v", k, g.Assumed)
	}
	one := strings.Replace(without, `<object type="Package"`, `<object type="NUMANode" os_index="0" cpuset="0x0000ffff"/><object type="Package"`, 1)
	if g, err = hostping.ReadGraph("host.xml", []byte(one), hostping.Auto); err != nil {
		t.Fatal(err)
	}
	if k := kinds(&g); k[hostping.Memory] != 1 || k[hostping.InterSocket] != 1 || !slices.Contains(g.Assumed, "numa0 is at socket0: the file does not say where") {
		t.Errorf("%v, assumed %v", k, g.Assumed)
	}
}

// Sockets in a ring: distances determine which two are connected.
func TestRingOfSockets(t *testing.T) {
	m := simulated.Machine{Name: "ring", Sockets: slices.Repeat([]simulated.Socket{{NUMANodes: 1, Ports: []string{"(NG)"}}}, 4)}
	distances := `<distances2 type="NUMANode" nbobjs="4" kind="5" name="NUMALatency" indexing="os"><indexes>0 1 2 3 </indexes>` +
		`<u64values>10 21 31 21 21 10 21 31 </u64values><u64values>31 21 10 21 21 31 21 10 </u64values></distances2></topology>`
	g, err := hostping.ReadGraph("ring.xml", []byte(strings.Replace(m.XML(), "</topology>", distances, 1)), hostping.Auto)
	if err != nil {
		t.Fatal(err)
	}
	check(t, &g)
	if k := kinds(&g); k[hostping.InterSocket] != 4 {
		t.Errorf("%d buses, want 4", k[hostping.InterSocket])
	}
	if got := links(&g, "mlx5_0", "numa2"); strings.Count(got, "bus:") != 2 {
		t.Errorf("to the opposite socket: %s, want two buses", got)
	}
}

// Link ids do not change when another device vanishes, and the baseline of the whole
// host still fits.
func TestIDsSurviveAVanishedDevice(t *testing.T) {
	whole := machine(t, "fig2")
	text := simulated.Machines()[0].XML()
	at := strings.Index(text, `name="nvml0"`)
	begin, end := strings.LastIndex(text[:at], "\n"), at+strings.Index(text[at:], "\n")
	part, err := hostping.ReadGraph("host.xml", []byte(text[:begin]+text[end:]), hostping.Auto)
	if err != nil {
		t.Fatal(err)
	}
	had := map[string]bool{}
	for _, l := range whole.Links {
		had[l.ID] = true
	}
	for _, l := range part.Links {
		if !had[l.ID] {
			t.Errorf("%s is new without gpu0", l.ID)
		}
	}
	b := baselineOf(t, &whole)
	if err := b.Fits(&part); err != nil {
		t.Errorf("its baseline: %v", err)
	}
	other := machine(t, "nps4")
	if err := b.Fits(&other); err == nil {
		t.Error("the baseline of another model fits")
	}
}

func TestGraphJSON(t *testing.T) {
	g := machine(t, "1-socket")
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`{"endpoints":[{"id":"gpu0","kind":"gpu"}`, `"rnics":[{"id":"mlx5_0"}`, `"links":[{"id":"pci:switch-0000:01:00.0","a":"socket0","b":"switch-0000:01:00.0","kind":"root_port"}`,
		`"paths":[{"rnic":"mlx5_0","endpoint":"gpu0","links":["pci:mlx5_0","pci:gpu0"]}`, `"affinitive":{"mlx5_0":["gpu0","gpu1","numa0","numa1"]`, `"assumed":[]`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %.400s", part, text)
		}
	}
}

func TestRecordedHosts(t *testing.T) {
	for _, c := range []struct {
		file                       string
		gpus, rnics, memory, ports int
	}{
		{"hwloc/24em64t-2n6c2t-pci.xml", 3, 1, 2, 4},
		{"hwloc/32em64t-2n8c2t-pci-wholeio.xml", 3, 1, 2, 3},
		{"hwloc/96em64t-4n4d3ca2co-pci.xml", 0, 0, 4, 0},
		{"hwloc/nvidiaDGX2.xml", 16, 0, 2, 4},
		{"nccl-topo/ndv2-topo.xml", 8, 1, 2, 9},
		{"nccl-topo/ndv4-topo.xml", 8, 8, 4, 4},
		{"nccl-topo/ndv5-topo.xml", 8, 8, 2, 8},
	} {
		g := read(t, repo.Fixture(t, "hosts", c.file))
		k := kinds(&g)
		got := []int{len(g.Endpoints) - k[hostping.Memory], len(g.RNICs), k[hostping.Memory], k[hostping.RootPort]}
		if want := []int{c.gpus, c.rnics, c.memory, c.ports}; !slices.Equal(got, want) {
			t.Errorf("%s: GPUs, RNICs, memory nodes, root ports are %v, want %v", c.file, got, want)
		}
	}
}

// Bridges without bus ids, as in a trimmed description, get unique names.
func TestBridgesWithoutBusIDs(t *testing.T) {
	m := simulated.Machines()[0].XML()
	text := regexp.MustCompile(`(<object type="Bridge"[^>]*?) pci_busid="[^"]*"`).ReplaceAllString(m, "$1")
	g, err := hostping.ReadGraph("host.xml", []byte(text), hostping.Auto)
	if err != nil {
		t.Fatal(err)
	}
	check(t, &g)
	whole := machine(t, "fig2")
	if len(g.Links) != len(whole.Links) || g.Model != whole.Model {
		t.Errorf("%d links of %s, want %d of %s", len(g.Links), g.Model, len(whole.Links), whole.Model)
	}
}
