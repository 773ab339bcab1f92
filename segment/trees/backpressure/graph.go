package backpressure

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/topology"
)

// Graph is back pressure as a relation of directed links: u->v waits because of v->w. It holds the graph in a form
// that suits that relation. The relation itself is computed on demand, since only stalled links need it.
type Graph struct {
	From, To   index.By[index.Link, index.Device]  // devices
	Level      index.By[index.Device, int8]        // 0 host, 1 leaf, ...; -1 unknown
	Group      index.By[index.Device, index.Group] // pod or group, -1 none
	IsSwitch   index.By[index.Device, bool]
	aggregates index.By[index.Device, bool]           // see topology.Device.IsAggregationNode
	Hosts      index.By[index.Device, int32]          // links from hosts into it
	ByName     index.By[index.Device, index.NameRank] // its rank by name, independent of numbering
	Kinds      index.By[index.Link, LinkKind]
	cables     []index.Link // links between groups of a dragonfly, by the group that they enter
	Out, In    index.Lists[index.Device, index.Link]
	Rails      Rails
}

// LinkKind is a bit set of what a link joins.
type LinkKind uint8

// The kinds of links.
const (
	FromHost LinkKind = 1 << iota // from a host
	ToHost                        // to a host
	Upward                        // to a higher level of switches
	Downward                      // to a lower level of switches
)

// New returns the relation on a graph.
func New(g *topology.Graph) *Graph {
	n := g.NumDevices()
	w := &Graph{From: make([]index.Device, g.NumLinks()), To: make([]index.Device, g.NumLinks()), Level: make([]int8, n), Group: make([]index.Group, n),
		IsSwitch: make([]bool, n), aggregates: make([]bool, n), Hosts: make([]int32, n), ByName: make([]index.NameRank, n), Kinds: make([]LinkKind, g.NumLinks())}
	order := make([]index.Device, n)
	for d := range index.Device(n) {
		device := g.Device(topology.DeviceID(d))
		w.Level[d], w.Group[d], w.IsSwitch[d], order[d] = device.Level, index.Group(device.Group), device.Kind == topology.Switch, d
		w.aggregates[d] = device.IsAggregationNode()
	}
	slices.SortFunc(order, func(a, b index.Device) int {
		return cmp.Compare(g.Device(topology.DeviceID(a)).Name, g.Device(topology.DeviceID(b)).Name)
	})
	for place, d := range order {
		w.ByName[d] = index.NameRank(place)
	}
	w.Rails = newRails(g)
	for l := range w.From.Len() {
		from, to := g.Ends(schema.LinkID(l))
		w.From[l], w.To[l] = index.Device(from), index.Device(to)
		if w.Kinds[l] = w.kindOf(w.From[l], w.To[l]); w.FromHost(l) {
			w.Hosts[w.To[l]]++
		}
		if w.IsBetweenGroups(l) {
			w.cables = append(w.cables, l)
		}
	}
	slices.SortStableFunc(w.cables, func(a, b index.Link) int { return cmp.Compare(w.Group[w.To[a]], w.Group[w.To[b]]) })
	w.Out.List(w.From, n)
	w.In.List(w.To, n)
	return w
}

// MayWait reports whether traffic of link a may continue on link b, which leaves the switch that a enters: not
// straight back; not down a tree and up again; and, where all three switches are of one level, as in a dragonfly's
// group, not by a detour to a switch that has a cable of its own.
func (w *Graph) MayWait(a, b index.Link) bool {
	from, via, to := w.From[a], w.To[a], w.To[b]
	if from == to {
		return false
	}
	u, v, x := w.Level[from], w.Level[via], w.Level[to]
	if u < 0 || v < 0 || x < 0 {
		return true
	}
	if u > v && x > v {
		return false
	}
	return u != v || v != x || !w.IsAdjacent(from, to)
}

// IsWithinGroup reports whether a link joins two switches of one level and group, as in a dragonfly's group.
func (w *Graph) IsWithinGroup(link index.Link) bool {
	return w.isFlat(link) && w.Group[w.From[link]] == w.Group[w.To[link]]
}

// IsBetweenGroups reports whether a link joins two switches of one level in different groups of a dragonfly.
func (w *Graph) IsBetweenGroups(link index.Link) bool {
	return w.isFlat(link) && w.Group[w.From[link]] != w.Group[w.To[link]]
}

// isFlat reports whether a link joins two switches of one level.
func (w *Graph) isFlat(link index.Link) bool {
	from, to := w.From[link], w.To[link]
	return w.IsSwitch[from] && w.IsSwitch[to] && w.Level[from] >= 0 && w.Level[from] == w.Level[to]
}

// IsAdjacent reports whether a link leads from a device to another.
func (w *Graph) IsAdjacent(from, to index.Device) bool {
	for _, l := range w.Out.Of(from) {
		if w.To[l] == to {
			return true
		}
	}
	return false
}

// IsLeaf reports whether a switch has hosts and is not a higher one with only an aggregation node.
func (w *Graph) IsLeaf(device index.Device) bool { return w.Hosts[device] > 0 && w.Level[device] <= 1 }

// kindOf is the kind of a link between two devices.
func (w *Graph) kindOf(from, to index.Device) (k LinkKind) {
	if !w.IsSwitch[from] {
		k |= FromHost
	}
	if !w.IsSwitch[to] {
		k |= ToHost
	}
	switch u, v := w.Level[from], w.Level[to]; {
	case v > u && u > 0:
		k |= Upward
	case u > v && v > 0:
		k |= Downward
	}
	return k
}

// FromHost and ToHost report whether a link begins or ends at a host.
func (w *Graph) FromHost(link index.Link) bool { return w.Kinds[link]&FromHost != 0 }
func (w *Graph) ToHost(link index.Link) bool   { return w.Kinds[link]&ToHost != 0 }

// IsUp and IsDown report whether a link goes to a higher level of switches, or to a lower one.
func (w *Graph) IsUp(link index.Link) bool   { return w.Kinds[link]&Upward != 0 }
func (w *Graph) IsDown(link index.Link) bool { return w.Kinds[link]&Downward != 0 }

// Branching is the mean number of links that wait for a link or that it waits for: how many ways a chain of links
// stalled by chance may go on.
func (w *Graph) Branching() float64 {
	sum := 0.
	for l := range w.From {
		if via := w.To[l]; w.IsSwitch[via] {
			sum += 2 * float64(len(w.Out.Of(via))-1) // as a successor and as a predecessor
		}
	}
	return sum / float64(max(1, len(w.From)))
}

// Above is what leaves exchange over.
type Above int32

// Below identifies leaves that exchange over the same switches: the first switch above, by name, or without any the group,
// numbered after the names.
func (w *Graph) Below(leaf index.Device) Above {
	first := index.NameRank(math.MaxInt32)
	for _, l := range w.Out.Of(leaf) {
		if w.IsUp(l) {
			first = min(first, w.ByName[w.To[l]])
		}
	}
	if first == math.MaxInt32 {
		return Above(w.ByName.Len()) + 1 + Above(w.Group[leaf]) // the group may be -1
	}
	return Above(first)
}
