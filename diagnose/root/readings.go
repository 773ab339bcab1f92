package root

import "github.com/giverny/giverny/schema"

// reading is what a link shows of traffic that converges.
type reading struct {
	dim     int     // of a grid; -1: of none
	in      uint32  // the round of the last region that it is in
	stall   float64 // percent
	carries float64 // bytes/s
	held    float64 // waits for it, bytes/s (heldBack)
	added   float64 // it carries beyond what it did before the onset, bytes/s; without a before, all
	more    float64 // it carries beyond the share of what it did before the onset that its stall lets through, bytes/s
	waits   float64 // share of the time that it does not send in which it stalls, in the direction in which it does, 0 to 1
}

// lookup is a list of what was looked up of links: it is short, so that it stays at hand.
type lookup[T any] struct {
	round  uint32
	stalls *schema.Series // of which it is
	since  uint32         // and the round of the past that it is compared with
	places []place        // by link
	list   []T
}

// place is that of a link in the list of a round.
type place struct {
	round uint32
	at    int32
}

func newLookup[T any](links int) lookup[T] { return lookup[T]{round: 1, places: make([]place, links)} }

// turnTo says what links show from now on: regions with the same stalls that began together share what is looked up.
func (k *lookup[T]) turnTo(stalls *schema.Series, since uint32) {
	if k.stalls != stalls || k.since != since {
		k.stalls, k.since = stalls, since
		k.forget()
	}
}

func (k *lookup[T]) forget() {
	k.list = k.list[:0]
	if k.round++; k.round == 0 {
		clear(k.places)
		k.round = 1
	}
}

// find is the place of a link in the list, and whether what is there is new and still to be found.
func (k *lookup[T]) find(l schema.LinkID) (at int32, isNew bool) {
	p := &k.places[l]
	if p.round == k.round {
		return p.at, false
	}
	*p = place{k.round, int32(len(k.list))}
	var none T
	k.list = append(k.list, none)
	return p.at, true
}

// look is what a link shows in the pressure of the region that was taken last.
func (h *held) look(l schema.LinkID) *reading {
	at, isNew := h.readings.find(l)
	r := &h.readings.list[at]
	if isNew {
		*r = h.read(l)
	}
	return r
}

func (h *held) read(l schema.LinkID) reading {
	p := h.p
	r := reading{dim: h.grid.Dim(l), stall: p.StallOf(l)}
	use, before, capacity := max(0, p.UseOf(l)), max(0, p.Before(l)), p.graph.Capacity(l)
	r.carries = use / 100 * capacity
	stall := p.stallShare(l)
	r.held = r.carries * stall / (1 - stall)
	r.waits = min(1, r.stall/100/max(leastFree*p.oneWay, p.oneWay-use/100))
	r.more = max(0, r.carries-(1-min(1, r.stall/100))*before/100*capacity)
	r.added = max(0, use-before) / 100 * capacity
	return r
}
