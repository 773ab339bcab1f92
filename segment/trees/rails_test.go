package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
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
