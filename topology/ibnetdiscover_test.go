package topology_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// sample is one of our own samples in testdata.
func sample(t testing.TB, name string) []byte { return readFile(t, filepath.Join("testdata", name)) }

func recorded(t testing.TB, elem ...string) []byte {
	t.Helper()
	return readFile(t, repo.Fixture(t, append([]string{"topology", "ibnetdiscover"}, elem...)...))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readIB(t testing.TB, text []byte, prev *topology.Graph) *topology.Graph {
	t.Helper()
	g, _, err := topology.ReadIBNetDiscover(bytes.NewReader(text), "in.txt", "ib0", prev)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRecordedSelene(t *testing.T) {
	g := readIB(t, recorded(t, "selene.compute.txt"), nil)
	switches := 0
	for d := range topology.DeviceID(g.NumDevices()) {
		if g.IsSwitch(d) {
			switches++
		}
	}
	if switches != 666 || g.NumDevices()-switches != 4341 || g.NumLinks() != 25704 {
		t.Errorf("%d switches, %d adapters, %d links", switches, g.NumDevices()-switches, g.NumLinks())
	}
	ports, ok := g.FindPort("MF0;MLG01-02:MQM8700/U1", "39")
	if !ok || g.Device(g.Link(ports.Egress).To).GUID != "1c34da030060a40c" || g.Link(ports.Egress).CapacityBytesPerSecond != 25e9 {
		t.Errorf("port 39 of MLG01-02 leads to %+v", g.Link(ports.Egress))
	}
	if levels := topology.Summarize(g).SwitchesByLevel; levels["1"] != 204 || levels["2"] != 322 || levels["3"] != 140 {
		t.Errorf("switches by level: %v", levels)
	}
	byGUID, ok := g.FindPort("1c34da0300728866", "39")
	if !ok || byGUID != ports {
		t.Error("a device is not found by its GUID")
	}
}

// The quirks of the sample: headings of -g, a switch with ports in any order, a description with blanks and one with
// quotes, two adapters with the same description, one of them without its own block, an unknown speed, an aggregation
// node.
func TestReadPlainListing(t *testing.T) {
	text := sample(t, "plain.txt")
	g := readIB(t, text, nil)
	if s := topology.Summarize(g); s.Switches != 3 || s.ChannelAdapters != 5 || s.AggregationNodes != 1 || s.Links != 2*8 || s.SwitchesByLevel["1"] != 2 {
		t.Errorf("%+v", s)
	}
	if n := len(g.Hosts()); n != 4 {
		t.Errorf("%d hosts with the aggregation node, which sends and receives nothing of its own", n)
	}
	for _, c := range []struct {
		device, port, peer, peerPort string
		gigabits                     float64
	}{
		{"leaf '0' <west>", "1", "node0 HCA-1", "1", 200},
		{"leaf '0' <west>", "2", "node1 HCA-1", "1", 100},
		{"MF0;spine-0:QX1/U1", "2", "leaf-1", "36", 100},
		{"leaf-1", "7", "storage b00000000000c020", "1", 40},
		{"b00000000000a010", "10", "storage b00000000000c020", "2", 40},
		{"storage b00000000000c030", "2", "leaf-1", "8", 0},
	} {
		ports, ok := g.FindPort(c.device, c.port)
		if !ok {
			t.Errorf("%s has no port %s", c.device, c.port)
			continue
		}
		l := g.Link(ports.Egress)
		if g.Device(l.To).Name != c.peer || l.ToPort != c.peerPort || l.CapacityBytesPerSecond*8/1e9 != c.gigabits {
			t.Errorf("port %s of %s leads to %q, %+v; want %+v", c.port, c.device, g.Device(l.To).Name, l, c)
		}
	}
	windows := readIB(t, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), nil)
	if windows.Version() != g.Version() {
		t.Error("line ends of Windows make another graph")
	}
}

func TestReadPortList(t *testing.T) {
	g := readIB(t, sample(t, "ports.txt"), nil)
	ports, ok := g.FindPort("leaf-0", "12")
	if l := g.Link(ports.Egress); !ok || g.Device(l.To).Name != "node1 HCA-1" || l.CapacityBytesPerSecond != 100e9/8 || g.NumLinks() != 6 {
		t.Errorf("%d links, port 12 leads to %+v", g.NumLinks(), l)
	}
	if _, ok := g.FindPort("leaf-0", "21"); ok {
		t.Error("a port that is down has a link")
	}
	for _, name := range []string{"leaf-spare", "spine (old) - 1", "b00000000000b000"} {
		if _, ok := g.FindDevice(name); !ok {
			t.Errorf("no device %q", name)
		}
	}
}

// podsText is the output of ibnetdiscover -p for a fat tree of pods of two leaves with two spines each, the last without hosts.
func podsText(pods int) []byte {
	var text bytes.Buffer
	guids := map[string]int{}
	guid := func(name string) int {
		if guids[name] == 0 {
			guids[name] = 0xa000 + len(guids)
		}
		return guids[name]
	}
	ports := map[string]int{}
	cable := func(kind, from, to string) {
		ports[from]++
		ports[to]++
		fmt.Fprintf(&text, "%s 1 %d 0x%016x 4x HDR - SW 1 %d 0x%016x ( '%s' - '%s' )\n", kind, ports[from], guid(from), ports[to], guid(to), from, to)
	}
	for pod := range pods {
		for l := range 2 {
			leaf := fmt.Sprintf("leaf%d-%d", pod, l)
			if pod < pods-1 {
				cable("CA", fmt.Sprintf("node%d-%d HCA-1", pod, l), leaf)
			}
			for s := range 2 {
				cable("SW", leaf, fmt.Sprintf("spine%d-%d", pod, s))
			}
		}
		for s := range 2 {
			for k := range 2 {
				cable("SW", fmt.Sprintf("spine%d-%d", pod, s), fmt.Sprintf("core%d", 2*s+k))
			}
		}
	}
	return text.Bytes()
}

// A pod whose hosts are all down has leaves and spines like the others, although they are farther from hosts than the cores.
func TestLevelsOfAPodWithoutHosts(t *testing.T) {
	g := readIB(t, podsText(3), nil)
	if got := topology.Summarize(g).SwitchesByLevel; got["1"] != 6 || got["2"] != 6 || got["3"] != 4 || len(got) != 3 {
		t.Errorf("switches by level: %v", got)
	}
}

func TestReadRecordedPortList(t *testing.T) {
	g := readIB(t, recorded(t, "treydock", "test.out"), nil)
	ports, ok := g.FindPort("ib-i1l1s01", "10")
	if !ok || g.Device(g.Link(ports.Egress).To).Name != "o0001 HCA-1" || g.NumLinks() != 8 {
		t.Errorf("%d links, port 10 leads to %+v", g.NumLinks(), g.Link(ports.Egress))
	}
}

// In these files two switches claim the one port of an adapter.
func TestContradictionCostsOneCable(t *testing.T) {
	contradiction(t, sample(t, "contradiction.txt"), "line 3", 6)
}

func TestRecordedContradictionCostsOneCable(t *testing.T) {
	contradiction(t, recorded(t, "treydock", "test2.out"), "line 5", 4)
}

func contradiction(t *testing.T, text []byte, line string, links int) {
	t.Helper()
	g, warnings, err := topology.ReadIBNetDiscover(bytes.NewReader(text), "in.txt", "ib0", nil)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], line) || g.NumLinks() != links {
		t.Fatalf("%v, %q, want %s and %d links", err, warnings, line, links)
	}
}

