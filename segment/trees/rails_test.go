package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// Hosts with an adapter on each of three rails exchange: what waits on the third rail is part of what waits on the others,
// though no link connects them. Other hosts that wait on that rail are another region.
func TestSameHostsWaitOnAnotherRail(t *testing.T) {
	g := fabricOfRails(t)
	for _, c := range []struct {
		name  string
		first int // of the hosts that wait on the third rail
		want  int
	}{{"the same hosts", 0, 1}, {"other hosts", 8, 2}} {
		s := stalls.ByEnds{}
		for h := range 8 {
			for spine := range 4 {
				for rail := range 2 {
					s[[2]string{adapter(h, rail), fmt.Sprint("leaf", rail)}] = 40
					s[[2]string{fmt.Sprint("leaf", rail), fmt.Sprint("spine", spine)}] = 40
					s[[2]string{fmt.Sprint("spine", spine), fmt.Sprint("leaf", rail)}] = 40
				}
			}
			s[[2]string{adapter(c.first+h, 2), "leaf2"}] = 30
		}
		got := segmenttest.New(t, g, segment.DefaultConfig()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.On(t, g)}))
		if len(got) != c.want {
			t.Errorf("%s: %s, want %d", c.name, segmenttest.Sizes(got), c.want)
		}
	}
}

// A host that takes nothing pauses all of its ports: they lead from switches that nothing else waits for, and are one
// region, whether the host is one device or one for each adapter. Ports to different hosts are none.
func TestPortsOfOneHost(t *testing.T) {
	adapters, device := fabricOfRails(t), topologytest.Rails(t, 4, 6, 4, false)
	for _, c := range []struct {
		name string
		g    *topology.Graph
		port func(rail int) [2]string
		want int
	}{
		{"adapters", adapters, func(rail int) [2]string { return [2]string{fmt.Sprint("leaf", rail), adapter(5, rail)} }, 1},
		{"a device", device, func(rail int) [2]string { return [2]string{fmt.Sprintf("leaf%d-2", rail), "host2-3"} }, 1},
		{"different hosts", adapters, func(rail int) [2]string { return [2]string{fmt.Sprint("leaf", rail), adapter(5+rail, rail)} }, 0},
	} {
		s := stalls.ByEnds{}
		for rail := range 4 {
			s[c.port(rail)] = []float32{55, 60, 48, 62}[rail]
		}
		got := segmenttest.New(t, c.g, segment.DefaultConfig()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.PFCPauseRx(3): s.On(t, c.g)}))
		if len(got) != c.want || c.want == 1 && len(got[0].Links) != 4 {
			t.Errorf("%s: %s, want %d", c.name, segmenttest.Sizes(got), c.want)
		}
	}
}

func adapter(host, rail int) string { return fmt.Sprintf("n%d mlx5_%d", host, rail) }

// fabricOfRails builds four leaves of 16 hosts, which have an adapter on each, and four spines.
func fabricOfRails(t *testing.T) *topology.Graph {
	b := topology.NewBuilder("rails")
	port := 0
	cable := func(a, z topology.DeviceID, class topology.LinkClass) {
		port++
		b.Both(topology.Link{From: a, FromPort: fmt.Sprint(port), To: z, ToPort: fmt.Sprint(port), CapacityBytesPerSecond: 25e9, Class: class, Dim: -1})
	}
	var spines []topology.DeviceID
	for s := range 4 {
		spines = append(spines, b.Device(topology.Device{Name: fmt.Sprint("spine", s), Kind: topology.Switch, Level: 2, Group: -1}))
	}
	for rail := range 4 {
		leaf := b.Device(topology.Device{Name: fmt.Sprint("leaf", rail), Kind: topology.Switch, Level: 1, Group: -1})
		for h := range 16 {
			cable(b.Device(topology.Device{Name: adapter(h, rail), Kind: topology.Host, Group: -1}), leaf, topology.ClassHost)
		}
		for _, spine := range spines {
			cable(leaf, spine, topology.ClassSwitch)
		}
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}
