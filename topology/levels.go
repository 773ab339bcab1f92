package topology

import (
	"math"
	"slices"
	"strings"
)

// coreLevel is the highest level of a fat tree with pods.
const coreLevel = 3

// setLevels assigns level 0 to hosts, 1 to switches with hosts, and to the others their distance from those over links
// that are up. Hosts that an earlier version had at a switch count too: they may be switched off. Exceptions: a switch on
// two or more spines that connects none not already connected below them is a leaf without hosts, not a core; and switches
// beyond the cores that connect no switches not already connected below them are a pod without hosts, whose levels
// decrease again from where it is attached. Devices with a level keep it.
func (b *Builder) setLevels() {
	g := &b.g
	peers := make([][]DeviceID, len(g.devices)) // switches, by what is cabled to them
	for id, to := range g.to {
		if from := g.from[id]; (g.up[id] || g.devices[from].Kind == Host) && g.devices[to].Kind == Switch {
			peers[from] = append(peers[from], to)
		}
	}
	level := make([]int, len(g.devices))
	for d := range g.devices {
		level[d] = int(g.devices[d].Level)
	}
	var order []DeviceID // switches, from level 1 on
	reach := func(switches []DeviceID, from int) {
		for _, d := range switches {
			if level[d] < 0 {
				level[d] = from + 1
				order = append(order, d)
			}
		}
	}
	for d := range g.devices {
		if dev := &g.devices[d]; dev.Kind == Host {
			level[d] = max(level[d], 0)
			if !dev.IsAggregationNode() {
				reach(peers[d], 0)
			}
		}
	}
	for i := 0; i < len(order); i++ {
		reach(peers[order[i]], level[order[i]])
	}
	below := make([][]DeviceID, len(g.devices)) // of the distance from hosts; none where a cable has one direction only
	for _, d := range order {
		for _, p := range peers[d] {
			if level[p] == level[d]-1 {
				below[d] = append(below[d], p)
			}
		}
	}
	down := map[DeviceID]bool{}
	for _, d := range order {
		beyond := level[d] > coreLevel && len(below[d]) > 0 || level[d] == coreLevel && several(below[d])
		if beyond && (down[below[d][0]] || !joins(below, d)) {
			level[d], down[d] = max(1, level[below[d][0]]-1), true
		}
	}
	for d := range g.devices {
		g.devices[d].Level = int8(min(level[d], math.MaxInt8))
	}
}

// several reports whether a list, in which parallel cables repeat a switch, has more than one.
func several(list []DeviceID) bool {
	return slices.ContainsFunc(list, func(d DeviceID) bool { return d != list[0] })
}

// joins reports whether two of the switches below d have no common switch below them.
func joins(below [][]DeviceID, d DeviceID) bool {
	for _, a := range below[d] {
		for _, c := range below[d] {
			if a != c && !slices.ContainsFunc(below[c], func(s DeviceID) bool { return slices.Contains(below[a], s) }) {
				return true
			}
		}
	}
	return false
}

// IsAggregationNode reports whether an adapter is a switch's own SHARP engine, which aggregates but is not the source
// or destination of traffic.
func (d *Device) IsAggregationNode() bool { return strings.Contains(d.Label, "Aggregation Node") }
