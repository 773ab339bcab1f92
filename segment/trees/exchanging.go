package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
)

// exchanging is a region whose leaves send as those of an exchange: all their hosts or all their uplinks wait, and no
// visible port explains it. They wait for ports that are full but not stalled. Beside trees see hostExchanges.
type exchanging struct {
	patch       patchID
	below       aboveID // see the method below
	mean, error float64 // of the links from hosts, percent, with its standard error
	spread      float64 // their standard deviation
	isLevel     bool    // hardly anything but hosts and uplinks waits
	leaves      int     // also of those it was joined with
	isPiece     bool    // one leaf's hosts, all of which wait, and which pass more than one port would
	hosts       int     // that wait, all below the same switches or in one group; else 0
}

const (
	nearlyAll      = .85 // share of a leaf's hosts, of a region's links and of its hosts
	wholeGroup     = .8  // share of a pod's or group's hosts
	mostShared     = .25 // of the hosts of such regions: two trees share hosts, parts of an exchange divide them
	exchangeErrors = 2.5 // standard errors by which means of one exchange may differ
	pieceSpreads   = 1.5 // spreads of its hosts by which a leaf's mean may differ from the exchange's
	waitSigmas     = 3   // deviations of the noise by which hosts that wait a little are above calm ones on average
	mostPortPasses = 150 // percent of a link's rate: what passes to one port, with a margin for senders that pause
)

// joinExchanging joins regions whose leaves have the same switches above or are of one group, and whose hosts wait
// alike; a piece of one leaf is part of the one nearest in level, as in rounds each leaf waits differently.
func (p *patches) joinExchanging(m *Method) {
	p.exchanging = p.exchanging[:0]
	p.waiting = p.waiting[:0]
	for k := range p.all.len() {
		x, ok := p.exchangingAt(m, k)
		if ok {
			p.exchanging = append(p.exchanging, x)
		}
		if x.hosts >= minFeeders {
			p.waiting = append(p.waiting, x)
		}
	}
	p.joinWholeGroups(m)
	slices.SortFunc(p.exchanging, func(a, b exchanging) int {
		return cmp.Or(cmp.Compare(a.below, b.below), cmp.Compare(a.mean, b.mean), cmp.Compare(a.patch, b.patch))
	})
	for k := 1; k < len(p.exchanging); k++ {
		a, b := &p.exchanging[k-1], &p.exchanging[k]
		areAlike := a.below == b.below && a.isLevel && b.isLevel && b.mean-a.mean <= exchangeErrors*math.Hypot(a.error, b.error)
		if areAlike && !p.shareHosts(m, a, b) {
			p.joinTwoExchanging(a, b)
			a.isPiece, b.isPiece = false, false
			a.leaves, b.leaves = a.leaves+b.leaves, a.leaves+b.leaves
		}
	}
	for k := range p.exchanging {
		if x := p.nearest(k); p.exchanging[k].isPiece && x != nil && (x.isPiece || x.leaves > 1) {
			p.joinTwoExchanging(&p.exchanging[k], x)
		}
	}
}

// joinWholeGroups joins the regions within a pod or group that show no receiver, if nearly all of its hosts wait in them, each
// mostly in one, and their links are explained badly: an exchange of few partners shows as trees at its fullest receivers.
func (p *patches) joinWholeGroups(m *Method) {
	slices.SortFunc(p.waiting, func(a, b exchanging) int { return cmp.Or(cmp.Compare(a.below, b.below), cmp.Compare(a.patch, b.patch)) })
	for first, end := 0, 0; first < len(p.waiting); first = end {
		for end = first + 1; end < len(p.waiting) && p.waiting[end].below == p.waiting[first].below; end++ {
		}
		if end > first+1 && p.areWholeGroup(m, p.waiting[first:end]) {
			for k := first + 1; k < end; k++ {
				p.joinTwoExchanging(&p.waiting[k-1], &p.waiting[k])
			}
		}
	}
}

// areWholeGroup reports whether of the hosts of a pod or group nearly all wait in the given regions.
func (p *patches) areWholeGroup(m *Method, regions []exchanging) bool {
	p.isWaiting = scratch.Slice(p.isWaiting, len(m.links))
	clear(p.isWaiting)
	waiting, twice, all, links, off := 0, 0, 0, 0., 0.
	for _, x := range regions {
		for _, i := range p.left[p.all[x.patch].begin:p.all[x.patch].end] {
			links, off = links+1, off+min(mostMisfit, m.shares.misfit[i])
			switch {
			case !m.fromHost(i):
			case p.isWaiting[i]:
				twice++
			default:
				p.isWaiting[i] = true
				waiting++
			}
		}
	}
	if off < leastMisfit*links || float64(twice) > mostShared*float64(waiting) {
		return false
	}
	w := m.waits
	for d := range w.isSwitch.len() {
		if !w.isLeaf(d) || w.below(d) != regions[0].below {
			continue
		}
		for _, l := range w.in.of(d) {
			if w.fromHost(l) && m.values[l] != linkset.Missing {
				all++
			}
		}
	}
	return float64(waiting) >= wholeGroup*float64(all)
}

// shareHosts reports whether more than mostShared of the hosts of the smaller of two regions are in both: these are two
// trees into which the same hosts send.
func (p *patches) shareHosts(m *Method, a, b *exchanging) bool {
	p.isWaiting = scratch.Slice(p.isWaiting, len(m.links))
	clear(p.isWaiting)
	hosts, both := [2]int{}, 0
	for k, x := range [2]*exchanging{a, b} {
		for _, i := range p.left[p.all[x.patch].begin:p.all[x.patch].end] {
			if !m.fromHost(i) {
				continue
			}
			hosts[k]++
			if p.isWaiting[i] {
				both++
			}
			p.isWaiting[i] = true
		}
	}
	return float64(both) > mostShared*float64(min(hosts[0], hosts[1]))
}

