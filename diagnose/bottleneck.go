package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// neck is a link of a grid between switches that packets wait for: it carries what it can, or less than it did.
type neck struct {
	link   schema.LinkID
	tail   topology.DeviceID // the end from which packets enter it
	fit    float64           // how well what is seen and the tree that leads to it agree, 0 to 1; 0: none
	waits  float64           // share of time that packets wait for it
	score  float64           // share, by how much waits for it
	lost   float64           // share of what it carried before the onset that it does not carry now; 0 of a full link
	share  float64           // of the region's links that stall, how many it claims
	slower bool              // it carries clearly less than before the onset
	cannot bool              // its waits show that it cannot carry its capacity
	sole   bool              // and is the only way on that does, where the region ends
}

const (
	// neckFit is the least fit of the tree before a link for it to be called the root.
	neckFit = .45
	// By how much less a link's tree may agree than that of a switch, if packets always wait for it, or if it
	// carries nothing any more: that is measured, and what a switch does not take is not.
	neckWaits, neckLost = .6, .35
	// neckStall is the most that a link stalls itself, percent, if packets wait for it.
	neckStall = 10
	// mostlyWaits is the share of time that packets wait for a link at least if what leads to it need not be a tree of
	// suspects.
	mostlyWaits = .5
	// leastWaits is what is taken for a wait that was not seen.
	leastWaits = .1
	// maxNecks bounds the links of a region that are tried.
	maxNecks = 6
)

// neckOf finds the link before which the region lies: of those that are full, or carry clearly less than before,
// and do not wait themselves, the one that most of the region's links lead to and most packets wait for.
func (s *Stage) neckOf(rc *regionCase, p *pressure) neck {
	best := neck{link: schema.NoLink}
	if s.router.Grid == nil || !s.graph.Duplex() || len(s.work.held.devices) == 0 {
		return best
	}
	h := &s.work.held
	senders := rc.likeliestSenders()
	h.listNecks(p)
	h.resetClaims()
	h.listStalled(p)
	for i, n := range h.necks {
		h.claimant, h.urgency = i, max(leastWaits, p.waitsFor(n.link))
		from, to := s.graph.Ends(n.link)
		for _, tail := range [2]topology.DeviceID{from, to} {
			for _, i := range senders {
				pass := s.router.Grid.Passage(s.routesOf(rc.jobs[i].job), n.link, tail)
				h.claimPassage(&pass)
			}
		}
	}
	h.countClaims()
	p.spreadOnGrid(rc)
	for i := range h.necks {
		h.necks[i].share = h.share(i)
	}
	best = h.mostWaitedFor(p)
	if best.link != schema.NoLink {
		best.tail, best.fit = s.neckAt(rc, senders, best.link, p)
	}
	if n := s.flatNeck(rc, p); n.link != schema.NoLink {
		return n
	}
	if rc.load < steadyLoad && !rc.flooded && !best.before(&rc.drain) {
		if n := p.soleWay(rc); n.link != schema.NoLink {
			return n
		}
	}
	return best
}

// mostWaitedFor is the link that most of a region waits for: by its share of the region's stall that was followed to it,
// and, of a full one, as much by its share of the links that it claims by what suspects send over it. What a link that
// lost rate holds back need not be an exchange of theirs.
func (h *held) mostWaitedFor(p *pressure) (best neck) {
	best.link = schema.NoLink
	followed := 0.
	for _, l := range p.ends.known {
		followed += p.ends.ports[l]
		if h.tried[l] != h.round {
			n := neck{link: l, waits: p.waitsFor(l), slower: !p.isFull(l)}
			if n.slower {
				n.lost, n.cannot = 1-p.remains(l), p.rateLeft(l) < clearlyLess
			}
			h.necks = append(h.necks, n)
		}
	}
	for i := range h.necks {
		n := &h.necks[i]
		if followed > 0 {
			led := p.ends.ports[n.link] / followed
			if n.share = (n.share + led) / 2; n.slower {
				n.share = led
			}
		}
		if n.score = n.share * math.Sqrt(max(leastWaits, n.waits)); n.slower {
			n.score *= n.lost
		}
		if n.score > best.score {
			best = *n
		}
	}
	return best
}

// listNecks lists the links at a region that may be what it waits for: where they are many, those that most waits
// for.
func (h *held) listNecks(p *pressure) {
	h.necks = h.necks[:0]
	for _, d := range h.devices {
		for _, l := range p.graph.LinksAt(d) {
			if h.tried[l] == h.round || h.grid.Dim(l) < 0 {
				continue
			}
			h.tried[l] = h.round
			if n, may := p.neckAt(l); may {
				h.necks = append(h.necks, n)
			}
		}
	}
	if len(h.necks) > maxNecks {
		slices.SortStableFunc(h.necks, func(a, b neck) int { return cmp.Compare(b.score, a.score) })
		h.necks = h.necks[:maxNecks]
	}
}

// neckAt rates a link by how much waits for it, if that may be what a region waits for.
func (p *pressure) neckAt(l schema.LinkID) (n neck, may bool) {
	n = neck{link: l, waits: p.waitsFor(l), slower: !p.isFull(l)}
	n.score = max(leastWaits, n.waits)
	if !n.slower {
		return n, true
	}
	if p.stallOf(l) > neckStall || p.heldBehind(l) {
		return n, false
	}
	left := p.remains(l)
	n.lost, n.cannot = 1-left, p.rateLeft(l) < clearlyLess
	n.score *= n.lost
	return n, left < clearlyLess
}

