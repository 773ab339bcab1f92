package backpressure

import (
	"cmp"
	"math"

	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/index"
)

// Nodes are the stalled links of a snapshot, and its readings.
type Nodes struct {
	Graph   *Graph
	Noise   Noise
	Values  index.Readings
	trusted index.Readings                        // copy of Values without those not trusted; empty if all are
	Links   index.By[index.Node, index.Link]      // ascending
	Node    index.By[index.Link, index.Node]      // its node, or -1
	Stall   index.By[index.Node, float64]         // percent
	From    index.By[index.Node, index.Device]    // the device that its link leaves
	To      index.By[index.Node, index.Device]    // the device that its link enters
	Leaving index.Lists[index.Device, index.Node] // nodes by From
	Into    index.Lists[index.Device, index.Node] // nodes by To
	Entered []index.Device                        // devices that stalled links enter
	Seen    index.By[index.Device, bool]          // those
	Feeders index.By[index.Device, int32]         // stalled links from switches into it
	sample  []float64
}

// Waits is the nodes, and which others each may wait for.
type Waits struct {
	Nodes
	loneEnd   index.By[index.Node, bool]      // see findLoneEnds
	List      index.By[index.Node, ListID]    // its list in Next, which nodes at one leaf may share
	Next      index.Lists[ListID, index.Node] // the nodes to wait for
	peak      index.By[ListID, index.Node]    // its most stalled node, or -1
	behind    []behindUnread                  // see connectBehindUnread
	isOnePath bool                            // see takesSinglePaths
}

// MinFeeders is the number of stalled links into a switch from which its port is a root, not a lone hot link.
const MinFeeders = 3

// NewWaits returns the nodes of a graph before its first snapshot.
func NewWaits(w *Graph) Waits {
	links, devices := len(w.From), len(w.Level)
	t := Nodes{Graph: w, Node: make([]index.Node, links), Seen: make([]bool, devices), Feeders: make([]int32, devices)}
	for i := range t.Node {
		t.Node[i] = -1
	}
	return Waits{Nodes: t}
}

// Forget removes the nodes of the snapshot before.
func (t *Nodes) Forget() {
	for _, l := range t.Links {
		t.Node[l] = -1
	}
	for _, d := range t.Entered {
		t.Seen[d], t.Feeders[d] = false, 0
	}
	t.Links, t.Stall, t.Entered = t.Links[:0], t.Stall[:0], t.Entered[:0]
	t.From, t.To = t.From[:0], t.To[:0]
}

// unitsPerPoint is a power of two, so that sums of stalls are exact in any order.
const unitsPerPoint = 1 << 20

// Find makes the stalled links nodes, and indexes them by the devices at their ends.
func (t *Nodes) Find(hot float32) {
	for at, v := range t.Values { // over all links: the fastest loop counts
		if v < hot {
			continue
		}
		l := index.Link(at)
		t.Node[l] = t.Links.Len()
		t.Links, t.Stall = append(t.Links, l), append(t.Stall, math.Round(float64(v)*unitsPerPoint)/unitsPerPoint)
		t.From, t.To = append(t.From, t.Graph.From[l]), append(t.To, t.Graph.To[l])
		if d := t.Graph.To[l]; !t.Seen[d] {
			t.Seen[d] = true
			t.Entered = append(t.Entered, d)
		}
		if t.Graph.IsSwitch[t.Graph.From[l]] {
			t.Feeders[t.Graph.To[l]]++
		}
	}
	t.Leaving.List(t.From, len(t.Seen))
	t.Into.List(t.To, len(t.Seen))
}

// FromHost and ToHost report whether a node's link begins or ends at a host.
func (t *Nodes) FromHost(i index.Node) bool { return !t.Graph.IsSwitch[t.From[i]] }
func (t *Nodes) ToHost(i index.Node) bool   { return !t.Graph.IsSwitch[t.To[i]] }

// LeafOf is the leaf that a node's link leaves for a switch, or enters from a host, else -1.
func (t *Nodes) LeafOf(i index.Node) index.Device {
	switch {
	case t.FromHost(i):
		return t.To[i]
	case t.Graph.IsLeaf(t.From[i]) && !t.ToHost(i):
		return t.From[i]
	}
	return -1
}

