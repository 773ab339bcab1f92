package search

// A healthy experiment rules out every conjunction of conditions that it meets. The
// longer a search runs, the fewer conjunctions at the ends of dimensions remain; more
// of the rest have a condition in the middle of a dimension, which no end meets.

const (
	untestedTries   = 100 // draws until one meets an untested conjunction
	middleShare     = .15 // of the conditions on ordered dimensions are in the middle
	middlePart      = 5   // such a condition spans one in so many values, plus one
	leastConditions = 2   // per conjunction
)

// healthySet records which healthy experiments had a value (for patterns: a size in a
// bin): bit i of has[dimension][value] is the ith of them.
type healthySet struct {
	space *Space
	n     int
	has   [][][]uint64
}

const wordBits = 64

func newHealthySet(s *Space) *healthySet {
	h := &healthySet{space: s, has: make([][][]uint64, len(s.dims))}
	for d := range s.dims {
		h.has[d] = make([][]uint64, max(len(s.dims[d].Values), s.dims[d].bins()))
	}
	return h
}

func (h *healthySet) add(p point) {
	word, bit := h.n/wordBits, uint64(1)<<(h.n%wordBits)
	h.n++
	for d, values := range h.has {
		v := h.space.dims[d].valueOrBin(p[d])
		for len(values[v]) <= word {
			values[v] = append(values[v], 0)
		}
		values[v][word] |= bit
	}
}

// valueOrBin is the value of a dimension; for a pattern, its bin.
func (d *Dimension) valueOrBin(at []int) int {
	if d.Pattern {
		return d.patternBin(at)
	}
	return at[0]
}

// conjunct is one condition of a conjunction: the value, or bin of a pattern, is in span.
type conjunct struct {
	dim int
	span
}

// meets reports whether some healthy experiment meets every condition.
func (h *healthySet) meets(conjunction []conjunct) bool {
	for word := range (h.n + wordBits - 1) / wordBits {
		left := ^uint64(0)
		if n := h.n - word*wordBits; n < wordBits {
			left = 1<<n - 1
		}
		for _, c := range conjunction {
			var some uint64
			for _, bits := range h.has[c.dim][c.lo : c.hi+1] {
				if word < len(bits) {
					some |= bits[word]
				}
			}
			left &= some
		}
		if left != 0 {
			return true
		}
	}
	return false
}

// untested draws until a point, neither known nor infeasible, meets a conjunction that
// no healthy experiment meets.
func (s *sampler) untested(draw func() point) point {
	chance := s.chances()
	for range untestedTries {
		p, conjunction := s.conjunction(s.outside(draw), chance)
		if len(conjunction) >= leastConditions && !s.covered(p) && !s.invalid[p.key()] && !s.healthy.meets(conjunction) {
			return p
		}
	}
	return s.outside(draw)
}

// conjunction returns a random conjunction that a point meets, with each dimension included
// by its chance to matter. For a condition in the middle of a dimension the point is moved.
func (s *sampler) conjunction(p point, chance []float64) (point, []conjunct) {
	var list []conjunct
	for d := range p {
		dim := &s.space.dims[d]
		n := len(dim.Values)
		if n < 2 || s.rnd.Float64() >= chance[d] {
			continue
		}
		v := dim.valueOrBin(p[d])
		within := span{v, v}
		if dim.Ordered && !dim.Pattern {
			if n > 3 && s.rnd.Float64() < middleShare {
				width := min(n-2, 1+n/middlePart)
				lo := 1 + s.rnd.IntN(n-1-width)
				within = span{lo, lo + width - 1}
				p = p.with(d, lo+s.rnd.IntN(width))
			} else if t := s.rnd.IntN(n / 2); 2*v >= n-1 { // a threshold on the side of the value
				within = span{min(v, n-1-t), n - 1}
			} else {
				within = span{0, max(v, t)}
			}
		}
		list = append(list, conjunct{d, within})
	}
	return p, list
}
