package segment

import "math"

// pieces are sets of links of about one level, and the borders between them.
// Piece 0 is the background; its level stands.
type pieces struct {
	label  []int32 // by link of the hot part: its piece
	size   []int32
	sum    []int64   // of the levels, in levelUnit
	mean   []float64 // level
	border borders

	level  []int32 // by link of the hot part, in levelUnit
	best   []int32 // by piece: the piece to join, or -1
	joined unionFind
	spare  borders // and what follows: where contract works
	number []int32
	group  []int32
	begins []int32
	seen   []int32
}

// borders lists for every piece, except the background, what it touches.
type borders struct {
	begin  []int32  // by piece; one more
	to     []int32  // pieces
	length []uint32 // in borderUnit
}

const (
	levelUnit  = 1. / 1024 // deviations of the noise
	borderUnit = 1. / 64   // of what borderUnits counts
	// dominant is how many times as large a piece must be for others to join it
	// without asking: its mean hardly changes.
	dominant = 16
)

func (b *borders) reset() {
	b.begin, b.to, b.length = append(b.begin[:0], 0, 0), b.to[:0], b.length[:0]
}

func (b *borders) add(to int32, length uint32) {
	b.to, b.length = append(b.to, to), append(b.length, length)
}

func (b *borders) endPiece() { b.begin = append(b.begin, int32(len(b.to))) }

func (b *borders) of(p int32) (to []int32, length []uint32) {
	begin, end := b.begin[p], b.begin[p+1]
	return b.to[begin:end], b.length[begin:end]
}

// begin makes each link of the hot part a piece.
func (p *pieces) begin(values []float32, hot *hotPart, noise *noise) {
	n := len(hot.links)
	p.level = resize(p.level, n)
	for i, l := range hot.links {
		p.level[i] = int32(noise.level(float64(values[l]))/levelUnit + .5)
	}
	background := int32(noise.level(noise.calm)/levelUnit + .5)
	calm := len(values) - len(hot.gaps) - n
	p.label = resize(p.label, n)
	p.setCount(n + 1)
	p.size[0], p.sum[0] = int32(calm), int64(calm)*int64(background)
	p.border.reset()
	for i, l := range hot.links {
		p.label[i] = int32(i) + 1
		p.size[i+1] = 1
		p.sum[i+1] = int64(p.beginLink(int32(i), l, background, hot))
		p.border.endPiece()
	}
	p.findMeans()
}

// beginLink lists the neighbours of a link and returns its level, between theirs:
// a value beyond all around it is an error of measurement, or will not make a
// region.
func (p *pieces) beginLink(i, l, background int32, hot *hotPart) int32 {
	low, high := int32(math.MaxInt32), int32(math.MinInt32)
	calm := uint32(0)
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
			if j != i {
				p.border.add(j+1, share)
				low, high = min(low, p.level[j]), max(high, p.level[j])
			}
		}
		calm += share * uint32(hot.calm[place])
	}
	if calm > 0 {
		p.border.add(0, calm)
		low, high = min(low, background), max(high, background)
	}
	if low > high {
		return p.level[i]
	}
	return max(low, min(high, p.level[i]))
}

func (p *pieces) count() int { return len(p.size) }

func (p *pieces) setCount(n int) {
	p.size, p.sum, p.mean = resize(p.size, n), resize(p.sum, n), resize(p.mean, n)
}

func (p *pieces) findMeans() {
	for i := range p.mean {
		p.mean[i] = float64(p.sum[i]) * levelUnit / float64(max(1, p.size[i]))
	}
}

// mergeAll removes borders that are not worth their length, then gives pieces
// too small to be regions to their likest neighbour, after which other borders
// may have lost their worth.
func (p *pieces) mergeAll(minLinks int) {
	likest := func(a, b int32, _ uint32) float64 {
		if int(min(p.size[a], p.size[b])) >= minLinks {
			return math.Inf(1)
		}
		return math.Abs(p.mean[a] - p.mean[b])
	}
	for p.round(p.worth) {
	}
	for p.round(likest) {
	}
	for p.round(p.worth) {
	}
}

// worth is the rise of the squared error per unit of border if the two pieces
// were one, or infinite if the border is worth that. A border along a neck costs
// less than its length.
func (p *pieces) worth(a, b int32, length uint32) float64 {
	apart := p.mean[a] - p.mean[b]
	na, nb := float64(p.size[a]), float64(p.size[b])
	links := na * nb / (na + nb)
	units := float64(length) * borderUnit
	if perLink := units / links; perLink < neck {
		units *= perLink / neck
	}
	rise := apart * apart * links
	if rise >= borderPrice*units {
		return math.Inf(1)
	}
	return rise / units
}

// round joins pieces that suit each other best, at the least cost, and says
// whether there were any. A cost is infinite where a border must stay.
func (p *pieces) round(cost func(a, b int32, length uint32) float64) (joined bool) {
	n := p.count()
	p.best = resize(p.best, n)
	p.best[0] = -1
	for a := int32(1); a < int32(n); a++ {
		best, least := int32(-1), math.Inf(1)
		to, length := p.border.of(a)
		for k, b := range to {
			if c := cost(a, b, length[k]); c < least || c == least && b < best {
				best, least = b, c
			}
		}
		p.best[a] = best
	}
	p.joined.reset(n)
	for a := int32(1); a < int32(n); a++ {
		b := p.best[a]
		if b >= 0 && (b == 0 || p.best[b] == a || p.size[b] >= dominant*p.size[a]) {
			p.joined.union(a, b)
			joined = true
		}
	}
	if joined {
		p.contract()
	}
	return joined
}

// contract makes one piece of each set of joined ones.
func (p *pieces) contract() {
	n := p.count()
	p.number = resize(p.number, n)
	count := int32(0)
	for a := range int32(n) { // roots are the least of their set: they come first
		if root := p.joined.find(a); root == a {
			p.number[a] = count
			count++
		} else {
			p.number[a] = p.number[root]
		}
	}
	p.groupBy(count)
	p.joinBorders(count)
	for a := int32(1); a < int32(n); a++ { // in place: no number is above its piece's
		size, sum := p.size[a], p.sum[a]
		if to := p.number[a]; to == 0 {
			continue // the background stays as it is
		} else if p.joined.parent[a] == a {
			p.size[to], p.sum[to] = size, sum
		} else {
			p.size[to], p.sum[to] = p.size[to]+size, p.sum[to]+sum
		}
	}
	p.setCount(int(count))
	p.findMeans()
	for i, a := range p.label {
		p.label[i] = p.number[a]
	}
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
	next := &p.spare
	next.reset()
	for a := int32(1); a < count; a++ {
		begin := int32(len(next.to))
		for _, old := range p.group[p.begins[a]:p.begins[a+1]] {
			to, length := p.border.of(old)
			for k, b := range to {
				b = p.number[b]
				if b == a {
					continue
				}
				if at := p.seen[b]; at >= begin {
					next.length[at] += length[k]
				} else {
					p.seen[b] = int32(len(next.to))
					next.add(b, length[k])
				}
			}
		}
		next.endPiece()
	}
	p.border, p.spare = p.spare, p.border
}