// WaitsToSend reports whether a host waits to send: a link out of it stalls.
func (t *Nodes) WaitsToSend(host index.Device) bool { return len(t.Leaving.Of(host)) > 0 }

// StalledInto counts the stalled links into a device.
func (t *Nodes) StalledInto(d index.Device) int { return len(t.Into.Of(d)) }

// StalledHosts counts the stalled links from hosts into a device.
func (t *Nodes) StalledHosts(d index.Device) (n int) {
	for _, i := range t.Into.Of(d) {
		if t.FromHost(i) {
			n++
		}
	}
	return n
}

// StalledUp counts the stalled links from a leaf to switches.
func (t *Nodes) StalledUp(leaf index.Device) (n int) {
	for _, i := range t.Leaving.Of(leaf) {
		if !t.ToHost(i) {
			n++
		}
	}
	return n
}

// MeasuredUp counts the uplinks of a leaf that have a value.
func (t *Nodes) MeasuredUp(leaf index.Device) (n int) {
	for _, l := range t.Graph.Out.Of(leaf) {
		if t.Graph.IsUp(l) && t.Values[l] != linkset.Missing {
			n++
		}
	}
	return n
}

// feedersShare is the share of stalled links, of those into a switch from switches, that counts as all: the rest may
// read false zeros.
const feedersShare = .7

// AllFeedersStall reports whether all links from switches into a switch stall, and are several.
func (t *Nodes) AllFeedersStall(d index.Device) bool {
	stalled, measured := 0, 0
	for _, l := range t.Graph.In.Of(d) {
		if t.Graph.FromHost(l) || t.Values[l] == linkset.Missing {
			continue
		}
		measured++
		if t.Node[l] >= 0 {
			stalled++
		}
	}
	return stalled >= MinFeeders && float64(stalled) >= feedersShare*float64(measured)
}

// HottestAfter is the most stalled node that a node may wait for, or -1.
func (t *Waits) HottestAfter(i index.Node) index.Node { return t.peak[t.List[i]] }

// Hottest is the highest stall among the nodes that a node may wait for, or 0.
func (t *Waits) Hottest(i index.Node) float64 {
	j := t.HottestAfter(i)
	if j < 0 {
		return 0
	}
	return t.Stall[j]
}

// CompareEnds orders the link sinks of one switch (-1 for none) by the names of the devices that they lead to.
func (t *Nodes) CompareEnds(a, b index.Link) int {
	if a < 0 || b < 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(t.Graph.ByName[t.Graph.To[a]], t.Graph.ByName[t.Graph.To[b]]), cmp.Compare(a, b))
}

// IsHotter orders nodes by stall; ties, as at 100%, by the names of the devices at their ends.
func (t *Nodes) IsHotter(a, b index.Node) bool {
	name := t.Graph.ByName
	return cmp.Or(cmp.Compare(t.Stall[a], t.Stall[b]), cmp.Compare(name[t.From[b]], name[t.From[a]]), cmp.Compare(name[t.To[b]], name[t.To[a]])) > 0
}

// AboutAsMuch is the share of another link's stall from which a link stalls about as much, or more.
const AboutAsMuch = .8

// MiddleInto returns the median stall of the stalled links into a switch.
func (t *Nodes) MiddleInto(d index.Device) float64 {
	t.sample = t.sample[:0]
	for _, i := range t.Into.Of(d) {
		t.sample = append(t.sample, t.Stall[i])
	}
	return median.Of(t.sample)
}

// Measured counts the links of a kind that have a value.
func (t *Nodes) Measured(links []index.Link, kind LinkKind) (n int) {
	for _, l := range links {
		if t.Graph.Kinds[l]&kind != 0 && t.Values[l] != linkset.Missing {
			n++
		}
	}
	return n
}

// ClearFactor and ClearSigmas are the factor and the deviations by which a link is at least clearly above another.
const ClearFactor, ClearSigmas = 1.25, 4

// IsClearlyAbove reports whether a stall is above another by the factor and the deviations that make a root.
func (t *Nodes) IsClearlyAbove(stall, other float64) bool {
	return stall >= ClearFactor*other && stall-other >= ClearSigmas*t.Noise.Sigma(stall)
}
