package perfquery

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/internal/test/repo"
)

// sample reads a file in testdata.
func sample(t testing.TB, name string) []byte { return readFile(t, filepath.Join("testdata", name)) }

func recorded(t testing.TB, elem ...string) []byte { return readFile(t, repo.Fixture(t, elem...)) }

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (b *block) get(name string) (value uint64, ok bool) {
	for _, c := range b.counters {
		if c.name == name {
			return c.value, true
		}
	}
	return 0, false
}

// blocksCase is the expected blocks of a file.
type blocksCase struct {
	file           string
	ports          []int
	extended, wide bool
	lastPort       string // a counter of the last block
	lastValue      uint64
}

func TestParseBlocks(t *testing.T) {
	for _, c := range []blocksCase{
		{"wide.txt", []int{1, 36}, true, true, "PortXmitWait", 7},
		{"no-wide-wait.txt", []int{1}, true, false, "PortXmitData", 37000111222333},
		{"empty.txt", nil, false, false, "", 0},
		{"extended.txt", []int{1}, true, false, "PortXmitData", 720},
		{"plain.txt", []int{1}, false, false, "PortXmitWait", 424242},
		{"no-wait.txt", []int{1}, false, false, "PortXmitPkts", 20},
	} {
		c.check(t, sample(t, c.file))
	}
}

func TestParseRecordedBlocks(t *testing.T) {
	for _, c := range []blocksCase{
		{"perfquery/0x7cfe9003009ce5b0.out", []int{1, 2}, true, true, "PortXmitWait", 36510964},
		{"perfquery/0x7cfe9003003b4b96.out", []int{1}, true, false, "PortXmitData", 37108676853855},
		{"perfquery/0x506b4b0300cc02a6.out", nil, false, false, "", 0},
		{"ibsim/small/perfquery_x_sw.txt", []int{1}, true, false, "PortXmitData", 1296},
		{"ibsim/small/set_perfquery_std_sw.txt", []int{1}, false, false, "PortXmitWait", 123456},
		{"ibsim/small/perfquery_std_hca.txt", []int{1}, false, false, "PortXmitPkts", 19},
	} {
		c.check(t, recorded(t, "counters", filepath.FromSlash(c.file)))
	}
}

func (c *blocksCase) check(t *testing.T, text []byte) {
	t.Helper()
	blocks, err := parseBlocks(text)
	if err != nil || len(blocks) != len(c.ports) {
		t.Errorf("%s: %d blocks, %v", c.file, len(blocks), err)
		return
	}
	for i, b := range blocks {
		if b.port != c.ports[i] || b.extended != c.extended || b.hasWideWait() != c.wide || !b.whole() {
			t.Errorf("%s: block %d: %+v", c.file, i, b)
		}
	}
	if len(blocks) == 0 {
		return
	}
	if v, ok := blocks[len(blocks)-1].get(c.lastPort); !ok || v != c.lastValue {
		t.Errorf("%s: %s = %d (%v), want %d", c.file, c.lastPort, v, ok, c.lastValue)
	}
}

func TestParseBlocksRefuses(t *testing.T) {
	good := "# Port counters: Lid 2 port 1 (CapMask: 0x1300)\nPortXmitWait:....................7\n"
	for text, want := range map[string]string{
		"PortXmitWait:....7\n":                                "line 1",
		good + "PortRcvData....7\n":                           "line 3",
		good + "PortRcvData: 7\n":                             "line 3",
		good + "PortRcvData:....x\n":                          "line 3",
		good + "PortRcvData:....-7\n":                         "line 3",
		good + "PortXmitWait:....8\n":                         "duplicated",
		good + "# Port xmit data SL counters: ...":            "line 3: header",
		"# Port counters: Lid 2 port 256 (CapMask: 0x1300)\n": "line 1",
		"# Port counters: Lid 2 port 1\n":                     "line 1",
		"# Port counters: Lid 2 port 1 (CapMask: 0xyz)\n":     "line 1",
		good + good + "!":                                     "line 5",
	} {
		blocks, err := parseBlocks([]byte(text))
		if !errors.Is(err, collectors.ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if whole := strings.Count(text, good) - 1; whole > 0 && len(blocks) != whole {
			t.Errorf("%q: %d blocks, want the %d before the fault", text, len(blocks), whole)
		}
	}
}

func FuzzParseBlocks(f *testing.F) {
	for _, file := range []string{"wide.txt", "extended.txt", "plain.txt", "refused.txt"} {
		f.Add(sample(f, file))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		blocks, _ := parseBlocks(text)
		for i := range blocks {
			if blocks[i].port > 255 || len(blocks[i].counters) > len(text) {
				t.Errorf("%+v", blocks[i])
			}
			blocks[i].put(&collectors.Reading{})
		}
	})
}

