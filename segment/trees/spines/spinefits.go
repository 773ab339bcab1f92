package spines

import (
	"math"
	"slices"

	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/segment/trees/layers"
)

// sender is a leaf nearly all of whose uplinks wait, with the sums of weighted least squares over them: of products of the
// links down to two ends, or of one and the uplinks, and of the uplinks' squares.
type sender struct {
	device     index.Device
	begin, end int // its options
	chosen     int // of these
	downs      [mostEnds][mostEnds]float64
	both       [mostEnds]float64
	ups        float64
	spines     float64
	variance   float64 // of a residual, in deviations, of the option that explains it best
}

// option is a set of ends, two at most, for which the uplinks of a leaf may wait, and what parts of the links down to these
// explain them best.
type option struct {
	set    endSet
	parts  [2]float64
	cost   float64 // twice the negative logarithm of its likelihood
	change float64 // cost of what it changes
	costs  int     // see tabulate: where its costs begin in spines.costs
}

const (
	spineDoubt = .05 // relative error of a prediction, beside noise
	// An option's residual is at most that share of the uplinks, by squares; and no less than leastVariance counts, as noise is
	// not known better.
	mostResidual, leastVariance = .1, .3
	endCost                     = 4    // of each end
	changeCost                  = 4    // of changing the regions of all uplinks of a leaf
	mostPart                    = 1.25 // where senders push, uplinks stall more than the links down
	riseDoubt, mostRise         = .05, 25
	// Leaves of which several uplinks stall, but not nearly all, at partialStall times what a link must or more: at most that
	// share of the others, as traffic takes all spines.
	partialShare, partialStall = .25, 1.5
	// Uplinks are two groups if one stalls that many times as much as the other, and by that many deviations.
	apart, apartBy = 1.25, 3
)

// findSenders finds the leaves nearly all of whose uplinks wait, and what may explain each: none unless traffic takes all spines.
func (f *Divider) findSenders(m *Snapshot) {
	f.senders, f.options = f.senders[:0], f.options[:0]
	wide, partial := 0, 0
	for _, d := range f.leaves {
		switch isWide, isPartial := f.readUp(m, d); {
		case isPartial:
			partial++
		case isWide:
			if wide++; f.division.endsHere(m, d) {
				f.addSender(m, d)
			}
		}
	}
	if float64(partial) > partialShare*float64(wide) {
		f.senders = f.senders[:0]
	}
}

// readUp reads the uplinks of a leaf; it reports whether nearly all stall, or several, clearly, but not nearly all.
func (f *Divider) readUp(m *Snapshot, d index.Device) (isWide, isPartial bool) {
	stalled, sum := 0, 0.
	f.sample = f.sample[:0]
	for _, i := range m.Leaving.Of(d) {
		if m.Graph.IsUp(m.Links[i]) {
			stalled, sum = stalled+1, sum+m.Stall[i]
			f.sample = append(f.sample, m.Stall[i])
		}
	}
	if stalled < 2 {
		return false, false
	}
	f.sum(m, m.Graph.Out.Of(d), m.Graph.To, f.up, f.weight)
	read := 0.
	for s, n := range f.weight {
		read += n
		if f.weight[s] = 0; n > 0 && f.leadsToAll[s] {
			sigma := m.Noise.Sigma(f.up[s]) + spineDoubt*f.up[s]
			f.weight[s] = 1 / (sigma * sigma)
		}
	}
	if float64(stalled) < layers.MostWays*max(read, float64(m.MeasuredUp(d)-1)) { // one zero may be wrong
		return false, sum > partialStall*m.Hot*float64(stalled)
	}
	if len(f.pods) > 0 && f.isApart(m.Noise) { // on two levels, partial leaves are enough to show it
		return false, true
	}
	return stalled >= layers.FewestOfWays, false
}

// isApart reports whether the sampled uplinks are two groups, so that they do not wait for the same: traffic takes single paths.
func (f *Divider) isApart(noise backpressure.Noise) bool {
	slices.Sort(f.sample)
	for k := 1; k < len(f.sample); k++ {
		if low, high := f.sample[k-1], f.sample[k]; high > apart*low+apartBy*noise.Sigma(low) {
			return true
		}
	}
	return false
}

