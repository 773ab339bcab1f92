package routing

import (
	"errors"

	"github.com/giverny/giverny/topology"
)

// groupTable holds a dragonfly's local channels by router pair and its global
// channels by group pair.
type groupTable struct {
	channels *Channels
	local    map[[2]topology.DeviceID]Channel
	global   map[[2]int32][]Channel
	routers  map[int32][]topology.DeviceID // by group
	groups   []int32
}

func newGroupTable(c *Channels) (*groupTable, error) {
	t := &groupTable{channels: c, local: map[[2]topology.DeviceID]Channel{}, global: map[[2]int32][]Channel{}, routers: map[int32][]topology.DeviceID{}}
	for d := range topology.DeviceID(c.graph.NumDevices()) {
		if !c.graph.IsSwitch(d) {
			continue
		}
		g := t.group(d)
		if g < 0 {
			return nil, errors.New("a switch without a group; use ecmp")
		}
		if len(t.routers[g]) == 0 {
			t.groups = append(t.groups, g)
		}
		t.routers[g] = append(t.routers[g], d)
	}
	for ch := range c.from {
		from, to := c.from[ch], c.to[ch]
		if !c.graph.IsSwitch(from) || !c.graph.IsSwitch(to) {
			continue
		}
		if a, b := t.group(from), t.group(to); a != b {
			t.global[[2]int32{a, b}] = append(t.global[[2]int32{a, b}], Channel(ch))
		} else {
			t.local[[2]topology.DeviceID{from, to}] = Channel(ch)
		}
	}
	return t, nil
}

func (t *groupTable) group(d topology.DeviceID) int32 { return t.channels.graph.Device(d).Group }

// minimal goes to the router with a global channel to the destination's group, over
// that channel, and to the destination: local, global, local (Kim et al., ISCA 2008,
// section 4.1).
func (t *groupTable) minimal(path []Channel, src, dst topology.DeviceID, flow uint64) ([]Channel, bool) {
	a, b := t.group(src), t.group(dst)
	if a == b {
		return t.within(path, src, dst)
	}
	cables := t.global[[2]int32{a, b}]
	if len(cables) == 0 {
		return path, false
	}
	cable := cables[mix(flow)%uint64(len(cables))]
	path, ok := t.within(path, src, t.channels.from[cable])
	if !ok {
		return path, false
	}
	return t.within(append(path, cable), t.channels.to[cable], dst)
}

// valiant goes minimally to a router of a group chosen by the flow's hash, and
// minimally on from there (Kim et al., section 4.2), which spreads any traffic pattern
// at the cost of a second global channel. Traffic within a group stays there.
func (t *groupTable) valiant(path []Channel, src, dst topology.DeviceID, flow uint64) ([]Channel, bool) {
	a, b := t.group(src), t.group(dst)
	h := mix(flow)
	via := t.groups[h%uint64(len(t.groups))]
	if a == b || via == a || via == b {
		return t.minimal(path, src, dst, flow)
	}
	cables := t.global[[2]int32{a, via}]
	if len(cables) == 0 {
		return t.minimal(path, src, dst, flow)
	}
	entry := t.channels.to[cables[mix(flow)%uint64(len(cables))]]
	path, ok := t.minimal(path, src, entry, flow)
	if !ok {
		return path, false
	}
	return t.minimal(path, entry, dst, flow)
}

func (t *groupTable) within(path []Channel, src, dst topology.DeviceID) ([]Channel, bool) {
	if src == dst {
		return path, true
	}
	ch, ok := t.local[[2]topology.DeviceID{src, dst}]
	if !ok {
		return path, false
	}
	return append(path, ch), true
}