// The sample has a description surrounded by blanks, two adapters with the same
// description, an aggregation node and a switch without cables.
func TestParseInventory(t *testing.T) {
	targets, err := parseInventory(sample(t, "inventory.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range targets {
		names = append(names, n.name)
	}
	if want := []string{"leaf-7", "node0 HCA-1", "a0000000000000c1", "a0000000000000c3"}; !slices.Equal(names, want) {
		t.Errorf("nodes %q, want %q", names, want)
	}
	leaf, dual := targets[0], targets[2]
	if !leaf.isSwitch || leaf.guid != "a0000000000000b0" || !slices.Equal(leaf.ports, []targetPort{{1, leaf.guid, false}, {2, leaf.guid, false}, {12, leaf.guid, false}, {41, leaf.guid, false}}) {
		t.Errorf("%+v", leaf)
	}
	if dual.isSwitch || !slices.Equal(dual.ports, []targetPort{{1, "a0000000000000c1", false}, {2, "a0000000000000c2", false}}) {
		t.Errorf("%+v", dual)
	}
}

func TestParseRecordedInventory(t *testing.T) {
	targets, err := parseInventory(recorded(t, "counters", "ibsim", "small", "ibnetdiscover.txt"))
	if err != nil || len(targets) != 6+16 {
		t.Fatalf("%d nodes, %v; want 6 switches and 16 adapters", len(targets), err)
	}
	leaf, host := targets[4], targets[len(targets)-1]
	if leaf.name != "leaf0" || leaf.guid != "0c42a10300100000" || !leaf.isSwitch || len(leaf.ports) != 6 || leaf.ports[5] != (targetPort{6, leaf.guid, false}) {
		t.Errorf("%+v", leaf)
	}
	if host.isSwitch || len(host.ports) != 1 || host.ports[0].guid == host.guid || !strings.HasPrefix(host.name, "node") {
		t.Errorf("%+v", host)
	}

	targets, err = parseInventory(recorded(t, "topology", "ibnetdiscover", "selene.compute.txt"))
	if err != nil {
		t.Fatal(err)
	}
	switches, names := 0, map[string]bool{}
	for _, n := range targets {
		if n.isSwitch {
			switches++
		}
		if names[n.name] || strings.Contains(n.name, aggregationNode) {
			t.Errorf("%q is duplicated, or no host of traffic", n.name)
		}
		names[n.name] = true
	}
	if switches != 666 || len(targets) != 666+4341-666 {
		t.Errorf("%d switches of %d nodes", switches, len(targets))
	}
	if !names["selene-cache-02 mlx5_1"] || names["selene-cache-02 mlx5_1 "] {
		t.Error("blanks around a description are no part of it")
	}
}

func TestParseInventoryRefuses(t *testing.T) {
	node := "Switch\t4 \"S-0c42a10300200001\"\t\t# \"spine1\" base port 0 lid 4 lmc 0\n"
	adapter := "Ca\t1 \"H-0c42a10300300000\"\t\t# \"node0 mlx5_0\"\n"
	for text, want := range map[string]string{
		"":                                       "no node",
		node:                                     "no node",
		"[1]\t\"S-0c42a10300100000\"[6]\n":       "line 1",
		"Switch 4\n":                             "line 1",
		strings.Replace(node, "S-0c", "S-xx", 1): "line 1",
		node + "[x]\t\"S-0c\"[6]\n":              "line 2",
		node + "[0]\t\"S-0c\"[6]\n":              "line 2",
		node + "[256]\t\"S-0c\"[6]\n":            "line 2",
		adapter + "[1]\t\"S-0c\"[6]\n":           "line 2",
	} {
		if _, err := parseInventory([]byte(text)); !errors.Is(err, collectors.ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParseInventory(f *testing.F) {
	f.Add(sample(f, "inventory.txt"))
	f.Fuzz(func(t *testing.T, text []byte) {
		targets, err := parseInventory(text)
		for _, n := range targets {
			if n.name == "" || len(n.ports) == 0 || len(portList(n.ports)) == 0 {
				t.Errorf("%+v (%v)", n, err)
			}
		}
	})
}

// Two switches with the same description are named by their GUIDs.
func TestNodesAreNamedApart(t *testing.T) {
	text := ""
	for _, guid := range []string{"0000000000000001", "0000000000000002"} {
		text += "Switch\t4 \"S-" + guid + "\"\t\t# \"MQM8700\" base\n[1]\t\"S-" + guid + "\"[1]\t# \"x\" lid 1 4xHDR\n"
	}
	targets, err := parseInventory([]byte(text + "Switch\t4 \"S-0000000000000003\"\t\t# \"\" base\n[1]\t\"S-0000000000000001\"[2]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range targets {
		if want := []string{"0000000000000001", "0000000000000002", "0000000000000003"}[i]; n.name != want {
			t.Errorf("node %d is called %q, want %q", i, n.name, want)
		}
	}
}