// A fabric listed in any order gives the same graph and version: discoveries differ in
// where they start.
func TestListingOrderDoesNotMatter(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, spec := range []string{"fattree:leaves=5,hosts=3,spines=2,gbps=200", "fattree:k=4", "dragonfly:groups=5,routers=2,hosts=2"} {
		g := parse(t, spec)
		first := readIB(t, listing(g, rng), nil)
		for range 5 {
			if again := readIB(t, listing(g, rng), nil); again.Version() != first.Version() {
				t.Fatalf("%s: version %x, then %x", spec, first.Version(), again.Version())
			}
		}
		if first.NumDevices() != g.NumDevices() || first.NumLinks() != g.NumLinks() {
			t.Errorf("%s: %d devices and %d links of %d and %d", spec, first.NumDevices(), first.NumLinks(), g.NumDevices(), g.NumLinks())
		}
		for i, id := range topology.Moved(g, first) {
			if id == schema.NoLink || first.Capacity(id) != g.Capacity(schema.LinkID(i)) {
				t.Fatalf("%s: %s is link %d", spec, g.LinkName(schema.LinkID(i)), id)
			}
		}
	}
}

// listing prints a directed graph of switches and hosts like ibnetdiscover, with nodes
// and ports in random order.
func listing(g *topology.Graph, rng *rand.Rand) []byte {
	id := func(d topology.DeviceID) string {
		return fmt.Sprintf("%c-%016x", map[bool]byte{true: 'S', false: 'H'}[g.IsSwitch(d)], uint64(d)+1)
	}
	var text bytes.Buffer
	for _, i := range rng.Perm(g.NumDevices()) {
		d := topology.DeviceID(i)
		kind := map[bool]string{true: "Switch", false: "Ca"}[g.IsSwitch(d)]
		fmt.Fprintf(&text, "%s\t64 %q\t\t# %q lid %d lmc 0\n", kind, id(d), g.Device(d).Name, i)
		links := slices.Clone(g.LinksAt(d))
		rng.Shuffle(len(links), func(a, b int) { links[a], links[b] = links[b], links[a] })
		for _, link := range links {
			if l := g.Link(link); l.From == d {
				width := map[float64]string{100e9 / 8: "4xEDR", 200e9 / 8: "4xHDR"}[l.CapacityBytesPerSecond]
				fmt.Fprintf(&text, "[%s]\t%q[%s]\t\t# %q lid %d %s\n", l.FromPort, id(l.To), l.ToPort, g.Device(l.To).Name, l.To, width)
			}
		}
		text.WriteByte('\n')
	}
	return text.Bytes()
}

