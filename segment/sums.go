package segment

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// sums finds pieces where two causes add up: a piece whose stall is the sum of
// two neighbours' belongs to both. And it puts together what such a piece parts:
// two of its neighbours of one stall are one region that goes on beyond it.
type sums struct {
	stall  []float64 // by piece: mean, percent
	errors []float64 // by piece: variance of that mean
	total  []int64   // by piece: of the stalls, in stallUnit
	order  []int32   // pieces, the calmest first
	owners []owners  // by piece
	holds  []int32   // by piece: a part that it holds together, or -1
	one    unionFind // pieces that are one region
	size   []int32   // by region
	near   []neighbour
	begins []int32
}

// owners are the regions that a piece belongs to.
type owners struct {
	of    [maxOwners]int32
	count int32
}

// neighbour is a piece beside another, and how much they touch.
type neighbour struct {
	piece  int32
	length float64
}

const (
	maxOwners = 3
	stallUnit = 1. / 1024 // percent points
	// A sum may be off by the error of the means and a little more: links that
	// are stalled for two reasons may hide a part of one.
	sumSlack      = .3 // percent points
	sumShare      = .01
	sumDeviations = 3
	// Close to full stall no more can be seen of a sum.
	fullStall = 92
	fullSlack = 8
	// leastTouch is the border per link without which a neighbour is no part of
	// a sum, and nestedShare that of its border from which a piece lies inside
	// another.
	leastTouch  = .2
	nestedShare = .8
	// calmShare is the share of its border that a sum may have with the
	// background: where two regions lie over each other, each goes on beyond.
	calmShare = .6
)

// explain decides which pieces each piece belongs to.
func (s *sums) explain(p *pieces, values []float32, hot *hotPart, noise *noise, minMean float64, overlap bool) {
	s.measure(p, values, hot, noise)
	n := p.count()
	s.one.reset(n)
	s.owners, s.holds = resize(s.owners, n), resize(s.holds, n)
	s.order = s.order[:0]
	for a := int32(1); a < int32(n); a++ {
		s.order = append(s.order, a)
	}
	slices.SortFunc(s.order, func(a, b int32) int { return cmp.Or(cmp.Compare(s.stall[a], s.stall[b]), cmp.Compare(a, b)) })
	for _, a := range s.order { // the calmer first: what is a sum may be a part of a larger one
		s.owners[a], s.holds[a] = owner(a), -1
		around, calm := s.calmerAround(p, a, minMean)
		if x, y, ok := s.findParts(a, p.size[a]); ok && calm <= calmShare*around {
			s.owners[a] = s.owners[x].with(s.owners[y])
			s.holds[a] = s.reunite(x, y, overlap)
		} else if x, ok := s.findOutside(around); ok {
			s.owners[a] = s.owners[a].with(s.owners[x])
		}
	}
	s.resolve(p, overlap)
}

// measure finds the mean stall of each piece and its error.
func (s *sums) measure(p *pieces, values []float32, hot *hotPart, noise *noise) {
	n := p.count()
	s.total, s.stall, s.errors = resize(s.total, n), resize(s.stall, n), resize(s.errors, n)
	clear(s.total)
	for i, a := range p.label {
		s.total[a] += int64(float64(values[hot.links[i]])/stallUnit + .5)
	}
	for a := range s.stall {
		links := float64(max(1, p.size[a]))
		s.stall[a] = float64(s.total[a]) * stallUnit / links
		sigma := noise.sigma(s.stall[a])
		s.errors[a] = sigma * sigma / links
	}
}

// calmerAround lists in near the calmer pieces beside a piece that are stalled
// enough to be regions, and returns the length of the piece's whole border and of
// that with the background.
func (s *sums) calmerAround(p *pieces, a int32, minMean float64) (around, calm float64) {
	s.near = s.near[:0]
	for _, with := range p.border.of(a) {
		b, units := with.to, float64(with.length)*borderUnit
		around += units
		if b == 0 {
			calm += units
		} else if s.stall[b] < s.stall[a] && s.stall[b] >= minMean {
			s.near = append(s.near, neighbour{b, units})
		}
	}
	slices.SortFunc(s.near, func(x, y neighbour) int {
		return cmp.Or(cmp.Compare(s.stall[x.piece], s.stall[y.piece]), cmp.Compare(x.piece, y.piece))
	})
	return around, calm
}

// findParts looks among the near for the two whose stalls add up to a piece's
// best.
func (s *sums) findParts(a, size int32) (x, y int32, ok bool) {
	best := 1.
	for i, u := range s.near {
		for _, v := range s.near[:i] {
			if min(u.length, v.length) < leastTouch*float64(size) {
				continue
			}
			sum := min(100, s.stall[u.piece]+s.stall[v.piece])
			slack := sumSlack + sumShare*s.stall[a] + sumDeviations*math.Sqrt(s.errors[a]+s.errors[u.piece]+s.errors[v.piece])
			if sum > fullStall {
				slack = max(slack, fullSlack)
			}
			if off := math.Abs(s.stall[a]-sum) / slack; off < best {
				best, x, y, ok = off, u.piece, v.piece, true
			}
		}
	}
	return x, y, ok
}

