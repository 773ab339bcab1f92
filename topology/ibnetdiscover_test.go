package topology_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

func fixture(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../shared/fixtures/" + path)
	if err != nil {
		t.Fatalf("fixture: %v; the fixtures lie in ../shared/fixtures beside the project", err)
	}
	return b
}

func readIB(t testing.TB, text []byte, prev *topology.Graph) *topology.Graph {
	t.Helper()
	g, _, err := topology.ReadIBNetDiscover(bytes.NewReader(text), "in.txt", "ib0", prev)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestReadSelene(t *testing.T) {
	g := readIB(t, fixture(t, "topology/ibnetdiscover/selene.compute.txt"), nil)
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
	byGUID, ok := g.FindPort("1c34da0300728866", "39")
	if !ok || byGUID != ports {
		t.Error("a device is not found by its GUID")
	}
}

func TestReadPortList(t *testing.T) {
	g := readIB(t, fixture(t, "topology/ibnetdiscover/treydock/test.out"), nil)
	ports, ok := g.FindPort("ib-i1l1s01", "10")
	if !ok || g.Device(g.Link(ports.Egress).To).Name != "o0001 HCA-1" || g.NumLinks() != 8 {
		t.Errorf("%d links, port 10 leads to %+v", g.NumLinks(), g.Link(ports.Egress))
	}
}

// In this file two switches claim the one port of an adapter.
func TestContradictionCostsOneCable(t *testing.T) {
	g, warnings, err := topology.ReadIBNetDiscover(bytes.NewReader(fixture(t, "topology/ibnetdiscover/treydock/test2.out")), "test2.out", "ib0", nil)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "line 5") || g.NumLinks() != 4 {
		t.Errorf("%v, %q", err, warnings)
	}
}

// A cable that comes up later gets a new number and leaves the others alone.
func TestAppearanceKeepsNumbers(t *testing.T) {
	text := string(fixture(t, "topology/ibnetdiscover/topograph-ndr.txt"))
	full := readIB(t, []byte(text), nil)
	var less []string
	for i, line := range strings.SplitAfter(text, "\n") {
		if i%7 != 3 || !strings.HasPrefix(line, "[") {
			less = append(less, line)
		}
	}
	// A line may go from one end only, so take both ends of one adapter.
	const gone = "e09d7303007a4bd8"
	kept := less[:0]
	for _, line := range less {
		if !strings.Contains(line, gone) {
			kept = append(kept, line)
		}
	}
	first := readIB(t, []byte(strings.Join(kept, "")), nil)
	second := readIB(t, []byte(text), first)
	if second.NumLinks() != full.NumLinks() || second.NumLinks() == first.NumLinks() {
		t.Fatalf("%d links, then %d, of %d", first.NumLinks(), second.NumLinks(), full.NumLinks())
	}
	for id := range schema.LinkID(first.NumLinks()) {
		if first.PortKey(id) != second.PortKey(id) {
			t.Fatalf("link %d was %v, is %v", id, first.PortKey(id), second.PortKey(id))
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
	f.Add(fixture(f, "topology/ibnetdiscover/treydock/test.out"))
	f.Add(fixture(f, "counters/ibsim/small/ibnetdiscover.txt"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, _, err := topology.ReadIBNetDiscover(bytes.NewReader(text), "in.txt", "ib0", nil)
		if err == nil && g.NumLinks()%2 != 0 {
			t.Error("a cable has two directions")
		}
	})
}

func BenchmarkReadIBNetDiscover(b *testing.B) {
	text := fixture(b, "topology/ibnetdiscover/selene.compute.txt")
	b.Run("selene", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			readIB(b, text, nil)
		}
		b.ReportMetric(25704*float64(b.N)/b.Elapsed().Seconds(), "ports/s")
	})
}
