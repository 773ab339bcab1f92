package nodes_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

const cables = `
vendid=0x2c9
switchguid=0xc42a10300100000(c42a10300100000)
Switch	4 "S-0c42a10300100000"		# "leaf0 rack 1" base port 0 lid 2 lmc 0
[1]	"H-0c42a10300300000"[1](c42a10300300001) 		# "node0 mlx5_0" lid 5 4xHDR
[2]	"H-0c42a10300300010"[1](c42a10300300011) 		# "node0 mlx5_1" lid 6 4xHDR
[3]	"H-0c42a10300300020"[1](c42a10300300021) 		# "node1 mlx5_0" lid 7 4xHDR

vendid=0x2c9
caguid=0xc42a10300300000
Ca	1 "H-0c42a10300300000"		# "node0 mlx5_0"
[1](c42a10300300001) 	"S-0c42a10300100000"[1]		# lid 5 lmc 0 "leaf0 rack 1" lid 2 4xHDR

vendid=0x2c9
caguid=0xc42a10300300010
Ca	1 "H-0c42a10300300010"		# "node0 mlx5_1"
[1](c42a10300300011) 	"S-0c42a10300100000"[2]		# lid 6 lmc 0 "leaf0 rack 1" lid 2 4xHDR

vendid=0x2c9
caguid=0xc42a10300300020
Ca	1 "H-0c42a10300300020"		# "node1 mlx5_0"
[1](c42a10300300021) 	"S-0c42a10300100000"[3]		# lid 7 lmc 0 "leaf0 rack 1" lid 2 4xHDR
`

