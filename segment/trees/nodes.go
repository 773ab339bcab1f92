package trees

import (
	"cmp"
	"math"

	"github.com/giverny/giverny/segment/linkset"
)

// trees are the stalled links of a snapshot, as nodes, and what each node waits for.
type trees struct {
	waits      *waits
	noise      Noise
	links      []int32   // by node, ascending
	node       []int32   // by link: its node, or -1
	stall      []float64 // by node: percent
	entered    []int32   // devices that stalled links enter
	from       []int32   // by node: the device that its link leaves
	to         []int32   // by node: the device that its link enters
	leaving    linkLists // nodes by from
	into       linkLists // nodes by to
	list       []int32   // by node: its list in next, which nodes at one leaf may share
	next       linkLists // by list: the nodes to wait for
	peak       []int32   // by list: its most stalled node, or -1
	sink       []int32   // by node: the switch where it waits, or its own place (placeOf) if a link sink, or -1
	port       []bool    // by node: back pressure begins at the switch that it leaves
	order      []int32   // nodes by rank: those at sinks first
	isLinkSink []bool    // by node: a port to a host that is a sink of its own
	loneEnd    []bool    // by node: see findLoneEnds
	rank       []int32
	was        []int32             // rank before a round
	first      [lastRank + 2]int32 // by rank, for order
	seen       []bool              // by device
	feeders    []int32             // by device: stalled links from switches into it
	isMet      []bool              // by device: marks that are cleared at once
	met        []int32             // devices with isMet: see isCohesive
	mutual     []groupStall
	usual      map[int32]float64 // by group: see markExchanging
	values     []float32
	trusted    []float32 // copy of values without those not trusted; empty if all are
	sample     []float64
	// see middleBehind
	middleOf int32
	middle   float64
}

// minFeeders is the number of stalled links into a switch from which its port is a root, not a lone hot link.
const minFeeders = 3

func (t *trees) forget() {
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
func (t *trees) find(hot float32) {
	for l, v := range t.values {
		if v < hot {
			continue
		}
		t.node[l] = int32(len(t.links))
		t.links, t.stall = append(t.links, int32(l)), append(t.stall, math.Round(float64(v)*unitsPerPoint)/unitsPerPoint)
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
func (t *trees) fromHost(i int32) bool { return !t.waits.isSwitch[t.from[i]] }
func (t *trees) toHost(i int32) bool   { return !t.waits.isSwitch[t.to[i]] }

// leafOf is the leaf that a node's link leaves for a switch, or enters from a host, else -1.
func (t *trees) leafOf(i int32) int32 {
	switch {
	case t.fromHost(i):
		return t.to[i]
	case t.waits.isLeaf(t.from[i]) && !t.toHost(i):
		return t.from[i]
	}
	return -1
}

// waitsToSend reports whether a host waits to send: a link out of it stalls.
func (t *trees) waitsToSend(host int32) bool { return len(t.leaving.of(host)) > 0 }

// stalledInto counts the stalled links into a device.
func (t *trees) stalledInto(d int32) int { return len(t.into.of(d)) }

// stalledHosts counts the stalled links from hosts into a device.
func (t *trees) stalledHosts(d int32) (n int) {
	for _, i := range t.into.of(d) {
		if t.fromHost(i) {
			n++
		}
	}
	return n
}

// stalledUp counts the stalled links from a leaf to switches; measuredUp counts its uplinks that have a value.
func (t *trees) stalledUp(leaf int32) (n int) {
	for _, i := range t.leaving.of(leaf) {
		if !t.toHost(i) {
			n++
		}
	}
	return n
}

func (t *trees) measuredUp(leaf int32) (n int) {
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

func (t *trees) allFeedersStall(d int32) bool {
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
func (t *trees) hottestAfter(i int32) int32 { return t.peak[t.list[i]] }

// hottest is the highest stall among the nodes that a node may wait for, or 0.
func (t *trees) hottest(i int32) float64 {
	j := t.hottestAfter(i)
	if j < 0 {
		return 0
	}
	return t.stall[j]
}

// prefersHost reports whether the hottest link that a node may wait for goes to a host.
func (t *trees) prefersHost(i int32) bool {
	j := t.hottestAfter(i)
	return j >= 0 && t.port[j]
}

// placeOf is the place of a link sink: numbered after the devices, by link.
func (t *trees) placeOf(link int32) int32 { return int32(len(t.seen)) + link }

// compareEnds orders the link sinks of one switch (-1 for none) by the names of the devices that they lead to.
func (t *trees) compareEnds(a, b int32) int {
	if a < 0 || b < 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(t.waits.byName[t.waits.to[a]], t.waits.byName[t.waits.to[b]]), cmp.Compare(a, b))
}
