package segment

import (
	"cmp"
	"math"
)

// pieces are sets of links of about one level, and the borders between them.
// Piece 0 is the background; its level stands. Links are counted by their place
// in the hot part.
type pieces struct {
	price  float64 // of a unit of border, in variances of the noise
	label  []int32 // by link: its piece
	size   []int32
	sum    []int64   // of the levels, in levelUnit
	mean   []float64 // level
	border borders

	raw    []int32     // by link: level, in levelUnit
	level  []int32     // by link: hardly beyond those of its neighbours
	touch  borders     // by link + 1: what links touch, as if each were a piece
	best   []candidate // by piece
	joined unionFind
	number []int32 // by piece: its number after the next renumbering
	group  []int32 // pieces by that number
	begins []int32
	seen   []int32
	spare  struct {
		size    []int32
		sum     []int64
		borders [2]borders
		turn    int
	}
}

// borders lists for every piece, except the background, what it touches.
type borders struct {
	begin []int32 // by piece; one more
	all   []border
}

// border is with another piece.
type border struct {
	to     int32
	length uint32 // in borderUnit
}

const (
	levelUnit  = 1. / 1024 // deviations of the noise
	borderUnit = 1. / 64   // of what borderUnits counts
	// cheap is the cost at which a piece joins another without asking: it is well
	// below what chance makes of one level, and rounds become few.
	cheap = .2
	// beyond is by what the distance of a link from all its neighbours' levels is
	// divided. It is not lost, so that no two links become the same.
	beyond = 32
	// dominant is how many times as large a piece must be for others to join it
	// without asking: its mean hardly changes.
	dominant = 8
)

func (b *borders) reset() {
	b.begin, b.all = append(b.begin[:0], 0, 0), b.all[:0]
}

// reserve makes room for all that other holds.
func (b *borders) reserve(other *borders) {
	b.begin, b.all = resize(b.begin, len(other.begin)), resize(b.all, len(other.all))
}

func (b *borders) add(to int32, length uint32) { b.all = append(b.all, border{to, length}) }

func (b *borders) endPiece() { b.begin = append(b.begin, int32(len(b.all))) }

func (b *borders) of(p int32) []border { return b.all[b.begin[p]:b.begin[p+1]] }

// begin makes each link of the hot part a piece.
func (p *pieces) begin(values []float32, hot *hotPart, noise *noise) {
	n := len(hot.links)
	p.raw, p.level = resize(p.raw, n), resize(p.level, n)
	for i, l := range hot.links {
		p.raw[i] = int32(noise.level(float64(values[l]))/levelUnit + .5)
	}
	background := int32(noise.level(noise.calm)/levelUnit + .5)
	p.touch.reset()
	p.seen = resize(p.seen, n)
	for i := range p.seen {
		p.seen[i] = -1
	}
	for i, l := range hot.links {
		p.level[i] = p.beginLink(int32(i), l, background, hot)
		p.touch.endPiece()
	}
	p.scatter(endless, endless*int64(background))
}

// endless is the size of the background: nothing moves its level, and it is never
// too small to stand.
const endless = math.MaxInt32

// scatter makes each link a piece, in front of a background of so many links
// and of that sum.
func (p *pieces) scatter(calm int32, sum int64) {
	n := len(p.level) + 1
	p.label, p.size, p.sum = resize(p.label, n-1), resize(p.size, n), resize(p.sum, n)
	p.spare.size, p.spare.sum = resize(p.spare.size, n), resize(p.spare.sum, n)
	for i := range p.spare.borders {
		p.spare.borders[i].reserve(&p.touch)
	}
	p.size[0], p.sum[0] = calm, sum
	for i, level := range p.level {
		p.label[i], p.size[i+1], p.sum[i+1] = int32(i)+1, 1, int64(level)
	}
	p.border = p.touch
	p.findMeans()
}

