package backpressure

import (
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/index"
)

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
	node index.Node
	list ListID
}

// connectBehindUnread lists, for the nodes that wait for no other, those behind the links over which the traffic waiting at
// their switch may go on, where all measured links there are calm: the traffic must go somewhere, and readings fail one at a
// time. If what stalls there leads to several ends, it takes none. It skips links between a dragonfly's switches: any two of a
// group are adjacent, and any two groups, so what lies behind a quiet cable is near anything that waits.
//
// With several paths to a destination, siblings of an unread link up would stall, too, and show more. So only with single paths
// it looks through two links in a row of which one leads up, each hop may be as steep as mostBehind, and the stall behind may be
// about as much.
func (t *Waits) connectBehindUnread() {
	t.behind = t.behind[:0]
	t.isOnePath = t.takesSinglePaths()
	for _, d := range t.Entered {
		all, middle := noList, -1.
		for _, i := range t.Into.Of(d) {
			if len(t.MayWaitFor(i)) > 0 || t.ToHost(i) || t.StalledInto(d)+t.StalledInto(t.From[i]) < fewestBefore {
				continue
			}
			waitsForAll := t.waitsForAll(i)
			if waitsForAll && all != noList {
				t.behind = append(t.behind, behindUnread{i, all})
				continue
			}
			if middle < 0 {
				middle = t.MiddleInto(d)
			}
			begin := len(t.Next.At)
			t.appendBehindUnread(t.Links[i], middle, 1)
			if !t.haveOneEnd(t.Next.At[begin:]) {
				t.Next.At = t.Next.At[:begin]
			}
			list := ListID(len(t.peak))
			t.Next.Off = append(t.Next.Off, int32(len(t.Next.At)))
			t.peak = append(t.peak, t.mostStalled(t.Next.Of(list)))
			t.behind = append(t.behind, behindUnread{i, list})
			if waitsForAll {
				all = list
			}
		}
	}
	for _, x := range t.behind { // all at once: what one waits for does not depend on the order
		t.List[x.node] = x.list
	}
}

// appendBehindUnread appends the nodes behind the unread links that link l may wait for, if they stall as is usual behind
// links that stall by middle; depth is the number of unread links in a row. Where nothing stalls behind a link down, the others
// down to the same switch show that traffic waits there.
func (t *Waits) appendBehindUnread(l index.Link, middle float64, depth int) {
	w := t.Graph
	least, most := t.boundsBehind(middle, depth)
	for _, s := range w.Out.Of(w.To[l]) {
		if !t.mayBeUnread(s) || depth > 1 && t.Values[s] == 0 || w.ToHost(s) || w.isFlat(s) || !w.MayWait(l, s) {
			continue
		}
		begin, areOthers := len(t.Next.At), t.Feeders[w.To[s]] >= MinFeeders
		if depth > 1 && !t.isOnePath && !areOthers {
			continue
		}
		t.appendBehind(s, least, most)
		if t.Values[s] != linkset.Missing {
			continue
		}
		if len(t.Next.At) == begin && areOthers && w.IsDown(s) {
			t.appendBeside(s, least, most)
		}
		if len(t.Next.At) == begin && depth < mostUnread && (t.isOnePath || w.IsDown(s)) {
			t.appendBehindUnread(s, middle, depth+1)
		}
	}
}

// boundsBehind are the bounds on the stall behind unread links.
func (t *Waits) boundsBehind(middle float64, depth int) (least, most float64) {
	least, most = leastBehind*middle, mostBehind*middle
	if t.isOnePath {
		least = AboutAsMuch * middle
	}
	if t.isOnePath || depth > 1 {
		most *= float64(depth + 1)
	}
	return least, most
}

// appendBeside appends the nodes that lead down to the same switch as a link, whose stall is between least and most.
func (t *Waits) appendBeside(l index.Link, least, most float64) {
	for _, j := range t.Into.Of(t.Graph.To[l]) {
		if t.Graph.IsDown(t.Links[j]) && least <= t.Stall[j] && t.Stall[j] <= most {
			t.Next.At = append(t.Next.At, j)
		}
	}
}

// takesSinglePaths reports whether traffic to one destination takes one path: at most leaves whose hosts wait, and of which
// an uplink stalls, only one does, and about as much as the hosts, or more.
func (t *Waits) takesSinglePaths() bool {
	single, all := 0, 0
	for _, d := range t.Entered {
		if !t.Graph.IsLeaf(d) || t.StalledHosts(d) < fewestBefore {
			continue
		}
		n, sum := 0, 0.
		for _, i := range t.Leaving.Of(d) {
			if !t.ToHost(i) {
				n, sum = n+1, sum+t.Stall[i]
			}
		}
		if n > 0 {
			all++
		}
		if n == 1 && sum >= AboutAsMuch*t.MiddleInto(d) {
			single++
		}
	}
	return 2*single > all
}

// haveOneEnd reports whether nodes all lead to one switch, by the most stalled ones behind them.
func (t *Waits) haveOneEnd(nodes []index.Node) bool {
	for k := 1; k < len(nodes); k++ {
		if t.endOf(nodes[k]) != t.endOf(nodes[0]) {
			return false
		}
	}
	return true
}

// endOf is the switch to which the most stalled links behind a node lead.
func (t *Waits) endOf(i index.Node) index.Device {
	for range MostHops { // links may wait in a cycle
		j := t.HottestAfter(i)
		if j < 0 {
			break
		}
		i = j
	}
	if t.ToHost(i) {
		return t.From[i]
	}
	return t.To[i]
}

// mayBeUnread reports whether a link has no value, or a zero that may be wrong.
func (t *Nodes) mayBeUnread(l index.Link) bool {
	return t.Values[l] == linkset.Missing || t.Values[l] == 0 && t.Noise.zeros <= mostZeros
}

// appendBehind appends the nodes that a link may wait for whose stall is between least and most.
func (t *Waits) appendBehind(l index.Link, least, most float64) {
	for _, j := range t.Leaving.Of(t.Graph.To[l]) {
		if t.Graph.MayWait(l, t.Links[j]) && least <= t.Stall[j] && t.Stall[j] <= most {
			t.Next.At = append(t.Next.At, j)
		}
	}
}
