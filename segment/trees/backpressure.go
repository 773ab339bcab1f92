package trees

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// waits is back pressure as a relation of directed links: u->v waits because of v->w. It holds the graph in a form
// that suits that relation. The relation itself is computed on demand, since only stalled links need it.
type waits struct {
	from, to   []int32    // by link: devices
	level      []int8     // by device: 0 host, 1 leaf, ...; -1 unknown
	group      []int32    // by device: pod or group, -1 none
	isSwitch   []bool     // by device
	aggregates []bool     // by device: see topology.Device.IsAggregationNode
	hosts      []int32    // by device: links from hosts into it
	byName     []int32    // by device: its rank by name, independent of numbering
	kinds      []linkKind // by link
	cables     []int32    // links between groups of a dragonfly, by the group that they enter
	out, in    linkLists
}

// linkKind is a bit set of what a link joins.
type linkKind uint8

const (
	fromHost linkKind = 1 << iota // from a host
	toHost                        // to a host
	upward                        // to a higher level of switches
	downward                      // to a lower level of switches
)

// linkLists lists links by device (compressed sparse rows).
type linkLists struct{ off, at []int32 }

func (l *linkLists) of(device int32) []int32 { return l.at[l.off[device]:l.off[device+1]] }

func newWaits(g *topology.Graph) *waits {
	n := g.NumDevices()
	w := &waits{from: make([]int32, g.NumLinks()), to: make([]int32, g.NumLinks()), level: make([]int8, n), group: make([]int32, n),
		isSwitch: make([]bool, n), aggregates: make([]bool, n), hosts: make([]int32, n), byName: make([]int32, n), kinds: make([]linkKind, g.NumLinks())}
	order := make([]int32, n)
	for d := range n {
		device := g.Device(topology.DeviceID(d))
		w.level[d], w.group[d], w.isSwitch[d], order[d] = device.Level, device.Group, device.Kind == topology.Switch, int32(d)
		w.aggregates[d] = device.IsAggregationNode()
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Compare(g.Device(topology.DeviceID(a)).Name, g.Device(topology.DeviceID(b)).Name)
	})
	for place, d := range order {
		w.byName[d] = int32(place)
	}
	for id := range w.from {
		from, to := g.Ends(schema.LinkID(id))
		w.from[id], w.to[id] = int32(from), int32(to)
		if w.kinds[id] = w.kindOf(w.from[id], w.to[id]); w.fromHost(int32(id)) {
			w.hosts[to]++
		}
		if w.isBetweenGroups(int32(id)) {
			w.cables = append(w.cables, int32(id))
		}
	}
	slices.SortStableFunc(w.cables, func(a, b int32) int { return cmp.Compare(w.group[w.to[a]], w.group[w.to[b]]) })
	w.out.list(w.from, n)
	w.in.list(w.to, n)
	return w
}

// list indexes links by the given devices, reusing memory.
func (l *linkLists) list(device []int32, devices int) {
	l.off, l.at = scratch.Slice(l.off, devices+2), scratch.Slice(l.at, len(device))
	clear(l.off)
	for _, d := range device {
		l.off[d+2]++
	}
	for d := range devices {
		l.off[d+2] += l.off[d+1]
	}
	for id, d := range device { // off[d+1] is the next free place of device d
		l.at[l.off[d+1]] = int32(id)
		l.off[d+1]++
	}
	l.off = l.off[:devices+1]
}

// mayWait reports whether traffic of link a may continue on link b, which leaves the switch that a enters: not
// straight back; not down a tree and up again; and, where all three switches are of one level, as in a dragonfly's
// group, not by a detour to a switch that has a cable of its own.
func (w *waits) mayWait(a, b int32) bool {
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
func (w *waits) isWithinGroup(link int32) bool {
	return w.isFlat(link) && w.group[w.from[link]] == w.group[w.to[link]]
}

// isBetweenGroups reports whether a link joins two switches of one level in different groups of a dragonfly.
func (w *waits) isBetweenGroups(link int32) bool {
	return w.isFlat(link) && w.group[w.from[link]] != w.group[w.to[link]]
}

// isFlat reports whether a link joins two switches of one level.
func (w *waits) isFlat(link int32) bool {
	from, to := w.from[link], w.to[link]
	return w.isSwitch[from] && w.isSwitch[to] && w.level[from] >= 0 && w.level[from] == w.level[to]
}

func (w *waits) isAdjacent(from, to int32) bool {
	for _, l := range w.out.of(from) {
		if w.to[l] == to {
			return true
		}
	}
	return false
}

// isLeaf reports whether a switch has hosts and is not a higher one with only an aggregation node.
func (w *waits) isLeaf(device int32) bool { return w.hosts[device] > 0 && w.level[device] <= 1 }

func (w *waits) kindOf(from, to int32) (k linkKind) {
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
func (w *waits) fromHost(link int32) bool { return w.kinds[link]&fromHost != 0 }
func (w *waits) toHost(link int32) bool   { return w.kinds[link]&toHost != 0 }

// isUp and isDown report whether a link goes to a higher level of switches, or to a lower one.
func (w *waits) isUp(link int32) bool   { return w.kinds[link]&upward != 0 }
func (w *waits) isDown(link int32) bool { return w.kinds[link]&downward != 0 }

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
