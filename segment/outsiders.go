package segment

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
)

// outsiders finds the trees in what was taken for one exchange. An exchange is among its hosts: each of its links is on
// a way from one of them to another. What else was joined with it, as links that are level or touch are, is another
// cause's if it has a root of its own.
type outsiders struct {
	roots   []root   // of the causes that were split off, numbered behind those of the sinks
	marks   []uint16 // by node
	feeders []int32  // by node: links outside that may wait for it
	isLeaf  []bool   // by device: a host that takes part is there
	members []int32  // nodes of the exchange
	rest    []int32  // those that are not on a way between its hosts
	entries []int32  // nodes of which it is known whether they are entries
	queue   []int32
	tried   []int32 // nodes that may be the root of the rest
}

const (
	ofExchange   uint16 = 1 << iota // taken for the exchange's
	fromInside                      // on a way from a host that takes part
	toInside                        // on a way to one
	isInside                        // the exchange's
	isReached                       // may wait for the root that is tried
	isEntry                         // the exchange's, or leads into it
	isEntryKnown                    // isEntry is set if it is one
	isShared                        // an entry beside which something outside may wait for another
)

const (
	// A root is above all that it may wait for by this factor and so many deviations.
	outsideFactor, outsideSigmas = 1.1, 2
	mostTried                    = 8 // roots for one rest, those that most may wait for
)

// split makes causes of their own of the trees that lie in causes without a root, and reports whether there are any.
func (o *outsiders) split(m *treeMethod) (found bool) {
	h := &m.shares
	o.roots = o.roots[:0]
	o.marks, o.feeders = resize(o.marks, len(m.links)), resize(o.feeders, len(m.links))
	o.isLeaf = resize(o.isLeaf, len(m.waits.level))
	causes := len(h.members.off) - 1
	for c := range int32(causes) {
		members := h.members.of(c)
		if len(members) < 2*mostLeastLinks || m.rootOf(c).device != noDevice {
			continue
		}
		o.begin(members)
		if o.findInside(&m.trees) {
			found = o.splitOff(&m.trees, h, c) || found
		}
		o.end(&m.trees)
	}
	return found
}

// begin takes down the links of a cause.
func (o *outsiders) begin(members []int32) {
	o.members, o.rest = append(o.members[:0], members...), o.rest[:0]
	for _, i := range members {
		o.marks[i] = ofExchange
	}
}

// end clears what was taken down.
func (o *outsiders) end(t *trees) {
	for _, i := range o.members {
		o.marks[i], o.feeders[i] = 0, 0
		o.isLeaf[t.waits.to[t.links[i]]] = false
	}
	for _, i := range o.entries {
		o.marks[i] = 0
	}
	o.entries = o.entries[:0]
}

func (t *trees) isBetweenSwitches(link int32) bool {
	return !t.waits.fromHost(link) && !t.waits.toHost(link)
}

// findInside marks what is on a way between hosts that take part, lists the rest, and reports whether that is known:
// where it is less than half, most of those who take part have ports that do not stall.
func (o *outsiders) findInside(t *trees) bool {
	if !o.findPartners(t) {
		return false
	}
	o.queue = o.queue[:0]
	for _, i := range o.members {
		if l := t.links[i]; t.isBetweenSwitches(l) && o.isLeaf[t.waits.from[l]] {
			o.marks[i] |= fromInside
			o.queue = append(o.queue, i)
		}
	}
	for k := 0; k < len(o.queue); k++ {
		for _, j := range t.mayWaitFor(o.queue[k]) {
			if o.marks[j]&(ofExchange|fromInside) == ofExchange && t.isBetweenSwitches(t.links[j]) {
				o.marks[j] |= fromInside
				o.queue = append(o.queue, j)
			}
		}
	}
	o.findToInside(t)
	for _, i := range o.members {
		if o.marks[i]&(fromInside|toInside) == fromInside|toInside {
			o.marks[i] |= isInside
		}
		if o.marks[i]&isInside == 0 {
			o.rest = append(o.rest, i)
		}
	}
	return 2*len(o.rest) <= len(o.members)
}

// findToInside marks the links on a way to a leaf that takes part.
func (o *outsiders) findToInside(t *trees) {
	for changed := true; changed; {
		changed = false
		for _, i := range o.members {
			l := t.links[i]
			if o.marks[i]&toInside != 0 || !t.isBetweenSwitches(l) {
				continue
			}
			leads := o.isLeaf[t.waits.to[l]]
			for _, j := range t.mayWaitFor(i) {
				if leads {
					break
				}
				leads = o.marks[j]&(toInside|isInside) != 0
			}
			if leads {
				o.marks[i] |= toInside
				changed = true
			}
		}
	}
}

// findPartners marks the links of hosts that stall both ways, and their leaves, and reports whether there are any. A host
// whose port is not measured takes part, too, if it sends.
func (o *outsiders) findPartners(t *trees) bool {
	w, partners := t.waits, 0
	o.queue = o.queue[:0]
	for _, i := range o.members {
		l := t.links[i]
		if !w.fromHost(l) {
			continue
		}
		port, isMeasured := o.portBack(t, l)
		if port >= 0 {
			partners++
			o.queue = append(o.queue, i, port)
		} else if !isMeasured {
			o.queue = append(o.queue, i)
		}
	}
	for _, i := range o.queue {
		o.marks[i] |= isInside
		if l := t.links[i]; w.fromHost(l) {
			o.isLeaf[w.to[l]] = true
		}
	}
	return partners > 0
}

