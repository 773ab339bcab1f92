package topology_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/giverny/giverny/topology"
)

// For a file without levels these are derived from the cables.
func TestLevelsByCables(t *testing.T) {
	for _, spec := range []string{"fattree:k=8", "fattree:leaves=4,hosts=4,spines=4", "dragonfly:groups=9,routers=4,hosts=2"} {
		t.Run(spec, func(t *testing.T) {
			want := parse(t, spec)
			var out bytes.Buffer
			if err := topology.Write(&out, want); err != nil {
				t.Fatal(err)
			}
			bare := regexp.MustCompile(`, level: -?\d+, group: -?\d+`).ReplaceAllString(out.String(), "")
			got := readYAML(t, bare)
			for d := range topology.DeviceID(want.NumDevices()) {
				if got, want := got.Device(d), want.Device(d); got.Level != want.Level {
					t.Fatalf("%s: level %d, want %d", want.Name, got.Level, want.Level)
				}
			}
		})
	}
}

// Levels given in a file take precedence over its cables.
func TestStatedLevelsStand(t *testing.T) {
	g := readYAML(t, file(`
- {name: a, kind: switch, level: 2}
- {name: b, kind: switch}
- {name: h, kind: host}`, `
- [a, "1", b, "1", 1, switch]
- [b, "1", a, "1", 1, switch]
- [h, "1", b, "2", 1, host]
- [b, "2", h, "1", 1, host]`))
	if a, b := g.Device(0).Level, g.Device(1).Level; a != 2 || b != -1 {
		t.Errorf("levels %d and %d, want 2 as stated and -1", a, b)
	}
}

// A chain of 300 switches, each cabled to the next in one direction only, has levels, saturating at the highest.
func TestLevelsOfAChain(t *testing.T) {
	var devices, links strings.Builder
	devices.WriteString("\n- {name: s0, kind: host}")
	for i := range 300 {
		fmt.Fprintf(&devices, "\n- {name: s%d, kind: switch}", i+1)
		fmt.Fprintf(&links, "\n- [s%d, \"1\", s%d, \"2\", 1, switch]", i, i+1)
	}
	g := readYAML(t, file(devices.String(), links.String()))
	for d, want := range map[topology.DeviceID]int8{0: 0, 1: 1, 2: 2, 4: 4, 300: 127} {
		if got := g.Device(d).Level; got != want {
			t.Errorf("%s: level %d, want %d", g.Device(d).Name, got, want)
		}
	}
}

func TestAHostWithoutLevelIsLevel0(t *testing.T) {
	g := readYAML(t, file("\n- {name: leaf0, kind: switch, level: 1}\n- {name: h0, kind: host}", "\n- [leaf0, 1, h0, 1, 1e10, host]\n- [h0, 1, leaf0, 1, 1e10, host]"))
	for d, want := range []int8{1, 0} {
		if got := g.Device(topology.DeviceID(d)).Level; got != want {
			t.Errorf("%s: level %d, want %d", g.Device(topology.DeviceID(d)).Name, got, want)
		}
	}
}

func TestALinkWithoutOppositeIsReported(t *testing.T) {
	const devices, link = "\n- {name: leaf0, kind: switch}\n- {name: h 0, kind: host}", "\n- [leaf0, 1, h 0, mlx5_0, 1e10, host]"
	_, warnings, err := topology.ReadYAML(strings.NewReader(file(devices, link)), "fabric.yaml", "", nil)
	if want := `1 of 1 links have none in the opposite direction, such as that from port "1" of "leaf0" to port "mlx5_0" of "h 0"; a cable is two links, so add ["h 0", "mlx5_0", "leaf0", "1", ...]`; err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0], want) {
		t.Errorf("%q, %v; want %s", warnings, err, want)
	}
	for _, text := range []string{file(devices, link+"\n- [h 0, mlx5_0, leaf0, 1, 1e10, host]"), "duplex: true\n" + file(devices, link)} {
		if _, warnings, err := topology.ReadYAML(strings.NewReader(text), "fabric.yaml", "", nil); err != nil || len(warnings) > 0 {
			t.Errorf("%q, %v", warnings, err)
		}
	}
}

func file(devices, links string) string {
	return "giverny_topology: 1\ndevices:" + devices + "\nlinks:" + links + "\n"
}

func readYAML(t *testing.T, text string) *topology.Graph {
	t.Helper()
	g, _, err := topology.ReadYAML(strings.NewReader(text), "fabric.yaml", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wire reads a fabric of cables, each "device peer"; names with h are hosts.
func wire(t *testing.T, prev *topology.Graph, cables ...string) *topology.Graph {
	t.Helper()
	var text strings.Builder
	text.WriteString("device,port,peer,peer_port,peer_kind\n")
	for _, c := range cables {
		device, peer, _ := strings.Cut(c, " ")
		kind := "switch"
		if peer[0] == 'h' {
			kind = "host"
		}
		fmt.Fprintf(&text, "%s,to %s,%s,to %s,%s\n", device, peer, peer, device, kind)
	}
	g, _, err := topology.ReadCables(strings.NewReader(text.String()), "cables.csv", "", prev)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A leaf is a leaf before its hosts are cabled, after they are, and while they are switched off.
func TestLevelOfALeafWithoutHosts(t *testing.T) {
	twoTier := []string{"leaf0 spine0", "leaf0 spine1", "leaf1 spine0", "leaf1 spine1", "leaf0 h0"}
	pods := []string{"leaf0 agg0", "leaf0 agg1", "leaf1 agg0", "leaf1 agg1", "leaf2 agg2", "leaf2 agg3", "leaf0 h0", "leaf2 h2",
		"core0 agg0", "core0 agg2", "core1 agg1", "core1 agg3"}
	oneSpine := []string{"leaf0 spine0", "leaf1 spine0", "leaf0 h0", "leaf1 h1"}
	level := map[string]int8{"leaf": 1, "spin": 2, "aggi": 2, "agg0": 2, "agg1": 2, "agg2": 2, "agg3": 2, "core": 3}
	check := func(name string, g *topology.Graph) {
		t.Helper()
		for d := range topology.DeviceID(g.NumDevices()) {
			if got := g.Device(d); got.Kind == topology.Switch && got.Level != level[got.Name[:4]] {
				t.Errorf("%s: %s has level %d", name, got.Name, got.Level)
			}
		}
	}
	bare := wire(t, nil, twoTier...)
	check("two tiers, leaf1 without hosts", bare)
	check("then with", wire(t, bare, append(twoTier, "leaf1 h1")...))
	check("pods, leaf1 without hosts", wire(t, nil, pods...))
	check("a pod without hosts", wire(t, nil, append(pods[:7:7], pods[8:]...)...))
	before := wire(t, nil, oneSpine...)
	check("one spine", before)
	check("whose leaf1 has its hosts off", wire(t, before, oneSpine[:3]...))
}