// addSender adds a leaf whose uplinks were read, and its options.
func (f *Divider) addSender(m *Snapshot, d index.Device) {
	x := sender{device: d, begin: len(f.options)}
	for s, w := range f.weight {
		if w > 0 {
			x.spines++
			x.ups += w * f.up[s] * f.up[s]
		}
	}
	for a := range f.ends {
		row := f.downTo(a)
		for s, w := range f.weight {
			x.both[a] += w * row[s] * f.up[s]
		}
		for b := range a + 1 {
			other := f.downTo(b)
			for s, w := range f.weight {
				x.downs[a][b] += w * row[s] * other[s]
			}
			x.downs[b][a] = x.downs[a][b]
		}
	}
	if x.spines < layers.FewestOfWays {
		return
	}
	least := math.Inf(1)
	for a := range f.ends {
		for b := a; b < len(f.ends); b++ {
			if set := setOf(a) | setOf(b); f.mayExplain(d, a) && f.mayExplain(d, b) && f.hasExchange(d, set) {
				least = min(least, f.addOption(&x, set, changeCost*f.division.changed(m, d, set)))
			}
		}
	}
	if x.end = len(f.options); x.end > x.begin {
		x.variance = max(leastVariance, least/x.spines)
		f.senders = append(f.senders, x)
	}
}

// mayExplain reports whether the uplinks of a leaf may wait for an end.
func (f *Divider) mayExplain(leaf index.Device, end int) bool {
	x := &f.ends[end]
	return x.device != leaf && x.hasRegion && (!x.isExchange || f.exchangeAt[leaf] == int8(end))
}

// hasExchange reports whether a set of ends has the exchange in which a leaf of a pod takes part, if there is one.
func (f *Divider) hasExchange(leaf index.Device, set endSet) bool {
	e := f.exchangeAt[leaf]
	return e < 0 || set.has(int(e))
}

// addOption adds an option if it explains the uplinks of a leaf; it returns the squares that are left.
func (f *Divider) addOption(x *sender, set endSet, change float64) (left float64) {
	o := option{set: set, change: change}
	a := set.first()
	alone := x.both[a] / x.downs[a][a]
	if set.size() == 1 {
		o.parts[0] = min(mostPart, alone)
	} else {
		b := set.rest().first()
		p, q := solve(x.downs[a][a], x.downs[a][b], x.downs[b][b], x.both[a], x.both[b])
		o.parts = [2]float64{min(mostPart, max(0, min(p, alone))), min(mostPart, max(0, min(q, x.both[b]/x.downs[b][b])))}
	}
	left = x.left(set, o.parts)
	if left > mostResidual*x.ups {
		return math.Inf(1)
	}
	o.cost = x.costOf(set, o.parts)
	f.options = append(f.options, o)
	return left
}

// solve solves aa p + ab q = a, ab p + bb q = b.
func solve(aa, ab, bb, a, b float64) (p, q float64) {
	det := aa*bb - ab*ab
	if det <= 1e-9*aa*bb { // the two do not differ
		return a / aa / 2, b / bb / 2
	}
	return (a*bb - b*ab) / det, (b*aa - a*ab) / det
}

// left is the sum of squares that parts of the links down to the ends of a set leave.
func (x *sender) left(set endSet, parts [2]float64) float64 {
	a, p := set.first(), parts[0]
	left := x.ups - 2*p*x.both[a] + p*p*x.downs[a][a]
	if set.size() > 1 {
		b, q := set.rest().first(), parts[1]
		left += q*q*x.downs[b][b] - 2*q*x.both[b] + 2*p*q*x.downs[a][b]
	}
	return max(0, left)
}

// costOf is the cost of parts: of their residual, of each end, and of parts above one, as the stall of one cause falls upstream
// unless senders push.
func (x *sender) costOf(set endSet, parts [2]float64) float64 {
	cost := x.spines*math.Log(max(x.left(set, parts)/x.spines, leastVariance)) + endCost*float64(set.size())
	for _, p := range parts {
		rise := max(0, p-1) / riseDoubt
		cost += min(mostRise, rise*rise)
	}
	return cost
}
