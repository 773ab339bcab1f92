package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// exchanging is a region whose leaves send as those of an exchange: all their hosts or all their uplinks wait, and no
// visible port explains it. They wait for ports that are full but not stalled. Beside trees see hostExchanges.
type exchanging struct {
	patch       patchID
	below       backpressure.Above // see the method below
	mean, error float64            // of the links from hosts, percent, with its standard error
	spread      float64            // their standard deviation
	leaves      int                // also of those it was joined with
	isPiece     bool               // one leaf's hosts, all of which wait, and which pass more than one port would
}

const (
	nearlyAll      = .85 // share of a leaf's hosts, of a region's links and of its hosts
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
	for k := range p.all.Len() {
		if x, ok := p.exchangingAt(m, k); ok {
			p.exchanging = append(p.exchanging, x)
		}
	}
	slices.SortFunc(p.exchanging, func(a, b exchanging) int {
		return cmp.Or(cmp.Compare(a.below, b.below), cmp.Compare(a.mean, b.mean), cmp.Compare(a.patch, b.patch))
	})
	for k := 1; k < len(p.exchanging); k++ {
		a, b := &p.exchanging[k-1], &p.exchanging[k]
		areAlike := a.below == b.below && b.mean-a.mean <= exchangeErrors*math.Hypot(a.error, b.error)
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

// shareHosts reports whether more than mostShared of the hosts of the smaller of two regions are in both: these are two
// trees into which the same hosts send.
func (p *patches) shareHosts(m *Method, a, b *exchanging) bool {
	p.isWaiting = scratch.Zeroed(p.isWaiting, len(m.Links))
	hosts, both := [2]int{}, 0
	for k, x := range [2]*exchanging{a, b} {
		for _, i := range p.nodesOf(&p.all[x.patch]) {
			if !m.FromHost(i) {
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
	p.all[p.sets.Union(a.patch, b.patch)].root = backpressure.NoRoot
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
	if nodes := p.nodesOf(x); x.beside != noRegion || m.isReceiver(x.root) || m.alsoSends(nodes, x.root) {
		return out, false
	}
	n, sum, squares, sending := 0., 0., 0., 0.
	leaf, sends := index.Device(-1), false
	nodes := p.nodesOf(x)
	for _, i := range nodes {
		if !m.FromHost(i) {
			continue
		}
		n, sum, squares = n+1, sum+m.Stall[i], squares+m.Stall[i]*m.Stall[i]
		if m.To[i] != leaf {
			leaf = m.To[i]
			out.leaves++
			sends = m.allSend(leaf)
			out.below = min(out.below, m.Graph.Below(leaf))
		}
		if sends {
			sending++
		}
	}
	out.isPiece = out.leaves == 1 && int(n) == len(nodes) && 100*n-sum > mostPortPasses && m.restWaits(leaf)
	if n < backpressure.MinFeeders || sending < nearlyAll*n {
		return out, false
	}
	out.mean = sum / n
	out.spread = math.Sqrt(max(0, squares/n-out.mean*out.mean))
	out.error = out.spread/math.Sqrt(n) + m.Noise.Sigma(out.mean)/math.Sqrt(n)
	return out, true
}

// isReceiver reports whether a root is a stalled link that explains why others wait: not a port to a host that itself
// waits to send, as hosts of an exchange do.
func (t *trees) isReceiver(r backpressure.Root) bool {
	if r.Link == schema.NoLink || !t.Graph.ToHost(index.Link(r.Link)) {
		return r.Link != schema.NoLink
	}
	return !t.WaitsToSend(t.Graph.To[index.Link(r.Link)])
}

// alsoSends reports whether a region has a receiver that also sends: its root is the only port to a host of its leaf that stalls,
// clearly more than the host waits to send, and hosts of other leaves wait for it, over several links into its leaf.
func (t *trees) alsoSends(nodes []index.Node, r backpressure.Root) bool {
	if r.Link == schema.NoLink || t.Node[index.Link(r.Link)] < 0 || t.Feeders[r.Device] < backpressure.MinFeeders {
		return false
	}
	port := t.Node[index.Link(r.Link)]
	isOther := func(i index.Node) bool { return i != port && t.ToHost(i) }
	waitsAsMuch := func(i index.Node) bool { return !t.IsClearlyAbove(t.Stall[port], t.Stall[i]) }
	comes := func(i index.Node) bool { return t.FromHost(i) && t.To[i] != r.Device }
	return !slices.ContainsFunc(t.Leaving.Of(r.Device), isOther) && !slices.ContainsFunc(t.Leaving.Of(t.To[port]), waitsAsMuch) &&
		slices.ContainsFunc(nodes, comes)
}

// allSend reports whether nearly all hosts of a leaf wait, even if some too little to count, or nearly all its uplinks.
func (t *trees) allSend(leaf index.Device) bool {
	w := t.Graph
	most := func(links []index.Link, counts func(index.Link) bool) bool {
		measured, stalled := 0., 0.
		for _, l := range links {
			if counts(l) && t.Values[l] != linkset.Missing {
				measured++
				if t.Node[l] >= 0 {
					stalled++
				}
			}
		}
		return stalled > 0 && stalled >= nearlyAll*measured
	}
	return most(w.In.Of(leaf), w.FromHost) || most(w.Out.Of(leaf), w.IsUp) || t.restWaits(leaf)
}

// restWaits reports whether the hosts of a leaf that are not stalled wait, too, though too little to count. The receiver
// of a tree in its leaf does not.
func (t *trees) restWaits(leaf index.Device) bool {
	n, sum := 0., 0.
	for _, l := range t.Graph.In.Of(leaf) {
		if v := t.Values[l]; t.Graph.FromHost(l) && v != linkset.Missing && t.Node[l] < 0 {
			n, sum = n+1, sum+float64(v)
		}
	}
	return n == 0 || sum > n*(t.Noise.Mean+waitSigmas*t.Noise.Base)
}