// A cable that comes up later gets a new number and does not change the others.
func TestAppearanceKeepsNumbers(t *testing.T) {
	appearance(t, sample(t, "plain.txt"), "b00000000000c010")
}

func TestRecordedAppearanceKeepsNumbers(t *testing.T) {
	appearance(t, recorded(t, "topograph-ndr.txt"), "e09d7303007a4bd8")
}

// appearance reads a listing without an adapter, then with it.
func appearance(t *testing.T, text []byte, guid string) {
	t.Helper()
	var less []byte
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte(guid)) || !bytes.HasPrefix(line, []byte("[")) {
			less = append(less, line...)
		}
	}
	full, first := readIB(t, text, nil), readIB(t, less, nil)
	second := readIB(t, text, first)
	if second.NumLinks() != full.NumLinks() || first.NumLinks() != full.NumLinks()-2 {
		t.Fatalf("%d links, then %d, of %d", first.NumLinks(), second.NumLinks(), full.NumLinks())
	}
	for i, id := range topology.Moved(first, second) {
		if id != schema.LinkID(i) {
			t.Fatalf("%s was link %d, is %d", first.LinkName(schema.LinkID(i)), i, id)
		}
	}
}

func TestIBNetDiscoverRefuses(t *testing.T) {
	cable := func(port, peer, peerPort int) string {
		return fmt.Sprintf("[%d] \"S-%016d\"[%d] # \"s\" lid 2 4xHDR\n", port, peer, peerPort)
	}
	const head = "switchguid=0x1(1)\nSwitch 36 \"S-0000000000000001\" # \"leaf\" base port 0 lid 1 lmc 0\n"
	for _, c := range []struct{ text, want string }{
		{"[1] \"S-2\"[1] # \"x\" lid 1 4xHDR\n", "in.txt:1"},
		{head + "[1] nothing\n", "in.txt:3"},
		{head + "[] \"S-0000000000000002\"[1]\n", "in.txt:3"},
		{"hello\n", `unexpected "hello"`},
		{head + "[1] \"S-00000000\xff0000002\"[1] # \"s\" lid 2 4xHDR\n", "in.txt:3: port line"},
		{strings.Replace(head, "S-0", "S-\x00", 1) + cable(1, 2, 1), "in.txt:2: node"},
		{head + strings.Repeat("x", 1<<20) + "\n", "in.txt:3: the line is longer than 1048576 bytes; the file is damaged"},
		{head + cable(1, 2, 1) + cable(2, 3, 1) + cable(1, 4, 2) + cable(2, 4, 3), "disagree"},
		{"", "no links"},
	} {
		_, _, err := topology.ReadIBNetDiscover(strings.NewReader(c.text), "in.txt", "ib0", nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q in it", c.text, err, c.want)
		}
	}
}

