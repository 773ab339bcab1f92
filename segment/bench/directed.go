package bench

import (
	"fmt"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// ImportedFabric is a fabric like those imported: vendor names, no pods, two cables between switches,
// and unconnected links.
const ImportedFabric = "imported"

// Graph builds the fabric of a set.
func (s *Set) Graph() (*topology.Graph, error) {
	if s.Topology == ImportedFabric {
		return newImported()
	}
	return topology.Parse("bench", s.Topology)
}

const (
	leafSpine  = "fattree:leaves=32,hosts=16,spines=8"
	dragonfly8 = "dragonfly:groups=17,routers=8,hosts=8"
)

var directedFabrics = []struct{ name, topology string }{
	{"tree3", tree16}, {"tree2", leafSpine}, {"dragonfly", dragonfly8}, {"imported", ImportedFabric},
}

// DirectedSets lists the sets on fabrics with directed links: on each fabric one cause spread by
// queues, several of them, and as a cross-check several spread by a formula.
func DirectedSets() []Set {
	var sets []Set
	for _, f := range directedFabrics {
		metrics := []schema.Metric{schema.XmitWait}
		loaded := []schema.Metric{schema.XmitWait, schema.BandwidthUsed}
		sets = append(sets,
			Set{f.name + "-one", f.topology, loaded, "one incast, slow receiver or all-to-all, spread by queues", queues{whole{1, 1}, allKinds}.draw},
			Set{f.name + "-mixed", f.topology, loaded, "two to four of them at once", queues{whole{2, 4}, allKinds}.draw},
			Set{f.name + "-slope", f.topology, metrics, "one tree or all-to-all drawn by a formula", slopes{causes: whole{1, 1}}.draw},
			Set{f.name + "-slopes", f.topology, metrics, "one to four trees and all-to-alls drawn by a formula", slopes{causes: whole{1, 4}}.draw},
			Set{f.name + "-varied", f.topology, metrics, "the same, each sample by another formula", slopes{whole{1, 4}, true}.draw},
			Set{f.name + "-packet", f.topology, loaded, "one or two causes, packet by packet, with credits or PFC", packets{whole{1, 2}}.draw})
	}
	return sets
}

// Storm is many trees and all-to-alls at once on a fabric with directed links, for measuring cost.
func Storm(topology string, causes int) Set {
	return Set{"storm", topology, []schema.Metric{schema.XmitWait}, "trees and all-to-alls drawn by a formula", slopes{causes: whole{causes, causes}}.draw}
}

// AllSets lists all sets.
func AllSets() []Set { return append(Sets(), DirectedSets()...) }

// newImported builds 48 leaves of 16 hosts, 24 spines in four planes and 12 cores.
func newImported() (*topology.Graph, error) {
	b := topology.NewBuilder("imported")
	const leaves, hosts, spines, cores, planes = 48, 16, 24, 12, 4
	const bytesPerSecond = 25e9
	next := map[topology.DeviceID]int{}
	port := func(d topology.DeviceID) string {
		next[d]++
		return fmt.Sprint(next[d])
	}
	cable := func(a, z topology.DeviceID, class topology.LinkClass) {
		b.Both(topology.Link{From: a, FromPort: port(a), To: z, ToPort: port(z), CapacityBytesPerSecond: bytesPerSecond, Class: class, Dim: -1})
	}
	device := func(name string, kind topology.DeviceKind, level int8) topology.DeviceID {
		return b.Device(topology.Device{Name: name, Kind: kind, Level: level, Group: -1})
	}
	var spine, core []topology.DeviceID
	for i := range spines {
		spine = append(spine, device(fmt.Sprintf("MF0;CSPINE%d-%d:MQM8700/U1", i%planes+1, i/planes+1), topology.Switch, 2))
	}
	for i := range cores {
		core = append(core, device(fmt.Sprintf("MF0;CCORE%d-%03d:MQM8700/U1", i%planes+1, i/planes+1), topology.Switch, 3))
	}
	for i := range leaves {
		pod, plane := i/8, i%planes
		leaf := device(fmt.Sprintf("MF0;LG%02d-%02d:MQM8700/U1", pod+1, i%8+1), topology.Switch, 1)
		for h := range hosts {
			cable(device(fmt.Sprintf("luna-%04d mlx5_%d", pod*32+i%8/4*16+h+1, plane+1), topology.Host, 0), leaf, topology.ClassHost)
		}
		for s, id := range spine {
			if s%planes == plane && s/planes < 4+pod%3 { // pods differ, as in real fabrics
				cable(leaf, id, topology.ClassSwitch)
				cable(leaf, id, topology.ClassSwitch)
			}
		}
	}
	for s, id := range spine {
		for i, up := range core {
			if i%planes == s%planes {
				cable(id, up, topology.ClassSwitch)
				cable(id, up, topology.ClassSwitch)
			}
		}
	}
	return b.Build()
}
