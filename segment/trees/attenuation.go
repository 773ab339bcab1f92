package trees

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// fallOf is the ratio by which a cause falls at one link, and whether the link leads to no other cause: packed into a
// number that sorts by cause, then by ratio, as positive floats sort like their bits.
type fallOf uint64

const ratioBits = 32 // a float32's

// newFallOf packs them.
func newFallOf(cause causeID, ratio float64, isAlone bool) fallOf {
	f := fallOf(cause)<<(ratioBits+1) | fallOf(math.Float32bits(float32(ratio)))<<1
	if isAlone {
		f |= 1
	}
	return f
}

func (f fallOf) cause() causeID { return causeID(f >> (ratioBits + 1)) }
func (f fallOf) isAlone() bool  { return f&1 != 0 }

func (f fallOf) ratio() float64 { return float64(math.Float32frombits(uint32(f >> 1))) }

// startFalls assumes that a tree falls at every hop as it does from its port, and an exchange not at all.
func (h *shares) startFalls(m *analysis) {
	h.atSink = scratch.Slice(h.atSink, len(h.of))
	for a := range h.fall {
		h.fall[a] = backpressure.UsualFall
	}
	for a := range m.sinks.all.Len() {
		if x, cause := &m.sinks.all[a], m.causes.causeOf(a); m.causes.isExchange(cause) {
			h.fall[cause] = 1
		} else if x.isTree() && x.links >= backpressure.MinFeeders && m.causes.double[a].isNone() {
			h.fall[cause] = min(1, x.stall/x.port)
		}
	}
}

// vote records, by cause, the ratio of a node's stall to that of what it may wait for, or only for the exchange of
// the node's leaf if that alone explains the node.
func (h *shares) vote(m *analysis, i index.Node) {
	stall, leaf := m.Stall[i], m.LeafOf(i)
	list := h.of[i].list()
	if len(list) == 1 {
		h.falls = append(h.falls, newFallOf(list[0].cause, stall/list[0].stall, true))
		return
	}
	for _, p := range list {
		if leaf >= 0 && m.causes.isExchange(p.cause) && m.causes.takesPart(&m.sinks, leaf, p.cause) &&
			math.Abs(stall-p.stall*h.fall[p.cause]) < backpressure.EqualDeviations*m.Noise.Sigma(stall) {
			h.falls = append(h.falls, newFallOf(p.cause, stall/p.stall, true))
			return
		}
	}
	nearest := math.Inf(1)
	var off [maxParts]float64 // factors, not their logarithms, which cost more
	for k, p := range list {
		predicted := p.stall * h.fall[p.cause]
		off[k] = max(stall, predicted) / min(stall, predicted)
		if leaf >= 0 && m.causes.isExchange(p.cause) && !m.causes.takesPart(&m.sinks, leaf, p.cause) {
			continue
		}
		nearest = min(nearest, off[k])
	}
	width := voteWidth
	if far := stall * (nearest - 1); far < explained*m.Noise.Sigma(stall) {
		width = 1 // the assumed fall explains it
	}
	for k, p := range list {
		if off[k] <= nearest*width {
			h.falls = append(h.falls, newFallOf(p.cause, stall/p.stall, false))
		}
	}
}

// fitFalls fits each cause's fall at a hop: the median over links that lead to it alone, or if these are few the mode
// over all.
func (h *shares) fitFalls() {
	h.sortFalls()
	for i := 0; i < len(h.falls); {
		j, alone := i, 0
		for ; j < len(h.falls) && h.falls[j].cause() == h.falls[i].cause(); j++ {
			if h.falls[j].isAlone() {
				alone++
			}
		}
		fall := &h.fall[h.falls[i].cause()]
		switch {
		case alone >= fewestFalls:
			*fall = min(mostFall, medianAlone(h.falls[i:j], alone))
		case j-i >= fewestFalls:
			*fall = min(mostFall, modeOf(h.falls[i:j], *fall))
		}
		i = j
	}
}

const (
	// A radix sort takes a pass for each digit of so many bits; from manyFalls on it is faster than slices.Sort.
	digitBits, manyFalls = 11, 2048
	digits               = 1 << digitBits
)

// sortFalls sorts the falls by cause, then by ratio.
func (h *shares) sortFalls() {
	if len(h.falls) < manyFalls {
		slices.Sort(h.falls)
		return
	}
	varies := fallOf(0) // bits that are not the same in all
	for _, f := range h.falls {
		varies |= f ^ h.falls[0]
	}
	for shift := 0; shift < 64; shift += digitBits {
		if varies>>shift%digits == 0 {
			continue
		}
		var ends [digits]int32
		for _, f := range h.falls {
			ends[f>>shift%digits]++
		}
		for d := 1; d < digits; d++ {
			ends[d] += ends[d-1]
		}
		h.sorted = scratch.Slice(h.sorted, len(h.falls))
		for _, f := range slices.Backward(h.falls) {
			ends[f>>shift%digits]--
			h.sorted[ends[f>>shift%digits]] = f
		}
		h.falls, h.sorted = h.sorted, h.falls
	}
}

// medianAlone is the median ratio of the n falls, of some that are sorted, that are of links that lead to one cause alone.
func medianAlone(falls []fallOf, n int) (ratio float64) {
	for left := n/2 + 1; left > 0; falls = falls[1:] {
		if falls[0].isAlone() {
			ratio = falls[0].ratio()
			left--
		}
	}
	return ratio
}

// modeOf is the median of the largest cluster of ratios; of equal clusters, the one nearest to the usual ratio.
func modeOf(falls []fallOf, usual float64) float64 {
	best, most := usual, 0
	end := 0
	for i, f := range falls {
		if f.ratio() > mostFall {
			break
		}
		for end < len(falls) && falls[end].ratio() <= f.ratio()*fallWidth {
			end++
		}
		middle := falls[(i+end)/2].ratio()
		if n := end - i; n > most || n == most && math.Abs(middle-usual) < math.Abs(best-usual) {
			best, most = middle, n
		}
	}
	return best
}