// beginLink lists the neighbours of a link and returns its level, hardly beyond
// theirs: a value that is far from all around it is an error of measurement, or
// will not make a region.
func (p *pieces) beginLink(i, l, background int32, hot *hotPart) int32 {
	low, high := int32(math.MaxInt32), int32(math.MinInt32)
	calm, begin := uint32(0), int32(len(p.touch.all))
	a, b := hot.placesOf(l)
	for _, place := range [2]int32{a, b} {
		if place == noSwitch {
			continue
		}
		links := hot.at(place)
		around := int32(len(links)) + hot.calm[place] - 1
		if around == 0 {
			continue
		}
		share := uint32(max(1, borderUnits/borderUnit/float64(around)+.5))
		for _, j := range links {
			if j == i {
				continue
			}
			if at := p.seen[j]; at >= begin { // at the other place too
				p.touch.all[at].length += share
				continue
			}
			p.seen[j] = int32(len(p.touch.all))
			p.touch.add(j+1, share)
			low, high = min(low, p.raw[j]), max(high, p.raw[j])
		}
		calm += share * uint32(hot.calm[place])
	}
	if calm > 0 {
		p.touch.add(0, calm)
		low, high = min(low, background), max(high, background)
	}
	if low > high {
		return p.raw[i]
	}
	within := max(low, min(high, p.raw[i]))
	return within + (p.raw[i]-within)/beyond
}

func (p *pieces) count() int { return len(p.size) }

func (p *pieces) findMeans() {
	p.mean = resize(p.mean, len(p.size))
	for i := range p.mean {
		p.mean[i] = float64(p.sum[i]) * levelUnit / float64(max(1, p.size[i]))
	}
}

// mergeAll removes borders that are not worth their length, then gives pieces
// too small to be regions to their likest neighbour, after which other borders
// may have lost their worth.
func (p *pieces) mergeAll(minLinks int32) {
	for p.round(p.worth) {
	}
	p.absorb(minLinks)
	for p.round(p.worth) {
	}
}

// absorb gives pieces of fewer links to their likest neighbour.
func (p *pieces) absorb(minLinks int32) {
	likest := func(a, b int32, _ uint32) float64 {
		if min(p.size[a], p.size[b]) >= minLinks {
			return math.Inf(1)
		}
		return math.Abs(p.mean[a] - p.mean[b])
	}
	for p.round(likest) {
	}
}

// worth is the rise of the squared error per unit of border if the two pieces
// were one, or infinite if the border is worth that. A border along a neck costs
// less than its length.
func (p *pieces) worth(a, b int32, length uint32) float64 {
	apart := p.mean[a] - p.mean[b]
	na, nb := float64(p.size[a]), float64(p.size[b])
	// Both are na+nb times as large, which saves divisions.
	rise, units := apart*apart*(na*nb), float64(length)*borderUnit*(na+nb)
	if rise >= p.price*units { // most borders are far from worthless
		return math.Inf(1)
	}
	if full := neck * (na * nb); units < full {
		units *= units / full
	}
	if rise >= p.price*units {
		return math.Inf(1)
	}
	return rise / units
}

// round joins pieces that suit each other best, at the least cost, and says
// whether there were any. A cost is the same from both sides, and infinite where
// a border must stay.
func (p *pieces) round(cost func(a, b int32, length uint32) float64) (joined bool) {
	n := p.count()
	p.best = resize(p.best, n)
	p.joined.reset(n)
	for a := range p.best {
		p.best[a] = candidate{piece: -1, cost: math.Inf(1)}
	}
	for a := int32(1); a < int32(n); a++ {
		for _, with := range p.border.of(a) {
			b := with.to
			if b > 0 && b < a {
				continue // seen from there
			}
			c := cost(a, b, with.length)
			if c > math.MaxFloat64 {
				continue
			}
			if c == 0 { // the same: all of them, or their numbers would choose
				p.joined.union(a, b)
				joined = true
				continue
			}
			if c <= p.best[a].cost {
				p.offer(a, candidate{b, with.length, c})
			}
			if b > 0 && c <= p.best[b].cost {
				p.offer(b, candidate{a, with.length, c})
			}
		}
	}
	for a := int32(1); a < int32(n); a++ {
		b, cost := p.best[a].piece, p.best[a].cost
		if b >= 0 && (b == 0 || cost <= cheap || p.best[b].piece == a || p.size[b] >= dominant*p.size[a]) {
			p.joined.union(a, b)
			joined = true
		}
	}
	if joined {
		p.contract()
	}
	return joined
}

// candidate is a piece to join, at the cost of a border of a length.
type candidate struct {
	piece  int32 // or -1
	length uint32
	cost   float64
}

