package trees

import (
	"math"
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

// mostFewWays is over how many ways down to a switch traffic comes, at most, that is not spread over them: of routes by destination
// each host has one, and an exchange stalls those of all its hosts.
const mostFewWays = 8

// findBreadths finds the breadths of links up and down.
func (t *trees) findBreadths() {
	w := t.waits
	t.breadth = scratch.Slice(t.breadth, len(t.links))
	clear(t.breadth)
	for d := range int32(len(t.seen)) {
		t.findBreadth(t.leaving.of(d), w.out.of(d), w.isUp, math.MaxInt)
		t.findBreadth(t.into.of(d), w.in.of(d), w.isDown, mostFewWays)
	}
}

// findBreadth finds the breadths of a switch's nodes among its links, of those that are ways.
func (t *trees) findBreadth(nodes, links []int32, isWay func(link int32) bool, most int) {
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
	isAlone, isMost, middle := 2*idle >= measured-1 && stalled <= most, float64(stalled) >= besetShare*float64(measured), medianOf(t.sample)
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

// partWays takes from the list that connect is at what a link up does not wait for. Traffic that takes all ways up from a switch
// waits on all of them: where they stall alike, they do not wait for what comes down to a switch over few ways, as all does that
// goes to one host where routes are by destination.
func (t *trees) partWays(i int32) {
	if !t.waits.isUp(t.links[i]) || t.breadth[i] != allWays {
		return
	}
	begin := t.next.off[len(t.next.off)-1]
	isOfFew := func(j int32) bool { return t.waits.isDown(t.links[j]) && t.breadth[j] == fewWays }
	t.next.at = t.next.at[:int(begin)+len(slices.DeleteFunc(t.next.at[begin:], isOfFew))]
}
