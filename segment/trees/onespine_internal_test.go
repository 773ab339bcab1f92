package trees

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// leafSpine is a fabric of two levels with parallel cables between each leaf and each spine.
func leafSpine(t *testing.T, leaves, hosts, spines, cables int) *topology.Graph {
	t.Helper()
	b, port := topology.NewBuilder("leaf-spine"), 0
	device := func(kind topology.DeviceKind, level int8, name string, n int) topology.DeviceID {
		return b.Device(topology.Device{Name: fmt.Sprint(name, n), Kind: kind, Level: level, Group: -1})
	}
	connect := func(a, z topology.DeviceID, class topology.LinkClass) {
		port++
		b.Both(topology.Link{From: a, FromPort: fmt.Sprint(port), To: z, ToPort: fmt.Sprint(port), CapacityBytesPerSecond: 25e9, Class: class, Dim: -1})
	}
	var above []topology.DeviceID
	for s := range spines {
		above = append(above, device(topology.Switch, 2, "spine", s))
	}
	for l := range leaves {
		leaf := device(topology.Switch, 1, "leaf", l)
		for h := range hosts {
			connect(device(topology.Host, 0, "host", hosts*l+h), leaf, topology.ClassHost)
		}
		for _, spine := range above {
			for range cables {
				connect(leaf, spine, topology.ClassSwitch)
			}
		}
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// stalledUplinks finds the stalled links of a snapshot in which all links from the given leaves to the given spine, or to
// all if that is empty, stall by 40%.
func stalledUplinks(t *testing.T, g *topology.Graph, spineOf map[string]string) *Method {
	t.Helper()
	values := make([]float32, g.NumLinks())
	for l := range values {
		a, b := g.Ends(schema.LinkID(l))
		from, to := g.Device(a), g.Device(b)
		if spine, ok := spineOf[from.Name]; ok && to.Level == 2 && (spine == "" || spine == to.Name) {
			values[l] = 40
		}
	}
	m := New(g, Config{MinMeanPercent: 5, Overlap: true})
	m.measure(values)
	if !m.findLinks(values) {
		t.Fatal("nothing stalls")
	}
	return m
}

// If uplinks that stand out lead to all spines alike, flows take single paths, and no spine is the reason: a spine must
// have far more of them than the usual one.
func TestOneSpineHasMoreThanTheUsual(t *testing.T) {
	const leaves, spines = 32, 8
	g := leafSpine(t, leaves, 4, spines, 1)
	all, one := map[string]string{}, map[string]string{}
	for leaf := range 24 {
		all[fmt.Sprint("leaf", leaf)] = fmt.Sprint("spine", leaf%spines)
		one[fmt.Sprint("leaf", leaf)] = fmt.Sprint("spine", leaf%spines)
		if leaf >= spines {
			one[fmt.Sprint("leaf", leaf)] = "spine3"
		}
	}
	for name, c := range map[string]struct {
		spineOf map[string]string
		want    bool
	}{"each spine": {all, false}, "most to one": {one, true}} {
		m := stalledUplinks(t, g, c.spineOf)
		for d := range m.seen {
			name3 := g.Device(topology.DeviceID(d)).Name == "spine3"
			if got := m.isOneSpine(deviceID(d)); got != (c.want && name3) {
				t.Errorf("%s: %s is the one spine: %v", name, g.Device(topology.DeviceID(d)).Name, got)
			}
		}
	}
}

// Leaves whose parallel cables to one spine stall wait for a slow cable of that spine: they do not show that flows keep
// to single paths, which the leaves that stall on all uplinks contradict. To different spines they show it.
func TestParallelCablesToASlowOneAreNoSinglePaths(t *testing.T) {
	const spines = 4
	g := leafSpine(t, 24, 4, spines, 2)
	for _, isOne := range []bool{true, false} {
		spineOf := map[string]string{"leaf20": "", "leaf21": "", "leaf22": ""} // 24 uplinks
		for leaf := range 8 {                                                  // 16 uplinks
			spineOf[fmt.Sprint("leaf", leaf)] = fmt.Sprint("spine", leaf%spines)
			if isOne {
				spineOf[fmt.Sprint("leaf", leaf)] = "spine1"
			}
		}
		if got := stalledUplinks(t, g, spineOf).spreadsTraffic(); got != isOne {
			t.Errorf("to one spine %v: traffic takes all spines: %v", isOne, got)
		}
	}
}
