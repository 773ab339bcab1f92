package spines

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/segment/trees/backpressure"
)

// partOf is the part of the links down to an end by which an option explains a leaf, and the option's weight.
type partOf struct{ part, weight float64 }

const (
	mostFalls  = 4   // candidates of an end
	mostVoters = 48  // leaves that the falls are fitted to
	mostRounds = 3   // of the search for the falls
	fallDoubt  = .08 // relative difference of a tree's falls to two leaves
	mostDoubt  = 25  // cost of a leaf to which a tree falls otherwise
	noSource   = 30  // cost of an end that explains no leaf
	leastFall  = .1  // of which fallDoubt is a share
	twoWeight  = .4  // of an option of two ends among the candidates
)

// findFalls finds the falls of the ends for which all leaves together are likeliest, and chooses the options of the leaves.
func (f *Divider) findFalls() {
	for e := range f.ends {
		f.findCandidates(e)
	}
	f.tabulate()
	for range mostRounds {
		isBetter := false
		for a := range f.ends {
			for b := range max(a, 2-len(f.ends)) { // the only end is paired with itself
				isBetter = f.improve(a, b) || isBetter
			}
		}
		if !isBetter {
			break
		}
	}
	f.choose()
}

// tabulate finds the costs of the options of the leaves that the falls are fitted to, at all candidates.
func (f *Divider) tabulate() {
	step := (len(f.senders) + mostVoters - 1) / mostVoters
	f.voters, f.costs = f.voters[:0], f.costs[:0]
	for k := 0; k < len(f.senders); k += step {
		x := &f.senders[k]
		f.voters = append(f.voters, x)
		for o := x.begin; o < x.end; o++ {
			f.options[o].costs = len(f.costs)
			a, b := f.endsOf(&f.options[o])
			for i := range a.known {
				for j := range b.known {
					if a != b || i == j {
						f.costs = append(f.costs, f.costOf(x, &f.options[o], a.falls[i], b.falls[j]))
					}
				}
			}
		}
	}
}

// endsOf are the ends of an option: of one, twice the same.
func (f *Divider) endsOf(o *option) (a, b *treeEnd) {
	a, b = &f.ends[o.set.first()], &f.ends[o.set.first()]
	if others := o.set.rest(); others != 0 {
		b = &f.ends[others.first()]
	}
	return a, b
}

// findCandidates finds the falls of an end that most leaves may have.
func (f *Divider) findCandidates(end int) {
	x := &f.ends[end]
	x.falls[0], x.known, x.fall = backpressure.UsualFall, 0, 0
	f.parts = f.parts[:0]
	for k := range f.options {
		switch o := &f.options[k]; {
		case !o.set.has(end):
		case o.set.size() == 1:
			f.parts = append(f.parts, partOf{o.parts[0], 1})
		case o.set.first() == end:
			f.parts = append(f.parts, partOf{o.parts[0], twoWeight})
		default:
			f.parts = append(f.parts, partOf{o.parts[1], twoWeight})
		}
	}
	slices.SortFunc(f.parts, func(a, b partOf) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.weight, b.weight)) })
	for x.known < mostFalls && len(f.parts) > 0 {
		begin, end := f.heaviest()
		x.falls[x.known] = f.parts[(begin+end)/2].part
		x.known++
		f.parts = slices.Delete(f.parts, begin, end)
	}
	x.known = max(1, x.known)
}

// heaviest is the cluster of parts with most weight.
func (f *Divider) heaviest() (begin, end int) {
	most, sum, j := 0., 0., 0
	for i, p := range f.parts {
		for ; j < len(f.parts) && f.parts[j].part <= p.part*(1+2*fallDoubt); j++ {
			sum += f.parts[j].weight
		}
		if sum > most+twoWeight/4 { // sums in another order differ a little
			most, begin, end = sum, i, j
		}
		sum -= p.weight
	}
	return begin, end
}

