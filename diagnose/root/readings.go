package root

import "github.com/giverny/giverny/schema"

// reading is what a link shows of merging traffic.
type reading struct {
	dim     int     // dimension on a grid; -1: none
	stall   float64 // percent
	carries float64 // bytes/s
	held    float64 // traffic that waits on it, bytes/s (heldBack)
	added   float64 // load added since the onset, bytes/s; all if that before is unknown
	more    float64 // load beyond the share of that before the onset which its stall lets through, bytes/s
	waits   float64 // share of the time without sending in which it stalls, in the direction in which it stalls, 0 to 1
}

// lookup caches what was looked up of links or devices. The list is short, so that it stays in the CPU cache.
type lookup[K ~uint32, T any] struct {
	round  uint32
	stalls *schema.Series // the readings it was computed from
	since  uint32         // the version of the past that they are compared with
	places []place        // by link or device
	list   []T
}

// place is the index of a link or device in the list of a round.
type place struct {
	round uint32
	at    int32
}

func newLookup[K ~uint32, T any](n int) lookup[K, T] {
	return lookup[K, T]{round: 1, places: make([]place, n)}
}

// turnTo clears the cache unless stalls and since are as before: regions with the same stalls and onset share it.
func (k *lookup[K, T]) turnTo(stalls *schema.Series, since uint32) {
	if k.stalls != stalls || k.since != since {
		k.stalls, k.since = stalls, since
		k.forget()
	}
}

func (k *lookup[K, T]) forget() {
	k.list = k.list[:0]
	if k.round++; k.round == 0 {
		clear(k.places)
		k.round = 1
	}
}

// find returns the index of a link or device in the list, and whether the entry is new and must be computed.
func (k *lookup[K, T]) find(of K) (at int32, isNew bool) {
	p := &k.places[of]
	if p.round == k.round {
		return p.at, false
	}
	*p = place{k.round, int32(len(k.list))}
	var none T
	k.list = append(k.list, none)
	return p.at, true
}

// look returns the reading of a link, valid until the next call.
func (g *regionReadings) look(l schema.LinkID) *reading {
	at, isNew := g.readings.find(l)
	r := &g.readings.list[at]
	if isNew {
		*r = g.read(l)
	}
	return r
}

func (g *regionReadings) read(l schema.LinkID) reading {
	p := g.p
	r := reading{dim: g.grid.Dim(l), stall: p.StallOf(l)}
	use, before, capacity := max(0, p.UseOf(l)), max(0, p.Before(l)), p.graph.Capacity(l)
	r.carries = use / 100 * capacity
	stall := p.stallShare(l)
	r.held = r.carries * stall / (1 - stall)
	r.waits = min(1, p.inOneWay(r.stall/100)/max(leastFree, 1-p.inOneWay(use/100)))
	r.more = max(0, r.carries-(1-min(1, r.stall/100))*before/100*capacity)
	r.added = max(0, use-before) / 100 * capacity
	return r
}
