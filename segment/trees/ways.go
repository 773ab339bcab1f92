package trees

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// breadth says how many stall of the ways that a link is one of: those up from its switch, or down to the one that it enters.
type breadth uint8

const (
	someWays breadth = iota
	fewWays          // at least half of the links beside it are idle
	allWays          // mostly all are stalled and level, and it is not clearly above the others
)

// fewestAgreeing links lead to one switch by chance once in hundreds of cases, if few of the ways up from their switches stall.
const fewestAgreeing = 3

// findBreadths finds the breadths of links up and down.
func (t *trees) findBreadths() {
	w := t.waits
	t.breadth = scratch.Slice(t.breadth, len(t.links))
	clear(t.breadth)
	for d := range int32(len(t.seen)) {
		t.findBreadth(t.leaving.of(d), w.out.of(d), w.isUp)
		t.findBreadth(t.into.of(d), w.in.of(d), w.isDown)
	}
}

// findBreadth finds the breadths of a switch's nodes among its links, of those that are ways.
func (t *trees) findBreadth(nodes, links []int32, isWay func(link int32) bool) {
	t.sample = t.sample[:0]
	for _, i := range nodes {
		if isWay(t.links[i]) {
			t.sample = append(t.sample, t.stall[i])
		}
	}
	stalled, measured, idle := len(t.sample), 0, 0
	if stalled == 0 {
		return
	}
	for _, l := range links {
		if t.values[l] != linkset.Missing && isWay(l) {
			measured++
			if t.values[l] < t.idle {
				idle++
			}
		}
	}
	if measured <= minFeeders {
		return
	}
	isAlone, isMost, middle := 2*idle >= measured-1, float64(stalled) >= besetShare*float64(measured), medianOf(t.sample)
	isMost = isMost && deviationOf(t.sample, middle) <= unevenDeviations*t.noise.sigma(middle)
	for _, i := range nodes {
		switch {
		case !isWay(t.links[i]):
		case isAlone:
			t.breadth[i] = fewWays
		case isMost && !t.isClearlyAbove(t.stall[i], middle):
			t.breadth[i] = allWays
		}
	}
}

// agreeing counts the links into a switch that are of few ways up.
func (t *trees) agreeing(d int32) (n int) {
	for _, i := range t.into.of(d) {
		if t.waits.isUp(t.links[i]) && t.breadth[i] == fewWays {
			n++
		}
	}
	return n
}

// partWays takes from the list that connect is at what a link up does not wait for. Traffic that takes all ways up from a switch
// waits on all of them: where they stall alike, they do not wait for what comes down to a switch over few ways, as all does that
// goes to one host where routes are by destination. Nor do links of several switches, each of few ways, wait for what comes down
// over all ways, if there is something else whose stall theirs may have fallen from.
func (t *trees) partWays(i int32, agree int) {
	if !t.waits.isUp(t.links[i]) || t.breadth[i] == someWays || t.breadth[i] == fewWays && agree < fewestAgreeing {
		return
	}
	begin := t.next.off[len(t.next.off)-1]
	list := t.next.at[begin:]
	isOther := func(j int32) bool {
		return t.waits.isDown(t.links[j]) && t.breadth[j] != someWays && t.breadth[j] != t.breadth[i]
	}
	if t.breadth[i] == fewWays && !slices.ContainsFunc(list, func(j int32) bool { return t.mayHaveFallen(i, j) }) {
		return
	}
	t.next.at = t.next.at[:int(begin)+len(slices.DeleteFunc(list, isOther))]
}

// mayHaveFallen reports whether a node may be of the tree that another is of, which comes down over few ways to a switch where
// something else stalls, too.
func (t *trees) mayHaveFallen(i, j int32) bool {
	d, fallen := t.to[j], t.stall[i]/t.stall[j]
	isHotAlone := t.stalledInto(d) < 2 && len(t.leaving.of(d)) == 0
	return t.waits.isDown(t.links[j]) && t.breadth[j] == fewWays && !isHotAlone && fallen >= leastFallen && fallen <= mostFall
}