// reunite makes one of either part and what is near and like it, and returns a
// part that the piece holds together so, or -1. Without overlap it can hold one:
// regions have no gaps.
func (s *sums) reunite(x, y int32, overlap bool) (held int32) {
	held = -1
	for _, part := range [2]int32{x, y} {
		if s.owners[part].count > 1 || held >= 0 && !overlap {
			continue
		}
		for _, c := range s.near {
			if c.piece == x || c.piece == y || s.owners[c.piece].count > 1 {
				continue
			}
			apart := math.Abs(s.stall[c.piece] - s.stall[part])
			if apart < sumSlack+sumDeviations*math.Sqrt(s.errors[c.piece]+s.errors[part]) {
				s.one.union(c.piece, part)
				held = part
			}
		}
	}
	return held
}

// findOutside looks among the near for the piece that has this one inside.
func (s *sums) findOutside(around float64) (x int32, ok bool) {
	for _, u := range s.near {
		if u.length > nestedShare*around && s.owners[u.piece].count == 1 {
			return u.piece, true
		}
	}
	return 0, false
}

func owner(a int32) owners { return owners{of: [maxOwners]int32{a}, count: 1} }

// with is both owners' union, as far as there is room.
func (o owners) with(other owners) owners {
	for _, b := range other.of[:other.count] {
		if o.count < maxOwners && !slices.Contains(o.of[:o.count], b) {
			o.of[o.count] = b
			o.count++
		}
	}
	return o
}

// resolve puts regions for pieces as owners: first what the piece holds together,
// then the smallest region, to which it is most. Without overlap the first is the
// only one, and must be beside the piece: a sum may have an owner by way of a sum
// that went elsewhere.
func (s *sums) resolve(p *pieces, overlap bool) {
	n := p.count()
	s.size = resize(s.size, n)
	clear(s.size)
	for a := int32(1); a < int32(n); a++ {
		if s.owners[a].count == 1 {
			s.size[s.one.find(a)] += p.size[a]
		}
	}
	for _, a := range s.order {
		isSum := s.owners[a].of[0] != a
		resolved := owners{}
		for _, b := range s.owners[a].of[:s.owners[a].count] {
			resolved = resolved.with(owner(s.one.find(b)))
		}
		regions := resolved.of[:resolved.count]
		if isSum {
			s.rank(regions, s.holds[a])
		}
		if !overlap {
			first := 0
			if isSum { // its calmer part is beside it, and with one of them already
				first = slices.IndexFunc(regions, func(region int32) bool { return s.isBeside(p, a, region) })
			}
			resolved = owner(regions[first])
		}
		s.owners[a] = resolved
	}
}

// rank sorts the regions of a sum: the one that it holds together, then by size.
func (s *sums) rank(regions []int32, part int32) {
	size := func(region int32) int32 {
		if part >= 0 && region == s.one.find(part) {
			return 0
		}
		return s.size[region]
	}
	slices.SortFunc(regions, func(x, y int32) int {
		return cmp.Or(cmp.Compare(size(x), size(y)), cmp.Compare(s.stall[x], s.stall[y]), cmp.Compare(x, y))
	})
}

// isBeside reports whether a calmer piece beside a is a region's.
func (s *sums) isBeside(p *pieces, a, region int32) bool {
	return slices.ContainsFunc(p.border.of(a), func(with border) bool {
		b := with.to
		return b != 0 && s.stall[b] < s.stall[a] && s.owners[b].of[0] == region
	})
}

// emit makes a group of each region.
func (s *sums) emit(p *pieces, hot *hotPart, out *partition) {
	owned := func(a int32) []int32 { return s.owners[a].of[:s.owners[a].count] }
	s.owners[0] = owners{} // the background is no region
	s.begins = resize(s.begins, p.count()+1)
	clear(s.begins)
	for a := range int32(p.count()) {
		for _, r := range owned(a) {
			s.begins[r+1] += p.size[a]
		}
	}
	first := int32(len(out.links))
	for r := range p.count() {
		if s.begins[r+1] > 0 {
			out.ends = append(out.ends, first+s.begins[r]+s.begins[r+1])
		}
		s.begins[r+1] += s.begins[r]
	}
	out.links = slices.Grow(out.links, int(s.begins[p.count()]))[:int(first+s.begins[p.count()])]
	for i, l := range hot.links {
		for _, r := range owned(p.label[i]) {
			out.links[first+s.begins[r]] = schema.LinkID(l)
			s.begins[r]++
		}
	}
}
