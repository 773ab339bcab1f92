package scenario

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// seats are the hosts of a fabric in the order in which stories number them: switch by switch, so that hosts with near numbers are
// near each other on an imported fabric too.
type seats struct {
	g     *topology.Graph
	hosts []topology.DeviceID
	leaf  []int // by host number: of the switches with hosts, from 0
	first []int // by such a switch, the number of its first host; and the number of hosts
}

// seatsOf numbers the hosts: those at one switch in the order of the graph, the switches by pod or group and then likewise.
func seatsOf(g *topology.Graph) seats {
	s := seats{g: g}
	at := map[topology.DeviceID][]topology.DeviceID{}
	var switches []topology.DeviceID
	for _, h := range g.Hosts() {
		d := switchOf(g, h)
		if at[d] == nil {
			switches = append(switches, d)
		}
		at[d] = append(at[d], h)
	}
	slices.SortFunc(switches, func(a, b topology.DeviceID) int {
		return cmp.Or(cmp.Compare(g.Device(a).Group, g.Device(b).Group), cmp.Compare(a, b))
	})
	for i, d := range switches {
		s.first = append(s.first, len(s.hosts))
		for _, h := range at[d] {
			s.hosts, s.leaf = append(s.hosts, h), append(s.leaf, i)
		}
	}
	s.first = append(s.first, len(s.hosts))
	return s
}

// switchOf is the switch at the other end of a host's first link; of a node of a torus or mesh, itself.
func switchOf(g *topology.Graph, host topology.DeviceID) topology.DeviceID {
	if !g.IsSwitch(host) {
		for _, l := range g.LinksAt(host) {
			if from, to := g.Ends(l); from == host {
				return to
			}
		}
	}
	return host
}

// bySeat moves a host number to the same place at the switch with the same place; in proportion, if there are fewer.
func (s seats) bySeat(to seats) func(int) int {
	leaves, there := len(s.first)-1, len(to.first)-1
	return func(host int) int {
		leaf := s.leaf[host]
		place, places := host-s.first[leaf], s.first[leaf+1]-s.first[leaf]
		leaf = leaf * min(leaves, there) / leaves
		return to.first[leaf] + place*min(places, to.first[leaf+1]-to.first[leaf])/places
	}
}

// counterpart is the device of another fabric that corresponds to one of this fabric.
func (s seats) counterpart(to seats, d topology.DeviceID, move func(int) int) (topology.DeviceID, bool) {
	if host := slices.Index(s.hosts, d); host >= 0 {
		return to.hosts[move(host)], true
	}
	for leaf, first := range s.first[:len(s.first)-1] {
		if switchOf(s.g, s.hosts[first]) == d {
			return switchOf(to.g, to.hosts[move(s.first[leaf])]), true
		}
	}
	if same, ok := to.g.FindDevice(s.g.Device(d).Name); ok {
		return same, true
	}
	was, now := devicesAt(s.g, s.g.Device(d).Level), devicesAt(to.g, s.g.Device(d).Level)
	if len(now) == 0 {
		return 0, false
	}
	return now[slices.Index(was, d)*min(len(was), len(now))/len(was)], true
}

func devicesAt(g *topology.Graph, level int8) (list []topology.DeviceID) {
	for d := range topology.DeviceID(g.NumDevices()) {
		if g.Device(d).Level == level {
			list = append(list, d)
		}
	}
	return list
}

// egress lists the links that leave a device to switches, or hosts, of a level; of a dragonfly, which has no such level, all to switches.
func (s seats) egress(d topology.DeviceID, toSwitch bool, level int8) (list []schema.LinkID) {
	var all []schema.LinkID
	for _, l := range s.g.LinksAt(d) {
		from, to := s.g.Ends(l)
		if from != d || s.g.IsSwitch(to) != toSwitch {
			continue
		}
		if all = append(all, l); s.g.Device(to).Level == level {
			list = append(list, l)
		}
	}
	if list == nil {
		return all
	}
	return list
}
