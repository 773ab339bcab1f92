package trees

import (
	"cmp"
	"math"

	"github.com/giverny/giverny/segment/linkset"
)

// nodes are the stalled links of a snapshot, and its readings.
type nodes struct {
	waits   *waits
	noise   Noise
	values  readings
	trusted readings                // copy of values without those not trusted; empty if all are
	links   by[nodeID, linkID]      // ascending
	node    by[linkID, nodeID]      // its node, or -1
	stall   by[nodeID, float64]     // percent
	from    by[nodeID, deviceID]    // the device that its link leaves
	to      by[nodeID, deviceID]    // the device that its link enters
	leaving lists[deviceID, nodeID] // nodes by from
	into    lists[deviceID, nodeID] // nodes by to
	entered []deviceID              // devices that stalled links enter
	seen    by[deviceID, bool]      // those
	feeders by[deviceID, int32]     // stalled links from switches into it
	isMet   by[deviceID, bool]      // marks that are cleared at once
	met     []deviceID              // devices with isMet: see isCohesive
	sample  []float64
}

// waiting is the nodes, and which others each may wait for.
type waiting struct {
	nodes
	loneEnd   by[nodeID, bool]      // see findLoneEnds
	list      by[nodeID, listID]    // its list in next, which nodes at one leaf may share
	next      lists[listID, nodeID] // the nodes to wait for
	peak      by[listID, nodeID]    // its most stalled node, or -1
	behind    []behindUnread        // see connectBehindUnread
	isOnePath bool                  // see takesSinglePaths
}

// trees are the waiting nodes, and where the chains of waiting end.
type trees struct {
	waiting
	isLinkSink by[nodeID, bool]    // a port to a host that is a sink of its own
	sink       by[nodeID, placeID] // the switch where it waits, or its own place (placeOf) if a link sink, or -1
	port       by[nodeID, bool]    // back pressure begins at the switch that it leaves
	rank       by[nodeID, hops]
	was        by[nodeID, hops]    // rank before a round
	first      [lastRank + 2]int32 // by rank, for order
	order      []nodeID            // by rank: those at sinks first
	mutual     []groupStall
	usual      map[groupID]float64 // by group: see markExchanging
}

// minFeeders is the number of stalled links into a switch from which its port is a root, not a lone hot link.
const minFeeders = 3

// forget removes the nodes of the snapshot before.
func (t *nodes) forget() {
	for _, l := range t.links {
		t.node[l] = -1
	}
	for _, d := range t.entered {
		t.seen[d], t.feeders[d] = false, 0
	}
	t.links, t.stall, t.entered = t.links[:0], t.stall[:0], t.entered[:0]
	t.from, t.to = t.from[:0], t.to[:0]
}

// unitsPerPoint is a power of two, so that sums of stalls are exact in any order.
const unitsPerPoint = 1 << 20

// find makes the stalled links nodes, and indexes them by the devices at their ends.
func (t *nodes) find(hot float32) {
	for at, v := range t.values { // over all links: the fastest loop counts
		if v < hot {
			continue
		}
		l := linkID(at)
		t.node[l] = t.links.len()
		t.links, t.stall = append(t.links, l), append(t.stall, math.Round(float64(v)*unitsPerPoint)/unitsPerPoint)
		t.from, t.to = append(t.from, t.waits.from[l]), append(t.to, t.waits.to[l])
		if d := t.waits.to[l]; !t.seen[d] {
			t.seen[d] = true
			t.entered = append(t.entered, d)
		}
		if t.waits.isSwitch[t.waits.from[l]] {
			t.feeders[t.waits.to[l]]++
		}
	}
	t.leaving.list(t.from, len(t.seen))
	t.into.list(t.to, len(t.seen))
}

// fromHost and toHost report whether a node's link begins or ends at a host.
func (t *nodes) fromHost(i nodeID) bool { return !t.waits.isSwitch[t.from[i]] }
func (t *nodes) toHost(i nodeID) bool   { return !t.waits.isSwitch[t.to[i]] }

// leafOf is the leaf that a node's link leaves for a switch, or enters from a host, else -1.
func (t *nodes) leafOf(i nodeID) deviceID {
	switch {
	case t.fromHost(i):
		return t.to[i]
	case t.waits.isLeaf(t.from[i]) && !t.toHost(i):
		return t.from[i]
	}
	return -1
}

// waitsToSend reports whether a host waits to send: a link out of it stalls.
func (t *nodes) waitsToSend(host deviceID) bool { return len(t.leaving.of(host)) > 0 }

// stalledInto counts the stalled links into a device.
func (t *nodes) stalledInto(d deviceID) int { return len(t.into.of(d)) }

// stalledHosts counts the stalled links from hosts into a device.
func (t *nodes) stalledHosts(d deviceID) (n int) {
	for _, i := range t.into.of(d) {
		if t.fromHost(i) {
			n++
		}
	}
	return n
}

// stalledUp counts the stalled links from a leaf to switches.
func (t *nodes) stalledUp(leaf deviceID) (n int) {
	for _, i := range t.leaving.of(leaf) {
		if !t.toHost(i) {
			n++
		}
	}
	return n
}

// measuredUp counts the uplinks of a leaf that have a value.
func (t *nodes) measuredUp(leaf deviceID) (n int) {
	for _, l := range t.waits.out.of(leaf) {
		if t.waits.isUp(l) && t.values[l] != linkset.Missing {
			n++
		}
	}
	return n
}

// feedersShare is the share of stalled links, of those into a switch from switches, that counts as all: the rest may
// read false zeros.
const feedersShare = .7

// allFeedersStall reports whether all links from switches into a switch stall, and are several.
func (t *nodes) allFeedersStall(d deviceID) bool {
	stalled, measured := 0, 0
	for _, l := range t.waits.in.of(d) {
		if t.waits.fromHost(l) || t.values[l] == linkset.Missing {
			continue
		}
		measured++
		if t.node[l] >= 0 {
			stalled++
		}
	}
	return stalled >= minFeeders && float64(stalled) >= feedersShare*float64(measured)
}

// hottestAfter is the most stalled node that a node may wait for, or -1.
func (t *waiting) hottestAfter(i nodeID) nodeID { return t.peak[t.list[i]] }

// hottest is the highest stall among the nodes that a node may wait for, or 0.
func (t *waiting) hottest(i nodeID) float64 {
	j := t.hottestAfter(i)
	if j < 0 {
		return 0
	}
	return t.stall[j]
}

// prefersHost reports whether the hottest link that a node may wait for goes to a host.
func (t *trees) prefersHost(i nodeID) bool {
	j := t.hottestAfter(i)
	return j >= 0 && t.port[j]
}

// placeAt is the place of a switch, placeOf that of a link sink: numbered after the devices, by link.
func placeAt(device deviceID) placeID        { return placeID(device) }
func (t *nodes) placeOf(link linkID) placeID { return placeAt(t.seen.len()) + placeID(link) }

// compareEnds orders the link sinks of one switch (-1 for none) by the names of the devices that they lead to.
func (t *nodes) compareEnds(a, b linkID) int {
	if a < 0 || b < 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(t.waits.byName[t.waits.to[a]], t.waits.byName[t.waits.to[b]]), cmp.Compare(a, b))
}