// remains is the share that is left of what a link carried before the onset or, where its waits show that it can send less,
// of its capacity.
func (p *pressure) remains(l schema.LinkID) float64 { return min(p.left(l), p.rateLeft(l)) }

// rateLeft is the share of its capacity that a link can send, as far as its waits bound that: while packets wait for it
// inside the switch and it has credits it sends, so that it carries its rate for so much of the time at least. It is 1
// where packets do not mostly wait.
func (p *pressure) rateLeft(l schema.LinkID) float64 {
	if p.credit == nil || !p.credit.Valid.Has(int(l)) {
		return 1
	}
	sends, use := p.waitsFor(l)-float64(p.credit.Values[l])/100, p.useOf(l)
	if sends < mostlyWaits || use < 0 {
		return 1
	}
	return min(1, use/100/sends)
}

// isFull reports whether a link carries what it can in a direction in which it does not stall: while a link stalls
// it does not send, so that in one direction both together are at most all of the time.
func (p *pressure) isFull(l schema.LinkID) bool {
	use, stall := p.useOf(l), p.stallOf(l)
	return use >= saturatedPercent-5 && (stall <= neckStall || use+stall > 100+neckStall)
}

// maxFitted bounds the failures near a region whose links are compared with it.
const maxFitted = 8

// fitFailures finds to which of the links that failed together most of the region leads.
func (s *Stage) fitFailures(rc *regionCase, p *pressure) {
	tried := rc.failures[:min(len(rc.failures), maxFitted)]
	if !s.graph.Duplex() {
		p.endsAt(tried)
		return
	}
	if s.router.Grid == nil {
		return
	}
	senders := rc.likeliestSenders()
	h := &s.work.held
	h.dead = h.dead[:0]
	for i := range tried {
		if f := &tried[i]; f.Port != "" && f.broke() {
			h.dead = append(h.dead, f.links...)
		}
	}
	defer func() { h.dead = h.dead[:0] }()
	h.resetClaims()
	for i := range tried {
		if f := &tried[i]; f.Port != "" && len(f.links) > 0 && s.router.Grid.Dim(f.links[0]) >= 0 {
			s.claimFor(rc, senders, i, f.links[0], p)
		}
	}
	h.countClaims()
	for i := range tried {
		tried[i].share = h.share(i)
	}
}

// endsAt finds how much of the stall that was followed ends at the switches which links that failed leave.
func (p *pressure) endsAt(failures []nearFailure) {
	for _, last := range p.ends.last {
		_, to := p.graph.Ends(last)
		for i := range failures {
			for _, l := range failures[i].links {
				if at, _ := p.graph.Ends(l); at == to {
					failures[i].share += p.ends.at[last]
				}
			}
		}
	}
}

// before reports whether the region lies before the link rather than around the switch: the trees of suspects over it agree,
// or most of the region was followed to it and packets wait for it most of the time.
func (n *neck) before(d *drain) bool {
	followed := n.waits >= mostlyWaits && n.share*n.waits >= rootShare*mostlyWaits
	tree := d.tree
	if d.fit >= surelyDrains && !d.grew {
		tree = d.fit // the links where it ends say more than all alike
	}
	return n.sole || (n.fit >= neckFit || followed) && n.fit+max(neckWaits*n.waits, neckLost*n.lost) > tree
}

// slowLink is the link that lost rate, if that is what a region is blamed on.
func (rc *regionCase) slowLink() schema.LinkID {
	if rc.back.slower {
		return rc.back.link
	}
	return rc.neck.link
}

// endMargin is how much better the trees at the second end of a link must fit for that end to be the root: where
// traffic waits at both, the verdict does not change ends from interval to interval.
const endMargin = .1

// neckAt is how well the trees of suspects that lead to a link agree with what is seen, from the end at which they do
// better.
func (s *Stage) neckAt(rc *regionCase, senders []int, l schema.LinkID, p *pressure) (tail topology.DeviceID, fit float64) {
	h := &s.work.held
	from, to := s.graph.Ends(l)
	ends, fits := [2]topology.DeviceID{from, to}, [2]float64{}
	for end, tail := range ends {
		for _, i := range senders {
			if h.tree.Upstream(s.routesOf(rc.jobs[i].job), l, tail, h.dead); len(h.tree.Links) > 0 {
				fits[end] = max(fits[end], h.agreement(p))
			}
		}
	}
	if fits[1] > fits[0]+endMargin {
		return to, fits[1]
	}
	return from, max(fits[0], fits[1])
}

// claimFor lets a link claim what suspects send over it, from either end, and what failed lets pass: route by route.
func (s *Stage) claimFor(rc *regionCase, senders []int, claimant int, l schema.LinkID, p *pressure) {
	h := &s.work.held
	h.claimant, h.urgency = claimant, max(leastWaits, p.waitsFor(l))
	from, to := s.graph.Ends(l)
	for _, tail := range [2]topology.DeviceID{from, to} {
		for _, i := range senders {
			h.tree.Upstream(s.routesOf(rc.jobs[i].job), l, tail, h.dead)
			h.claim(p)
		}
	}
}