// offer takes a candidate for a piece if it is better than the one so far.
func (p *pieces) offer(to int32, c candidate) {
	best := &p.best[to]
	if c.cost < best.cost || best.piece >= 0 && p.before(c.piece, best.piece, c.length, best.length) {
		*best = c
	}
}

// before breaks a tie between two pieces: the longer border, the larger piece,
// the higher level, the higher levels around. Numbers decide last: they mean
// nothing.
func (p *pieces) before(a, b int32, lengthA, lengthB uint32) bool {
	if c := cmp.Or(cmp.Compare(lengthB, lengthA), cmp.Compare(p.size[b], p.size[a]), cmp.Compare(p.sum[b], p.sum[a])); c != 0 {
		return c < 0
	}
	return cmp.Or(cmp.Compare(p.around(b), p.around(a)), cmp.Compare(a, b)) < 0
}

// around is the sum of the levels beside a piece, by length of border.
func (p *pieces) around(a int32) (sum int64) {
	for _, with := range p.border.of(a) {
		sum += int64(with.length) * (p.sum[with.to] / int64(max(1, p.size[with.to])))
	}
	return sum
}

// contract makes one piece of each set of joined ones.
func (p *pieces) contract() {
	p.number = resize(p.number, p.count())
	count := int32(0)
	for a := range int32(p.count()) { // roots are the least of their set: they come first
		if root := p.joined.find(a); root == a {
			p.number[a] = count
			count++
		} else {
			p.number[a] = p.number[root]
		}
	}
	p.renumber(count)
}

// renumber makes one piece of those of one number; 0 is the background's.
func (p *pieces) renumber(count int32) {
	p.groupBy(count)
	p.joinBorders(count)
	size, sum := resize(p.spare.size, int(count)), resize(p.spare.sum, int(count))
	clear(size)
	clear(sum)
	for a, to := range p.number {
		if to != 0 { // the background stays as it is
			size[to] += p.size[a]
			sum[to] += p.sum[a]
		}
	}
	size[0], sum[0] = p.size[0], p.sum[0]
	p.size, p.spare.size = size, p.size
	p.sum, p.spare.sum = sum, p.sum
	p.findMeans()
	for i, a := range p.label {
		p.label[i] = p.number[a]
	}
}

// regroup makes one piece of the links of one label, each less than labels; 0 is
// the background's.
func (p *pieces) regroup(label []int32, labels int32) {
	p.scatter(p.size[0], p.sum[0])
	p.number = resize(p.number, p.count())
	p.number[0] = 0
	p.seen = resize(p.seen, int(labels))
	clear(p.seen)
	count := int32(1)
	for i, a := range label {
		if a != 0 && p.seen[a] == 0 {
			p.seen[a] = count
			count++
		}
		p.number[i+1] = p.seen[a]
	}
	p.renumber(count)
}

// groupBy lists the pieces by their new number: those of number a are
// group[begins[a]:begins[a+1]].
func (p *pieces) groupBy(count int32) {
	p.begins = resize(p.begins, int(count)+2)
	clear(p.begins)
	for _, a := range p.number {
		p.begins[a+2]++
	}
	for a := range count {
		p.begins[a+2] += p.begins[a+1]
	}
	p.group = resize(p.group, len(p.number))
	for a, to := range p.number {
		p.group[p.begins[to+1]] = int32(a)
		p.begins[to+1]++
	}
}

// joinBorders adds up the borders of grouped pieces.
func (p *pieces) joinBorders(count int32) {
	p.seen = resize(p.seen, int(count))
	for i := range p.seen {
		p.seen[i] = -1
	}
	p.spare.turn = 1 - p.spare.turn
	next := &p.spare.borders[p.spare.turn]
	next.reset()
	for a := int32(1); a < count; a++ {
		begin := int32(len(next.all))
		for _, old := range p.group[p.begins[a]:p.begins[a+1]] {
			for _, with := range p.border.of(old) {
				b := p.number[with.to]
				if b == a {
					continue
				}
				if at := p.seen[b]; at >= begin {
					next.all[at].length += with.length
				} else {
					p.seen[b] = int32(len(next.all))
					next.add(b, with.length)
				}
			}
		}
		next.endPiece()
	}
	p.border = *next
}