// joinTwoExchanging makes two regions one, without a root.
func (p *patches) joinTwoExchanging(a, b *exchanging) {
	p.all[p.sets.Union(a.patch, b.patch)].root = root{device: noDevice, link: schema.NoLink}
}

// nearest is the exchanging region of the same switches that is nearest in level to the k-th, within the spread of the
// hosts of both, or nil.
func (p *patches) nearest(k int) (best *exchanging) {
	x, off := &p.exchanging[k], 0.
	for j := max(0, k-1); j < min(k+2, len(p.exchanging)); j++ {
		y := &p.exchanging[j]
		if d := math.Abs(x.mean - y.mean); j != k && y.below == x.below && d <= pieceSpreads*math.Hypot(x.spread, y.spread) && (best == nil || d < off) {
			best, off = y, d
		}
	}
	return best
}

// exchangingAt measures the hosts of region k, if it is exchanging.
func (p *patches) exchangingAt(m *Method, k patchID) (exchanging, bool) {
	x := &p.all[k]
	out := exchanging{patch: k, below: math.MaxInt32}
	if x.beside != noRegion || m.isReceiver(x.root) {
		return out, false
	}
	n, sum, squares, ups, sending := 0., 0., 0., 0., 0.
	leaf, sends, isOne := deviceID(-1), false, true
	nodes := p.left[x.begin:x.end]
	inside := 0.
	for _, i := range nodes {
		if m.waits.isWithinPod(m.links[i]) {
			inside++
		}
		if !m.fromHost(i) {
			if m.waits.isUp(m.links[i]) {
				ups++
			}
			continue
		}
		n, sum, squares = n+1, sum+m.stall[i], squares+m.stall[i]*m.stall[i]
		if m.to[i] != leaf {
			leaf = m.to[i]
			out.leaves++
			sends = m.allSend(leaf)
			below := m.waits.below(leaf)
			isOne = isOne && (out.leaves == 1 || below == out.below)
			out.below = min(out.below, below)
		}
		if sends {
			sending++
		}
	}
	if isOne && inside >= nearlyAll*float64(len(nodes)) && !m.showsTree(x.root) {
		out.hosts = int(n)
	}
	out.isLevel = n+ups >= nearlyAll*float64(len(nodes))
	out.isPiece = out.leaves == 1 && int(n) == len(nodes) && 100*n-sum > mostPortPasses && m.restWaits(leaf)
	if n < minFeeders || sending < nearlyAll*n {
		return out, false
	}
	out.mean = sum / n
	out.spread = math.Sqrt(max(0, squares/n-out.mean*out.mean))
	out.error = out.spread/math.Sqrt(n) + m.noise.sigma(out.mean)/math.Sqrt(n)
	return out, true
}

// isReceiver reports whether a root is a stalled link that explains why others wait: not a port to a host that itself
// waits to send, as hosts of an exchange do.
func (t *nodes) isReceiver(r root) bool {
	if r.link == schema.NoLink || !t.waits.toHost(linkID(r.link)) {
		return r.link != schema.NoLink
	}
	return !t.waitsToSend(t.waits.to[linkID(r.link)])
}

// showsTree reports whether a root is a link, or a leaf at which what waits does so for few ports.
func (m *Method) showsTree(r root) bool {
	if r.device == noDevice || r.link != schema.NoLink {
		return r.link != schema.NoLink
	}
	a := m.sinks.at(r.device)
	return a >= 0 && m.sinks.all[a].waitsForFew
}

// allSend reports whether nearly all hosts of a leaf wait, even if some too little to count, or nearly all its uplinks.
func (t *nodes) allSend(leaf deviceID) bool {
	w := t.waits
	most := func(links []linkID, counts func(linkID) bool) bool {
		measured, stalled := 0., 0.
		for _, l := range links {
			if counts(l) && t.values[l] != linkset.Missing {
				measured++
				if t.node[l] >= 0 {
					stalled++
				}
			}
		}
		return stalled > 0 && stalled >= nearlyAll*measured
	}
	return most(w.in.of(leaf), w.fromHost) || most(w.out.of(leaf), w.isUp) || t.restWaits(leaf)
}

// restWaits reports whether the hosts of a leaf that are not stalled wait, too, though too little to count. The receiver
// of a tree in its leaf does not.
func (t *nodes) restWaits(leaf deviceID) bool {
	n, sum := 0., 0.
	for _, l := range t.waits.in.of(leaf) {
		if v := t.values[l]; t.waits.fromHost(l) && v != linkset.Missing && t.node[l] < 0 {
			n, sum = n+1, sum+float64(v)
		}
	}
	return n == 0 || sum > n*(t.noise.Mean+waitSigmas*t.noise.Base)
}

// isWithinPod reports whether both ends of a link are in one pod or group; a host is where its leaf is.
func (w *waits) isWithinPod(link linkID) bool {
	from, to := w.group[w.from[link]], w.group[w.to[link]]
	return w.fromHost(link) && to >= 0 || w.toHost(link) && from >= 0 || from >= 0 && from == to
}

// below identifies leaves that exchange over the same switches: the first switch above, by name, or without any the group,
// numbered after the names.
func (w *waits) below(leaf deviceID) aboveID {
	first := nameRank(math.MaxInt32)
	for _, l := range w.out.of(leaf) {
		if w.isUp(l) {
			first = min(first, w.byName[w.to[l]])
		}
	}
	if first == math.MaxInt32 {
		return aboveID(w.byName.len()) + 1 + aboveID(w.group[leaf]) // the group may be -1
	}
	return aboveID(first)
}