// improve chooses the falls of two ends that cost least; it reports whether they changed.
func (f *Divider) improve(a, b int) bool {
	x, y := &f.ends[a], &f.ends[b]
	was := [2]int{x.fall, y.fall}
	best, least := was, f.costOfAll()
	for i := range x.known {
		for j := range y.known {
			if x.fall, y.fall = i, j; a == b && i != j {
				continue
			}
			if cost := f.costOfAll(); cost < least {
				best, least = [2]int{i, j}, cost
			}
		}
	}
	x.fall, y.fall = best[0], best[1]
	return best != was
}

// costOfAll is the cost of the chosen falls: of the likeliest options of the leaves that they are fitted to.
func (f *Divider) costOfAll() (sum float64) {
	used := endSet(0)
	for _, x := range f.voters {
		least, set := math.Inf(1), endSet(0)
		for k := x.begin; k < x.end; k++ {
			o := &f.options[k]
			a, b := f.endsOf(o)
			at := o.costs + a.fall
			if a != b {
				at = o.costs + a.fall*b.known + b.fall
			}
			if f.costs[at] < least {
				least, set = f.costs[at], o.set
			}
		}
		sum += least
		used |= set
	}
	return sum + noSource*float64(len(f.ends)-used.size())
}

// choose chooses the likeliest option of each leaf.
func (f *Divider) choose() {
	for k := range f.senders {
		x := &f.senders[k]
		least := math.Inf(1)
		for o := x.begin; o < x.end; o++ {
			a, b := f.endsOf(&f.options[o])
			if cost := f.costOf(x, &f.options[o], a.falls[a.fall], b.falls[b.fall]); cost < least {
				x.chosen, least = o, cost
			}
		}
	}
}

// costOf is the cost of an option at some falls of its ends: with parts near these, or with any.
func (f *Divider) costOf(x *sender, o *option, fall, other float64) float64 {
	return o.change + min(o.cost+mostDoubt, f.costNearFalls(x, o, fall, other))
}

// costNearFalls is the cost of an option with the likeliest parts near some falls.
func (f *Divider) costNearFalls(x *sender, o *option, fall, other float64) float64 {
	a, b := f.endsOf(o)
	added := f.added[x.device]
	if a == b {
		// What waits for an exchange, too, stalls no less than for the worse of both, and no more than their sum.
		lowest := max(0, min(fall*(1-added/100), fall-added/a.level))
		return x.costNear(o.set, [2]float64{min(fall, max(lowest, o.parts[0])), 0})
	}
	least := math.Inf(1)
	for _, k := range [2]float64{1, 1 - added/100} {
		p, q := k*fall, k*other
		if min(p*a.level, q*b.level) < f.least {
			break
		}
		least = min(least, x.costNear(o.set, [2]float64{p, q}))
		// Two that add up as probabilities stall by less than their sum.
		least = min(least, x.costNear(o.set, [2]float64{p - p*q*b.level/200, q - p*q*a.level/200}))
		if added == 0 {
			break
		}
	}
	return least
}

// costNear is the cost of the likeliest parts if these are expected, each with a relative error of fallDoubt.
func (x *sender) costNear(set endSet, expected [2]float64) float64 {
	a := set.first()
	doubt := [2]float64{fallDoubt * max(leastFall, expected[0]), fallDoubt * max(leastFall, expected[1])}
	tight := x.variance / (doubt[0] * doubt[0])
	var parts [2]float64
	if set.size() == 1 {
		parts[0] = (x.both[a] + tight*expected[0]) / (x.downs[a][a] + tight)
	} else {
		b, other := set.rest().first(), x.variance/(doubt[1]*doubt[1])
		parts[0], parts[1] = solve(x.downs[a][a]+tight, x.downs[a][b], x.downs[b][b]+other, x.both[a]+tight*expected[0], x.both[b]+other*expected[1])
	}
	off, otherOff := (parts[0]-expected[0])/doubt[0], (parts[1]-expected[1])/doubt[1]
	return x.costOf(set, parts) + off*off + otherOff*otherOff
}