// portBack is the node of the port to the host that a link comes from, if it is the exchange's, or -1; and whether one
// is measured.
func (o *outsiders) portBack(t *trees, link int32) (port int32, isMeasured bool) {
	w := t.waits
	for _, back := range w.in.of(w.from[link]) {
		if w.from[back] != w.to[link] || t.values[back] == missing {
			continue
		}
		isMeasured = true
		if j := t.node[back]; j >= 0 && o.marks[j]&ofExchange != 0 {
			return j, true
		}
	}
	return -1, isMeasured
}

// splitOff makes a cause of the root that most of the rest may wait for, with all of the rest that does.
func (o *outsiders) splitOff(t *trees, h *shares, cause int32) bool {
	if len(o.rest) < mostLeastLinks-1 {
		return false
	}
	o.listTried(t)
	best, most := int32(-1), 0
	for _, r := range o.tried {
		if n := o.reach(t, r); n > most {
			best, most = r, n
		}
	}
	if most < mostLeastLinks {
		return false
	}
	o.reach(t, best)
	id := o.causeOf(t, h, best, cause)
	for _, i := range append(o.rest, best) {
		if o.marks[i]&isReached == 0 {
			continue
		}
		for k := range h.of[i].list() {
			if p := &h.of[i].at[k]; p.cause == cause {
				p.cause = id
			}
		}
		h.of[i].unite()
	}
	return true
}

// causeOf is the cause of a root besides that which it is split from: another that it has already, or a new one.
func (o *outsiders) causeOf(t *trees, h *shares, r, from int32) int32 {
	for _, p := range h.of[r].list() {
		if p.cause != from {
			return p.cause
		}
	}
	h.fall = append(h.fall, usualFall)
	o.roots = append(o.roots, root{t.waits.from[t.links[r]], schema.LinkID(t.links[r])})
	return int32(len(h.fall)) - 1
}

// countFeeders counts for every link what of the rest may wait for it, and marks the entries that are shared.
func (o *outsiders) countFeeders(t *trees) {
	for _, i := range o.rest {
		after, first, several := t.mayWaitFor(i), int32(-1), false
		for _, j := range after {
			if o.marks[j]&ofExchange != 0 {
				o.feeders[j]++
			}
			if o.enters(t, j) {
				several = several || first >= 0 && j != first
				first = j
			}
		}
		if !several {
			continue
		}
		for _, j := range after {
			if o.marks[j]&isEntry != 0 {
				o.marks[j] |= isShared
			}
		}
	}
}

// listTried lists the links that most of the rest may wait for and that are above all that they could wait for, or the
// only way from it into the exchange: an exchange backs up over all ways into it, not over one.
func (o *outsiders) listTried(t *trees) {
	o.tried = o.tried[:0]
	o.countFeeders(t)
	for _, r := range o.members {
		if o.feeders[r] < minFeeders ||
			t.stall[r] < outsideFactor*t.hottest(r)+outsideSigmas*t.noise.sigma(t.stall[r]) && !(o.marks[r]&(isInside|isShared) == 0 && o.enters(t, r)) {
			continue
		}
		at := len(o.tried)
		for at > 0 && o.isBefore(t, r, o.tried[at-1]) {
			at--
		}
		if o.tried = slices.Insert(o.tried, at, r); len(o.tried) > mostTried {
			o.tried = o.tried[:mostTried]
		}
	}
}

// enters reports whether a node is the exchange's, or joins two switches and leads to one that is.
func (o *outsiders) enters(t *trees, i int32) bool {
	if o.marks[i]&isEntryKnown == 0 {
		o.entries = append(o.entries, i)
		o.marks[i] |= isEntryKnown
		if o.marks[i]&isInside != 0 || t.isBetweenSwitches(t.links[i]) && slices.ContainsFunc(t.mayWaitFor(i), func(j int32) bool { return o.marks[j]&isInside != 0 }) {
			o.marks[i] |= isEntry
		}
	}
	return o.marks[i]&isEntry != 0
}

// isBefore orders roots: that which most may wait for first, then the most stalled, then by name.
func (o *outsiders) isBefore(t *trees, a, b int32) bool {
	w, l, k := t.waits, t.links[a], t.links[b]
	return cmp.Or(cmp.Compare(o.feeders[b], o.feeders[a]), cmp.Compare(t.stall[b], t.stall[a]),
		cmp.Compare(w.byName[w.from[l]], w.byName[w.from[k]]), cmp.Compare(w.byName[w.to[l]], w.byName[w.to[k]])) < 0
}

// reach marks what of the rest may wait for a root, however far behind, and counts it with the root.
func (o *outsiders) reach(t *trees, r int32) int {
	for _, nodes := range [2][]int32{o.rest, o.tried} {
		for _, i := range nodes {
			o.marks[i] &^= isReached
		}
	}
	o.marks[r] |= isReached
	n := 1
	for changed := true; changed; {
		changed = false
		for _, i := range o.rest {
			if o.marks[i]&isReached != 0 {
				continue
			}
			for _, j := range t.mayWaitFor(i) {
				if o.marks[j]&isReached != 0 {
					o.marks[i] |= isReached
					n, changed = n+1, true
					break
				}
			}
		}
	}
	return n
}
