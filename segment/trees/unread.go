package trees

import "github.com/giverny/giverny/segment/linkset"

const (
	// At least so many links wait at a switch with no stalled link out of it, or in a row: a single one may be a lone hot link.
	fewestBefore = 2
	// Bounds on the stall behind an unread link, as multiples of the median of those that wait for it: stall falls from hop
	// to hop.
	leastBehind, mostBehind = 1, 3
	// Share of calm links that read zero, above which a zero says nothing: with noise, few do.
	mostZeros = .35
	// Most unread links in a row: into a switch that reports nothing, and out of it.
	mostUnread = 2
)

// behindUnread is what a node waits for behind unread links.
type behindUnread struct {
	node nodeID
	list listID
}

// connectBehindUnread lists, for the nodes that wait for no other, those behind the links over which the traffic waiting at
// their switch may go on, where all measured links there are calm: the traffic must go somewhere, and readings fail one at a
// time. If what stalls there leads to several ends, it takes none. It skips links between a dragonfly's switches: any two of a
// group are adjacent, and any two groups, so what lies behind a quiet cable is near anything that waits.
//
// With several paths to a destination, siblings of an unread link up would stall, too, and show more. So only with single paths
// it looks through two links in a row of which one leads up, each hop may be as steep as mostBehind, and the stall behind may be
// about as much.
func (t *waiting) connectBehindUnread() {
	t.behind = t.behind[:0]
	t.isOnePath = t.takesSinglePaths()
	for _, d := range t.entered {
		all, middle := noList, -1.
		for _, i := range t.into.of(d) {
			if len(t.mayWaitFor(i)) > 0 || t.toHost(i) || t.stalledInto(d)+t.stalledInto(t.from[i]) < fewestBefore {
				continue
			}
			waitsForAll := t.waitsForAll(i)
			if waitsForAll && all != noList {
				t.behind = append(t.behind, behindUnread{i, all})
				continue
			}
			if middle < 0 {
				middle = t.middleInto(d)
			}
			begin := len(t.next.at)
			t.appendBehindUnread(t.links[i], middle, 1)
			if !t.haveOneEnd(t.next.at[begin:]) {
				t.next.at = t.next.at[:begin]
			}
			list := listID(len(t.peak))
			t.next.off = append(t.next.off, int32(len(t.next.at)))
			t.peak = append(t.peak, t.mostStalled(t.next.of(list)))
			t.behind = append(t.behind, behindUnread{i, list})
			if waitsForAll {
				all = list
			}
		}
	}
	for _, x := range t.behind { // all at once: what one waits for does not depend on the order
		t.list[x.node] = x.list
	}
}

// appendBehindUnread appends the nodes behind the unread links that link l may wait for, if they stall as is usual behind
// links that stall by middle; depth is the number of unread links in a row. Where nothing stalls behind a link down, the others
// down to the same switch show that traffic waits there.
func (t *waiting) appendBehindUnread(l linkID, middle float64, depth int) {
	w := t.waits
	least, most := t.boundsBehind(middle, depth)
	for _, s := range w.out.of(w.to[l]) {
		if !t.mayBeUnread(s) || depth > 1 && t.values[s] == 0 || w.toHost(s) || w.isFlat(s) || !w.mayWait(l, s) {
			continue
		}
		begin, areOthers := len(t.next.at), t.feeders[w.to[s]] >= minFeeders
		if depth > 1 && !t.isOnePath && !areOthers {
			continue
		}
		t.appendBehind(s, least, most)
		if t.values[s] != linkset.Missing {
			continue
		}
		if len(t.next.at) == begin && areOthers && w.isDown(s) {
			t.appendBeside(s, least, most)
		}
		if len(t.next.at) == begin && depth < mostUnread && (t.isOnePath || w.isDown(s)) {
			t.appendBehindUnread(s, middle, depth+1)
		}
	}
}

// boundsBehind are the bounds on the stall behind unread links.
func (t *waiting) boundsBehind(middle float64, depth int) (least, most float64) {
	least, most = leastBehind*middle, mostBehind*middle
	if t.isOnePath {
		least = aboutAsMuch * middle
	}
	if t.isOnePath || depth > 1 {
		most *= float64(depth + 1)
	}
	return least, most
}

// appendBeside appends the nodes that lead down to the same switch as a link, whose stall is between least and most.
func (t *waiting) appendBeside(l linkID, least, most float64) {
	for _, j := range t.into.of(t.waits.to[l]) {
		if t.waits.isDown(t.links[j]) && least <= t.stall[j] && t.stall[j] <= most {
			t.next.at = append(t.next.at, j)
		}
	}
}

// takesSinglePaths reports whether traffic to one destination takes one path: at most leaves whose hosts wait, and of which
// an uplink stalls, only one does, and about as much as the hosts, or more.
func (t *waiting) takesSinglePaths() bool {
	single, all := 0, 0
	for _, d := range t.entered {
		if !t.waits.isLeaf(d) || t.stalledHosts(d) < fewestBefore {
			continue
		}
		n, sum := 0, 0.
		for _, i := range t.leaving.of(d) {
			if !t.toHost(i) {
				n, sum = n+1, sum+t.stall[i]
			}
		}
		if n > 0 {
			all++
		}
		if n == 1 && sum >= aboutAsMuch*t.middleInto(d) {
			single++
		}
	}
	return 2*single > all
}

// haveOneEnd reports whether nodes all lead to one switch, by the most stalled ones behind them.
func (t *waiting) haveOneEnd(nodes []nodeID) bool {
	for k := 1; k < len(nodes); k++ {
		if t.endOf(nodes[k]) != t.endOf(nodes[0]) {
			return false
		}
	}
	return true
}

// endOf is the switch to which the most stalled links behind a node lead.
func (t *waiting) endOf(i nodeID) deviceID {
	for range maxRank { // links may wait in a cycle
		j := t.hottestAfter(i)
		if j < 0 {
			break
		}
		i = j
	}
	if t.toHost(i) {
		return t.from[i]
	}
	return t.to[i]
}

// mayBeUnread reports whether a link has no value, or a zero that may be wrong.
func (t *nodes) mayBeUnread(l linkID) bool {
	return t.values[l] == linkset.Missing || t.values[l] == 0 && t.noise.zeros <= mostZeros
}

// appendBehind appends the nodes that a link may wait for whose stall is between least and most.
func (t *waiting) appendBehind(l linkID, least, most float64) {
	for _, j := range t.leaving.of(t.waits.to[l]) {
		if t.waits.mayWait(l, t.links[j]) && least <= t.stall[j] && t.stall[j] <= most {
			t.next.at = append(t.next.at, j)
		}
	}
}
