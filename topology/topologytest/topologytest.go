// Package topologytest makes graphs for tests. Input: the spec of a regular topology, or the size of one whose hosts have
// several ports. Output: its graph; a wrong one fails the test.
package topologytest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// T is what *testing.T, *testing.B and *rapid.T have in common.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Parse is topology.Parse.
func Parse(t T, fabric, spec string) *topology.Graph {
	t.Helper()
	g, err := topology.Parse(fabric, spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Rails is a tree of directed links of 1 GB/s whose hosts have a port in each rail: groups of hosts share a leaf in each.
// Two spines join all leaves or, of planes, those of their own plane. host0-0 has a port in the first rail only.
func Rails(t T, groups, hosts, rails int, arePlanes bool) *topology.Graph {
	t.Helper()
	b, ports := topology.NewBuilder("test"), 0
	device := func(kind topology.DeviceKind, format string, args ...any) topology.DeviceID {
		return b.Device(topology.Device{Name: fmt.Sprintf(format, args...), Kind: kind})
	}
	cable := func(from, to topology.DeviceID, class topology.LinkClass) {
		ports += 2
		b.Both(topology.Link{From: from, To: to, FromPort: strconv.Itoa(ports), ToPort: strconv.Itoa(ports + 1), Class: class, CapacityBytesPerSecond: 1e9})
	}
	for rail := range rails {
		plane := 0
		if arePlanes {
			plane = rail
		}
		for group := range groups {
			leaf := device(topology.Switch, "leaf%d-%d", rail, group)
			for spine := range 2 {
				cable(leaf, device(topology.Switch, "spine%d-%d", plane, spine), topology.ClassSwitch)
			}
			for h := range hosts {
				if host := device(topology.Host, "host%d-%d", group, h); rail == 0 || group+h > 0 {
					cable(host, leaf, topology.ClassHost)
				}
			}
		}
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// WithAdapters is a copy of a tree in which a host's port in each rail is a device of its own, "host0-1 mlx5_2" in the third.
func WithAdapters(t T, rails *topology.Graph) *topology.Graph {
	t.Helper()
	b := topology.NewBuilder(rails.Fabric())
	end := func(at, other topology.DeviceID) topology.DeviceID {
		d := *rails.Device(at)
		if rail, ok := strings.CutPrefix(rails.Device(other).Name, "leaf"); ok && !rails.IsSwitch(at) {
			rail, _, _ = strings.Cut(rail, "-")
			d.Name += " mlx5_" + rail
		}
		return b.Device(d)
	}
	for id := range schema.LinkID(rails.NumLinks()) {
		l := rails.Link(id)
		l.From, l.To = end(l.From, l.To), end(l.To, l.From)
		b.Link(l)
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}
