package segment

import (
	"cmp"
	"math"
	"slices"
)

// cores judges pieces by their inside. Stall falls off at the edge of a region
// (by up to a quarter), so two regions that touch are most alike where they do,
// and the edge of one may be like the inside of the other. What is inside, all
// around of one piece, tells them apart.
type cores struct {
	inner pieces // of links that are inside

	links   []int32   // inside, by their place in the hot part
	at      []int32   // by link of the hot part: its place in links, or -1
	inside  []int32   // by piece: links inside
	parts   []int32   // by piece: cores that count
	number  []int32   // by core: the piece that it makes, or 0
	label   []int32   // by link of the hot part: its piece then, or unknown
	unknown []int32   // links without a piece yet
	elected []int32   // by place in unknown: its piece, or -1
	votes   []int32   // by piece then
	mean    []float64 // by piece then: of the core that it was made of
	error   []float64 // likewise: variance of that mean
	size    []int32   // by piece then: links
	united  unionFind // pieces then

	contacts []contact // of parts of one piece, each pair together
}

const (
	innerPrice = 2  // of a border between links inside; see borderPrice
	minCore    = 15 // links
	// Cores of one region differ less than this, by its slope, or by no more
	// standard errors than that; regions whose edges are all there is (rows,
	// trees) fall apart less than thinRatio.
	coreRatio  = 1.15
	coreErrors = 3
	seam       = .1 // of a border per link, from which parts touch all along
	thinRatio  = 1.3
	thinPrice  = 8
	thinShare  = .1 // of links inside, up to which a piece is all edge
)

// split takes pieces with several cores apart, after it has put together what is
// all edge and alike.
func (c *cores) split(p *pieces, noise *noise) {
	c.findInside(p)
	c.joinThin(p, noise)
	c.begin(p)
	c.merge(noise)
	if c.countParts(p) {
		c.label = resize(c.label, len(p.label))
		c.assign(p)
		c.grow(p)
		c.unite(p)
		p.regroup(c.label, int32(len(c.votes)))
	}
}

// findInside lists the links whose neighbours are all of their own piece.
func (c *cores) findInside(p *pieces) {
	c.links = c.links[:0]
	c.at = resize(c.at, len(p.label))
	for i, a := range p.label {
		c.at[i] = -1
		if a != 0 && p.isInside(int32(i)) {
			c.at[i] = int32(len(c.links))
			c.links = append(c.links, int32(i))
		}
	}
	c.countInside(p)
}

func (c *cores) countInside(p *pieces) {
	c.inside = resize(c.inside, p.count())
	clear(c.inside)
	for _, i := range c.links {
		c.inside[p.label[i]]++
	}
}

func (p *pieces) isInside(i int32) bool {
	for _, t := range p.touch.of(i + 1) {
		if t.to == 0 || p.label[t.to-1] != p.label[i] {
			return false
		}
	}
	return true
}

// joinThin joins pieces that are all edge at a higher price: there is little to tell
// them from one that is not even.
func (c *cores) joinThin(p *pieces, noise *noise) {
	price := p.price
	p.price = thinPrice
	for p.round(c.thin(p, noise)) {
		c.countInside(p)
	}
	p.price = price
}

func (c *cores) thin(p *pieces, noise *noise) func(a, b int32, length uint32) float64 {
	return func(a, b int32, length uint32) float64 {
		if a == 0 || b == 0 || c.isThick(p, a) || c.isThick(p, b) || stallRatio(p, noise, a, b) >= thinRatio {
			return math.Inf(1)
		}
		return p.worth(a, b, length)
	}
}

func (c *cores) isThick(p *pieces, a int32) bool {
	return float64(c.inside[a]) > thinShare*float64(p.size[a])
}

// stallRatio is how many times as much the more stalled of two pieces is.
func stallRatio(p *pieces, noise *noise, a, b int32) float64 {
	x, y := noise.stall(p.mean[a]), noise.stall(p.mean[b])
	return max(x, y) / max(minBase, min(x, y))
}

// begin makes each link inside a piece of its own, without what is outside.
func (c *cores) begin(p *pieces) {
	q := &c.inner
	q.level = resize(q.level, len(c.links))
	q.touch.reset()
	for k, i := range c.links {
		q.level[k] = p.level[i]
		for _, t := range p.touch.of(i + 1) {
			if at := c.at[t.to-1]; at >= 0 {
				q.touch.add(at+1, t.length)
			}
		}
		q.touch.endPiece()
	}
	q.scatter(0, 0)
}

// merge makes cores of the links inside.
func (c *cores) merge(noise *noise) {
	q := &c.inner
	for q.round(q.worth) {
	}
	q.absorb(minCore)
	alike := func(a, b int32, length uint32) float64 {
		if ratio := stallRatio(q, noise, a, b); ratio < coreRatio {
			return ratio - 1
		}
		return 1 + q.worth(a, b, length)
	}
	for q.round(alike) {
	}
}