func FuzzReadIBNetDiscover(f *testing.F) {
	f.Add(sample(f, "ports.txt"))
	f.Add(sample(f, "plain.txt"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, _, err := topology.ReadIBNetDiscover(bytes.NewReader(text), "in.txt", "ib0", nil)
		if err == nil && g.NumLinks()%2 != 0 {
			t.Error("a cable has two directions")
		}
	})
}

func BenchmarkReadIBNetDiscover(b *testing.B) {
	g := parse(b, "fattree:k=36")
	text := listing(g, rand.New(rand.NewSource(1)))
	b.Run(fmt.Sprintf("links=%d", g.NumLinks()), func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			readIB(b, text, nil)
		}
		b.ReportMetric(float64(g.NumLinks())*float64(b.N)/b.Elapsed().Seconds(), "ports/s")
	})
}

// A truncated listing names devices that it does not describe. With few of them it is taken, with a warning.
func TestAListingCutShort(t *testing.T) {
	var whole strings.Builder
	fmt.Fprint(&whole, "switchguid=0x1(1)\nSwitch\t36 \"S-0000000000000001\"\t\t# \"leaf\" base port 0 lid 1 lmc 0\n")
	for n := range 12 {
		fmt.Fprintf(&whole, "[%d]\t\"H-%016x\"[1](%x) \t\t# \"node%d\" lid %d 4xHDR\n", n+1, n+100, n+100, n, n+2)
	}
	cut := whole.String()
	for n := range 12 {
		fmt.Fprintf(&whole, "\ncaguid=0x%x\nCa\t1 \"H-%016x\"\t\t# \"node%d\"\n[1](%x) \t\"S-0000000000000001\"[%d]\t\t# lid %d lmc 0 \"leaf\" lid 1 4xHDR\n", n+100, n+100, n, n+100, n+1, n+2)
	}
	if g, _, err := topology.ReadIBNetDiscover(strings.NewReader(whole.String()), "in.txt", "ib0", nil); err != nil || g.NumDevices() != 13 {
		t.Errorf("the whole: %v", err)
	}
	most := whole.String()[:strings.LastIndex(whole.String(), "\ncaguid")]
	if _, warnings, err := topology.ReadIBNetDiscover(strings.NewReader(most), "in.txt", "ib0", nil); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "1 of 13 devices") {
		t.Errorf("most: %v, warnings %q", err, warnings)
	}
	if _, _, err := topology.ReadIBNetDiscover(strings.NewReader(cut), "in.txt", "ib0", nil); err == nil || !strings.Contains(err.Error(), "in.txt: 12 of 13 devices") || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("cut: %v", err)
	}
}
