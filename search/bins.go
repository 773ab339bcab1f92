package search

import "math/rand/v2"

// Bins of an ordered dimension.
const (
	lowest = iota
	lowerHalf
	upperHalf
	highest
	orderedBins
)

// Bins of a pattern: only small, middle or large sizes, small and large mixed, anything
// else.
const (
	smallOnly = iota
	middleOnly
	largeOnly
	mixed
	anyPattern
	patternBins
)

var (
	orderedBase = [orderedBins]float64{.42, .08, .08, .42} // most conditions are thresholds, which an end meets
	patternBase = [patternBins]float64{.23, .23, .23, .23, .08}
)

// Shares of proposed patterns with a single size.
const (
	uniformShare = .75 // enough for a condition on all messages
	halfUniform  = .5  // for Collie with proposals at the ends
)

// bins is the number of bins of a dimension.
func (d *Dimension) bins() int {
	switch {
	case d.Pattern:
		return patternBins
	case d.Ordered && len(d.Values) > 1:
		return orderedBins
	}
	return len(d.Values)
}

// base is the prior weight of a bin; 0: the bin is empty.
func (d *Dimension) base(bin int) float64 {
	n := len(d.Values)
	switch {
	case d.Pattern:
		if bin == mixed && (n < 2 || d.MaxLength < 2) {
			return 0
		}
		return patternBase[bin]
	case d.Ordered && n > 1:
		if n == 2 && (bin == lowerHalf || bin == upperHalf) || n == 3 && bin == upperHalf {
			return 0
		}
		return orderedBase[bin]
	}
	return 1 / float64(n)
}

// bin returns the bin of a coordinate.
func (d *Dimension) bin(at []int) int {
	n := len(d.Values)
	if d.Pattern {
		return d.patternBin(at)
	}
	if !d.Ordered || n == 1 {
		return at[0]
	}
	switch i := at[0]; {
	case i == 0:
		return lowest
	case i == n-1:
		return highest
	case i < (n+1)/2:
		return lowerHalf
	}
	return upperHalf
}

// third returns the third of a pattern's values: small, middle or large.
func (d *Dimension) third(i int) int { return 3 * i / len(d.Values) }

func (d *Dimension) patternBin(at []int) int {
	var seen [3]bool
	for _, i := range at {
		seen[d.third(i)] = true
	}
	switch seen {
	case [3]bool{true, false, false}:
		return smallOnly
	case [3]bool{false, true, false}:
		return middleOnly
	case [3]bool{false, false, true}:
		return largeOnly
	case [3]bool{true, false, true}:
		return mixed
	}
	return anyPattern
}

// draw returns a random coordinate in a bin; a share uniform of patterns has one size.
func (d *Dimension) draw(bin int, uniform float64, r *rand.Rand) []int {
	n := len(d.Values)
	if d.Pattern {
		return d.drawPattern(bin, uniform, r)
	}
	if !d.Ordered || n == 1 {
		return []int{bin}
	}
	switch bin {
	case lowest:
		return []int{0}
	case highest:
		return []int{n - 1}
	case lowerHalf:
		return []int{1 + r.IntN(max(1, (n+1)/2-1))}
	}
	lo := (n + 1) / 2
	return []int{lo + r.IntN(max(1, n-1-lo))}
}

func (d *Dimension) drawPattern(bin int, uniform float64, r *rand.Rand) []int {
	at := d.Random(r)
	if r.Float64() < uniform {
		at = at[:1]
	}
	if bin == mixed && len(at) < 2 {
		at = append(at, 0)
	}
	n := len(d.Values)
	from := func(third int) int {
		lo, hi := (third*n+2)/3, ((third+1)*n+2)/3
		return min(n-1, lo+r.IntN(max(1, hi-lo)))
	}
	for k := range at {
		switch bin {
		case smallOnly, middleOnly, largeOnly:
			at[k] = from(bin)
		case mixed:
			at[k] = from(2 * r.IntN(2))
		}
	}
	if bin == mixed {
		k := r.IntN(len(at))
		at[k], at[(k+1)%len(at)] = from(0), from(2)
	}
	return at
}

// pick draws a weighted random index.
func pick(weights []float64, r *rand.Rand) int {
	sum := 0.
	for _, w := range weights {
		sum += w
	}
	at := r.Float64() * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}