// countParts numbers the cores of pieces that have several, after all pieces,
// and says whether there are any.
func (c *cores) countParts(p *pieces) bool {
	q := &c.inner
	c.parts = resize(c.parts, p.count())
	clear(c.parts)
	c.number = resize(c.number, q.count())
	for k, i := range c.links { // any link of a core tells its piece
		c.number[q.label[k]] = p.label[i]
	}
	for a := 1; a < q.count(); a++ {
		if q.size[a] >= minCore {
			c.parts[c.number[a]]++
		}
	}
	next := int32(p.count())
	c.mean, c.error = resize(c.mean, p.count()+q.count()), resize(c.error, p.count()+q.count())
	for a := 1; a < q.count(); a++ {
		if q.size[a] >= minCore && c.parts[c.number[a]] > 1 {
			c.number[a], c.mean[next], c.error[next] = next, q.mean[a], 1/float64(q.size[a])
			next++
		} else {
			c.number[a] = 0
		}
	}
	c.votes = resize(c.votes, int(next))
	clear(c.votes)
	return int(next) > p.count()
}

// assign labels links with their core's number, or their piece's if it stays
// whole. The others are unknown.
func (c *cores) assign(p *pieces) {
	c.unknown = c.unknown[:0]
	for i, a := range p.label {
		c.label[i] = a
		if c.parts[a] < 2 {
			continue
		}
		c.label[i] = -1
		if k := c.at[i]; k >= 0 && c.number[c.inner.label[k]] > 0 {
			c.label[i] = c.number[c.inner.label[k]]
		} else {
			c.unknown = append(c.unknown, int32(i))
		}
	}
}

// grow gives unknown links, ring by ring, to the core that most of their known
// neighbours belong to; what no core can reach stays the old piece.
func (c *cores) grow(p *pieces) {
	for grown := true; grown; {
		c.elected = c.elected[:0]
		for _, i := range c.unknown {
			c.elected = append(c.elected, c.elect(p, i))
		}
		left := c.unknown[:0]
		for k, i := range c.unknown {
			if c.label[i] = c.elected[k]; c.label[i] < 0 {
				left = append(left, i)
			}
		}
		grown = len(left) < len(c.unknown)
		c.unknown = left
	}
	for _, i := range c.unknown {
		c.label[i] = p.label[i]
	}
}

// unite makes one again of parts of a piece that touch all along and whose means
// chance may tell apart: a switch that was not measured, or one bad value, cuts a
// narrow inside in two.
func (c *cores) unite(p *pieces) {
	c.findContacts(p)
	c.united.reset(len(c.votes))
	for i := 0; i < len(c.contacts); {
		a, b, length := c.contacts[i].a, c.contacts[i].b, uint32(0)
		for ; i < len(c.contacts) && c.contacts[i].a == a && c.contacts[i].b == b; i++ {
			length += c.contacts[i].length
		}
		perLink := float64(length) * borderUnit * (1/float64(c.size[a]) + 1/float64(c.size[b]))
		chance := coreErrors * math.Sqrt(c.error[a]+c.error[b])
		if perLink >= seam && math.Abs(c.mean[a]-c.mean[b]) < chance {
			c.united.union(a, b)
		}
	}
	for i, a := range c.label {
		c.label[i] = c.united.find(a)
	}
}

// findContacts lists where parts of one piece touch, each pair together, and counts
// their links.
func (c *cores) findContacts(p *pieces) {
	c.contacts, c.size = c.contacts[:0], resize(c.size, len(c.votes))
	clear(c.size)
	first := int32(p.count()) // that is made of a core
	for i, a := range c.label {
		c.size[a]++
		if a < first {
			continue
		}
		for _, t := range p.touch.of(int32(i) + 1) {
			if t.to > 0 && a < c.label[t.to-1] && p.label[t.to-1] == p.label[i] {
				c.contacts = append(c.contacts, contact{a, c.label[t.to-1], t.length})
			}
		}
	}
	slices.SortFunc(c.contacts, func(x, y contact) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
}

// contact is how much links of two parts touch.
type contact struct {
	a, b   int32
	length uint32
}

// elect is the piece of most neighbours that were of one piece with a link, or
// -1; of equals the likest.
func (c *cores) elect(p *pieces, i int32) int32 {
	around, best := p.touch.of(i+1), int32(-1)
	for _, t := range around {
		if t.to == 0 || p.label[t.to-1] != p.label[i] || c.label[t.to-1] < 0 {
			continue
		}
		a := c.label[t.to-1]
		c.votes[a] += int32(t.length)
		if best < 0 || c.votes[a] > c.votes[best] || c.votes[a] == c.votes[best] && c.apart(p, i, a) < c.apart(p, i, best) {
			best = a
		}
	}
	for _, t := range around {
		if t.to > 0 && c.label[t.to-1] >= 0 {
			c.votes[c.label[t.to-1]] = 0
		}
	}
	return best
}

// apart is how far the level of a link is from a core's mean.
func (c *cores) apart(p *pieces, i, core int32) float64 {
	return math.Abs(float64(p.level[i])*levelUnit - c.mean[core])
}