func fabrics(t *testing.T) []*topology.Graph {
	t.Helper()
	ib, warnings, err := topology.ReadIBNetDiscover(strings.NewReader(cables), "cables", "ib", nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	torus := topologytest.Parse(t, "gemini", "torus:4x4x4")
	return []*topology.Graph{ib, torus}
}

func TestDevice(t *testing.T) {
	m, err := nodes.ReadMap(strings.NewReader("# Gemini\nnid[00012-00013]\t3,3,3\n\nlogin\tnode1 mlx5_0\nlogin\t0,0,0\nr[1-2]\tn[8-9]\nfar\t1,1,1\nfar.example.org\t3,3,3\n"), "map")
	if err != nil {
		t.Fatal(err)
	}
	r := nodes.New(fabrics(t), m)
	for _, c := range []struct {
		node   string
		want   string // in ib; in gemini
		reason nodes.Reason
	}{
		{"node0", "node0 mlx5_0,node0 mlx5_1;", ""}, // a node with two adapters
		{"node1", "node1 mlx5_0;", ""},
		{"node1.cluster.example.org", "node1 mlx5_0;", ""},
		{"node0 mlx5_1", "node0 mlx5_1;", ""},
		{"0xc42a10300300020", "node1 mlx5_0;", ""}, // as printed by OpenSM
		{"0c42a10300300020", "node1 mlx5_0;", ""},
		{"leaf0 rack 1", "leaf0 rack 1;", ""},
		{"leaf0", ";", nodes.Unknown}, // the name of a switch is not a host and adapter
		{"9,1,1", ";", nodes.Unknown},
		{"3,3,3", ";3,3,3", ""},
		{"nid00013", ";3,3,3", ""},
		{"login", "node1 mlx5_0;0,0,0", ""},
		{"login.example.org", "node1 mlx5_0;0,0,0", ""},
		{"far.example.org", ";3,3,3", ""}, // its own line in the map, not that of its short name
		{"r2", ";", nodes.NoSuch},
		{"", ";", nodes.Unknown},
	} {
		got, reason := r.Device(c.node)
		for _, devices := range got {
			slices.Sort(devices)
		}
		if text := strings.Join(got[0], ",") + ";" + strings.Join(got[1], ","); text != c.want || reason != c.reason {
			t.Errorf("%q: %q, %q; want %q, %q", c.node, text, reason, c.want, c.reason)
		}
	}
	missing := nodes.Missing{}
	devices := r.Devices([]string{"nid00012", "nid00013", "node1", "x", "x", "r1"}, missing)
	if diff := cmp.Diff([][]string{{"node1 mlx5_0"}, {"3,3,3"}}, devices); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(nodes.Missing{nodes.Unknown: {"x": 2}, nodes.NoSuch: {"r1": 1}}, missing); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a log says of a node's port is of one adapter at most, and of none where it does not say of which.
func TestFailedAt(t *testing.T) {
	r := nodes.New(fabrics(t), nodes.Map{"both": {"node1 mlx5_0", "3,3,3"}})
	for _, c := range []struct {
		node, port string
		kind       schema.EventKind
		want       string // of ib; of gemini
	}{
		{"leaf0 rack 1", "3", schema.LinkFailed, "leaf0 rack 1:3;"},
		{"leaf0 rack 1", "9", schema.LinkFailed, ";"}, // not all of its links
		{"node0", "mlx5_1/1", schema.LinkFailed, "node0 mlx5_1:1;"},
		{"node0", "mlx5_1", schema.LinkRestored, "node0 mlx5_1:1;"},
		{"node0", "mlx5_7/1", schema.LinkFailed, ";"}, // an adapter in another fabric
		{"node1", "mlx5_7/1", schema.LinkFailed, ";"},
		{"node0", "1", schema.LinkFailed, ";"}, // of which of the two?
		{"node0", "ib1", schema.LinkFailed, ";"},
		{"node0", "0000:3b:00.0/1", schema.LinkFailed, ";"},
		{"node1", "0000:3b:00.0/1", schema.LinkFailed, "node1 mlx5_0:1;"}, // it has only one
		{"node1", "ib0", schema.LinkFailed, "node1 mlx5_0:1;"},
		{"node1", "eth2", schema.LinkFailed, ";"}, // of the management network
		{"node1", "ens1f0", schema.LinkRestored, ";"},
		{"node0 mlx5_1", "1", schema.LinkFailed, "node0 mlx5_1:1;"},
		{"both", "X+", schema.LinkFailed, ";3,3,3:X+"},
		{"both", "ib0", schema.LinkFailed, ";"},
		{"3,3,3", "l24", schema.LinkFailed, ";"},
		{"node0", "", schema.LinkFailed, "node0 mlx5_0:,node0 mlx5_1:;"},
		{"node0", "1", schema.NodeFailed, "node0 mlx5_0:,node0 mlx5_1:;"},
	} {
		devices, reason := r.Device(c.node)
		if reason != "" {
			t.Fatal(c.node, reason)
		}
		var texts [2]string
		for i, places := range r.FailedAt(devices, schema.Failure{Kind: c.kind, Port: c.port}) {
			var of []string
			for _, p := range places {
				of = append(of, p.Device+":"+p.Port)
			}
			slices.Sort(of)
			texts[i] = strings.Join(of, ",")
		}
		if got := strings.Join(texts[:], ";"); got != c.want {
			t.Errorf("%s at %q of %q: %q, want %q", c.kind, c.port, c.node, got, c.want)
		}
	}
	if !r.IsSwitch(0, "leaf0 rack 1") || r.IsSwitch(0, "node1 mlx5_0") {
		t.Error("a leaf is no switch, or a host is one")
	}
}

func TestReadMap(t *testing.T) {
	for _, bad := range []string{"node1 device\n", "\tdevice\n", "n[1-3]\td[1-2]\n", "n[1-\td\n", strings.Repeat("n", 1<<17) + "\td\n", "n\td\te\n", "n\t\xffd\n", "n\x001\t\x00d\n"} {
		if _, err := nodes.ReadMap(strings.NewReader("ok\tdevice\n"+bad), "nodes.tsv"); err == nil || !strings.Contains(err.Error(), "nodes.tsv:2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"9,1,1 10,1,1", "9,1,1 10,1,1"},
		{"nid[00012-00014]", "nid00012 nid00013 nid00014"},
		{"node[1-3,7,10-12]-ib[0-1]", "node1-ib0 node1-ib1 node2-ib0 node2-ib1 node3-ib0 node3-ib1 node7-ib0 node7-ib1 node10-ib0 node10-ib1 node11-ib0 node11-ib1 node12-ib0 node12-ib1"},
		{"a[1-2],b x", "a1 a2 b x"},
		{"a1,b2 x", "a1 b2 x"},
	} {
		got, err := nodes.Expand(strings.Fields(c.in))
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, %v", c.in, got, err)
		}
	}
	if _, err := nodes.Expand([]string{"n[1-"}); err == nil {
		t.Error("a list that is none was taken")
	}
}

// Very many unknown names take bounded memory.
func TestMissingIsBounded(t *testing.T) {
	m := nodes.Missing{}
	for i := range 5000 {
		m.Add(fmt.Sprint(i), nodes.Unknown)
	}
	if n := len(m[nodes.Unknown]); n > 1001 || m[nodes.Unknown][""] != 4000 {
		t.Errorf("%d names are kept, %d others counted", n, m[nodes.Unknown][""])
	}
}

func TestOpenMap(t *testing.T) {
	files := fstest.MapFS{"nodes.tsv": {Data: []byte("\ufeffnid1\tn1\r\n")}}
	if m, err := nodes.OpenMap(files.Open, "nodes.tsv"); err != nil || !slices.Equal(m["nid1"], []string{"n1"}) {
		t.Errorf("%v %v", m, err)
	}
	if m, err := nodes.OpenMap(files.Open, ""); m != nil || err != nil {
		t.Errorf("without a name: %v %v", m, err)
	}
	if _, err := nodes.OpenMap(files.Open, "other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Hosts are found whatever their case and domain, in a log or a scheduler and in the topology, unless that leaves several.
func TestHostsInOtherSpellings(t *testing.T) {
	text := "device,port,peer,peer_port\n"
	for i, host := range []string{"GPU1 mlx5_0", "GPU1 mlx5_1", "gpu2.dc.example.org", "twin.a.example.org", "twin.b.example.org", "10.0.0.1", "10.0.0.2"} {
		text += fmt.Sprintf("leaf1.dc.example.org,%d,%s,1\n", i, host)
	}
	g, warnings, err := topology.ReadCables(strings.NewReader(text), "cables", "ib", nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	r := nodes.New([]*topology.Graph{g}, nil)
	for node, want := range map[string]string{
		"gpu1": "GPU1 mlx5_0,GPU1 mlx5_1", "gpu1.dc.example.org": "GPU1 mlx5_0,GPU1 mlx5_1", "gpu1 mlx5_1": "GPU1 mlx5_1", "gpu1 MLX5_1": "",
		"gpu2": "gpu2.dc.example.org", "GPU2.ib.example.org": "gpu2.dc.example.org", "leaf1": "leaf1.dc.example.org", "Leaf1.dc.example.org": "leaf1.dc.example.org",
		"twin": "", "twin.b.example.org": "twin.b.example.org", "TWIN.b.example.org": "", "gpu01": "", "10.0.0.3": "", "10": "",
	} {
		got, _ := r.Device(node)
		if text := strings.Join(got[0], ","); text != want {
			t.Errorf("%q: %q, want %q", node, text, want)
		}
	}
}
