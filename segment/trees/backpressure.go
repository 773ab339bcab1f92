package trees

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// waits is back pressure as a relation of directed links: u->v waits because of v->w. It holds the graph in a form
// that suits that relation. The relation itself is computed on demand, since only stalled links need it.
type waits struct {
	from, to   by[linkID, deviceID]  // devices
	level      by[deviceID, int8]    // 0 host, 1 leaf, ...; -1 unknown
	group      by[deviceID, groupID] // pod or group, -1 none
	isSwitch   by[deviceID, bool]
	aggregates by[deviceID, bool]     // see topology.Device.IsAggregationNode
	hosts      by[deviceID, int32]    // links from hosts into it
	byName     by[deviceID, nameRank] // its rank by name, independent of numbering
	kinds      by[linkID, linkKind]
	cables     []linkID // links between groups of a dragonfly, by the group that they enter
	out, in    lists[deviceID, linkID]
	rails      rails
}

// linkKind is a bit set of what a link joins.
type linkKind uint8

const (
	fromHost linkKind = 1 << iota // from a host
	toHost                        // to a host
	upward                        // to a higher level of switches
	downward                      // to a lower level of switches
)

// newWaits returns the relation on a graph.
func newWaits(g *topology.Graph) *waits {
	n := g.NumDevices()
	w := &waits{from: make([]deviceID, g.NumLinks()), to: make([]deviceID, g.NumLinks()), level: make([]int8, n), group: make([]groupID, n),
		isSwitch: make([]bool, n), aggregates: make([]bool, n), hosts: make([]int32, n), byName: make([]nameRank, n), kinds: make([]linkKind, g.NumLinks())}
	order := make([]deviceID, n)
	for d := range deviceID(n) {
		device := g.Device(topology.DeviceID(d))
		w.level[d], w.group[d], w.isSwitch[d], order[d] = device.Level, groupID(device.Group), device.Kind == topology.Switch, d
		w.aggregates[d] = device.IsAggregationNode()
	}
	slices.SortFunc(order, func(a, b deviceID) int {
		return cmp.Compare(g.Device(topology.DeviceID(a)).Name, g.Device(topology.DeviceID(b)).Name)
	})
	for place, d := range order {
		w.byName[d] = nameRank(place)
	}
	w.rails = newRails(g)
	for l := range w.from.len() {
		from, to := g.Ends(schema.LinkID(l))
		w.from[l], w.to[l] = deviceID(from), deviceID(to)
		if w.kinds[l] = w.kindOf(w.from[l], w.to[l]); w.fromHost(l) {
			w.hosts[w.to[l]]++
		}
		if w.isBetweenGroups(l) {
			w.cables = append(w.cables, l)
		}
	}
	slices.SortStableFunc(w.cables, func(a, b linkID) int { return cmp.Compare(w.group[w.to[a]], w.group[w.to[b]]) })
	w.out.list(w.from, n)
	w.in.list(w.to, n)
	return w
}

// mayWait reports whether traffic of link a may continue on link b, which leaves the switch that a enters: not
// straight back; not down a tree and up again; and, where all three switches are of one level, as in a dragonfly's
// group, not by a detour to a switch that has a cable of its own.
func (w *waits) mayWait(a, b linkID) bool {
	from, via, to := w.from[a], w.to[a], w.to[b]
	if from == to {
		return false
	}
	u, v, x := w.level[from], w.level[via], w.level[to]
	if u < 0 || v < 0 || x < 0 {
		return true
	}
	if u > v && x > v {
		return false
	}
	return u != v || v != x || !w.isAdjacent(from, to)
}

// isWithinGroup reports whether a link joins two switches of one level and group, as in a dragonfly's group.
func (w *waits) isWithinGroup(link linkID) bool {
	return w.isFlat(link) && w.group[w.from[link]] == w.group[w.to[link]]
}

// isBetweenGroups reports whether a link joins two switches of one level in different groups of a dragonfly.
func (w *waits) isBetweenGroups(link linkID) bool {
	return w.isFlat(link) && w.group[w.from[link]] != w.group[w.to[link]]
}

// isFlat reports whether a link joins two switches of one level.
func (w *waits) isFlat(link linkID) bool {
	from, to := w.from[link], w.to[link]
	return w.isSwitch[from] && w.isSwitch[to] && w.level[from] >= 0 && w.level[from] == w.level[to]
}

// isAdjacent reports whether a link leads from a device to another.
func (w *waits) isAdjacent(from, to deviceID) bool {
	for _, l := range w.out.of(from) {
		if w.to[l] == to {
			return true
		}
	}
	return false
}

// isLeaf reports whether a switch has hosts and is not a higher one with only an aggregation node.
func (w *waits) isLeaf(device deviceID) bool { return w.hosts[device] > 0 && w.level[device] <= 1 }

// kindOf is the kind of a link between two devices.
func (w *waits) kindOf(from, to deviceID) (k linkKind) {
	if !w.isSwitch[from] {
		k |= fromHost
	}
	if !w.isSwitch[to] {
		k |= toHost
	}
	switch u, v := w.level[from], w.level[to]; {
	case v > u && u > 0:
		k |= upward
	case u > v && v > 0:
		k |= downward
	}
	return k
}

// fromHost and toHost report whether a link begins or ends at a host.
func (w *waits) fromHost(link linkID) bool { return w.kinds[link]&fromHost != 0 }
func (w *waits) toHost(link linkID) bool   { return w.kinds[link]&toHost != 0 }

// isUp and isDown report whether a link goes to a higher level of switches, or to a lower one.
func (w *waits) isUp(link linkID) bool   { return w.kinds[link]&upward != 0 }
func (w *waits) isDown(link linkID) bool { return w.kinds[link]&downward != 0 }

// branching is the mean number of links that wait for a link or that it waits for: how many ways a chain of links
// stalled by chance may go on.
func (w *waits) branching() float64 {
	sum := 0.
	for l := range w.from {
		if via := w.to[l]; w.isSwitch[via] {
			sum += 2 * float64(len(w.out.of(via))-1) // as a successor and as a predecessor
		}
	}
	return sum / float64(max(1, len(w.from)))
}
