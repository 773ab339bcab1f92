package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func readDiag(t *testing.T, text string, prev *topology.Graph) (*topology.Graph, []string) {
	t.Helper()
	g, warnings, err := topology.ReadIBDiagnet(strings.NewReader(text), "db_csv", "ib0", prev)
	if err != nil {
		t.Fatal(err)
	}
	return g, warnings
}

// Both tools' files of one fabric give the same version: the same devices and links with the same numbers, names and rates.
func TestIBDiagnetIsTheFabricOfIBNetDiscover(t *testing.T) {
	checkIBDiagnet(t, readIB(t, sample(t, "plain.txt"), nil))
}

func TestRecordedIBDiagnetIsTheFabricOfIBNetDiscover(t *testing.T) {
	for _, file := range [][]string{{"selene.compute.txt"}, {"topograph-ndr.txt"}, {"treydock", "test.out"}} {
		checkIBDiagnet(t, readIB(t, recorded(t, file...), nil))
	}
}

func checkIBDiagnet(t *testing.T, g *topology.Graph) {
	t.Helper()
	for _, prev := range []*topology.Graph{nil, g} {
		diag, warnings := readDiag(t, topologytest.IBDiagnet(g), prev)
		if diag.Version() != g.Version() || len(warnings) > 0 {
			d := topology.Diff(g, diag)
			t.Errorf("version %x, want %x: %v %q; warnings %q", diag.Version(), g.Version(), &d, d.Lines(g, diag), warnings)
		}
	}
}

func TestIBDiagnetTolerates(t *testing.T) {
	g := readIB(t, sample(t, "plain.txt"), nil)
	nodes, ports, links := topologytest.IBDiagnetNodes(g), topologytest.IBDiagnetPorts(g), topologytest.IBDiagnetLinks(g)
	want, _ := readDiag(t, nodes+ports+links, nil)
	if s := topology.Summarize(want); s.Switches != 3 || s.ChannelAdapters != 5 || s.Links != 16 {
		t.Fatalf("%+v", s)
	}
	rows := strings.Split(links, "\n")
	for name, c := range map[string]struct{ text, warning string }{
		"order":          {links + ports + nodes, ""},
		"Windows, BOM":   {"\ufeff" + strings.ReplaceAll(nodes+ports+links, "\n", "\r\n"), ""},
		"upper case":     {nodes + ports + strings.ReplaceAll(links, "NodeGuid", "NodeGUID"), ""},
		"other sections": {"START_CABLE_INFO\n\"a\n,,,\nEND_CABLE_INFO\n" + nodes + ports + links + "START_X\n1,2", ""},
		"a short row":    {nodes + ports + strings.Replace(links, "END_LINKS", "0x1\nEND_LINKS", 1), "left out: 1 row of NODES, PORTS and LINKS"},
		"N/A":            {nodes + strings.Replace(ports, ",0,1,280", ",N/A,1,280", 1) + links, "left out: 1 row "},
		"both ends":      {nodes + ports + strings.Replace(links, "END_LINKS", flipped(rows[2:len(rows)-4])+"END_LINKS", 1), ""},
	} {
		got, warnings := readDiag(t, c.text, nil)
		if got.Version() != want.Version() || len(warnings) > 0 != (c.warning != "") || !strings.HasPrefix(strings.Join(warnings, "\n"), c.warning) {
			d := topology.Diff(want, got)
			t.Errorf("%s: %v, warnings %q, want %q", name, &d, warnings, c.warning)
		}
	}
}

// flipped lists links from their other ends.
func flipped(rows []string) string {
	text := ""
	for _, row := range rows {
		f := strings.Split(row, ",")
		text += fmt.Sprintf("%s,%s,%s,%s\n", f[2], f[3], f[0], f[1])
	}
	return text
}

func TestIBDiagnetSaysWhatIsMissing(t *testing.T) {
	g := readIB(t, sample(t, "plain.txt"), nil)
	nodes, ports, links := topologytest.IBDiagnetNodes(g), topologytest.IBDiagnetPorts(g), topologytest.IBDiagnetLinks(g)
	without, warnings := readDiag(t, nodes+links, nil)
	if !strings.HasPrefix(strings.Join(warnings, "\n"), "no section PORTS: the rates of links are unknown") || without.Link(0).CapacityBytesPerSecond != 0 {
		t.Errorf("without PORTS: %q", warnings)
	}
	if _, warnings = readDiag(t, nodes+strings.ReplaceAll(ports, "3841,", "3841,3")+links, nil); !strings.Contains(strings.Join(warnings, "\n"), "a code of width or speed that is not known") {
		t.Errorf("unknown speeds: %q", warnings)
	}
	first := strings.Index(nodes, "\n\"") + 1
	fewer := nodes[:first] + nodes[first+strings.IndexByte(nodes[first:], '\n')+1:]
	if _, warnings = readDiag(t, fewer+ports+links, nil); !strings.Contains(strings.Join(warnings, "\n"), "LINKS has 1 device that NODES has not, such as ") {
		t.Errorf("a device is missing: %q", warnings)
	}
}

func TestIBDiagnetRejects(t *testing.T) {
	g := readIB(t, sample(t, "plain.txt"), nil)
	nodes, ports, links := topologytest.IBDiagnetNodes(g), topologytest.IBDiagnetPorts(g), topologytest.IBDiagnetLinks(g)
	whole := nodes + ports + links
	for name, c := range map[string]struct{ text, want string }{
		"cut in LINKS":   {whole[:len(whole)-40], "db_csv: section LINKS of line"},
		"cut in PORTS":   {nodes + ports[:len(ports)/2], "db_csv: section PORTS of line"},
		"cut before":     {nodes + ports, "db_csv: no section LINKS; it has NODES, PORTS: run ibdiagnet again"},
		"cut earlier":    {nodes + "START_X\n", "db_csv: no section LINKS, and the last one, X, has no end; the file is truncated"},
		"another file":   {"x\n", "db_csv: no section NODES, nor any other; "},
		"no nodes":       {ports + links, "db_csv: no section NODES; "},
		"two reports":    {whole + whole, "db_csv:"},
		"no column":      {strings.Replace(whole, "NodeGuid1", "GuidA", 1), "section LINKS has no column NodeGuid1; it has GuidA, PortNum1, NodeGuid2, PortNum2"},
		"mostly garbage": {nodes + ports + "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n" + strings.Repeat("x,y,z,u\n", 20) + "END_LINKS\n", "cannot be read, the first in line"},
		"no links":       {nodes + ports + "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\nEND_LINKS\n", "has no links"},
		"empty":          {"START_NODES", "section NODES of line 1 has no END_NODES; the file is truncated"},
	} {
		_, _, err := topology.ReadIBDiagnet(strings.NewReader(c.text), "db_csv", "ib0", nil)
		if err == nil || !strings.HasPrefix(err.Error(), "db_csv:") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func FuzzReadIBDiagnet(f *testing.F) {
	g := readIB(f, sample(f, "plain.txt"), nil)
	f.Add([]byte(topologytest.IBDiagnet(g)))
	f.Fuzz(func(t *testing.T, text []byte) {
		if g, _, err := topology.ReadIBDiagnet(strings.NewReader(string(text)), "db_csv", "ib0", nil); err == nil && g.NumLinks() == 0 {
			t.Fatal("a fabric without links")
		}
	})
}
