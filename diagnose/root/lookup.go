package root

import (
	"github.com/giverny/giverny/schema"
)

// lookup caches what was looked up of links or devices. The list is short, so that it stays in the CPU cache.
type lookup[K ~uint32, T any] struct {
	round  uint32
	stalls *schema.Series // the readings it was computed from
	past   uint32         // the version of the past that they are compared with
	places []place        // by link or device
	list   []T
}

// place is the index of a link or device in the list of a round.
type place struct {
	round uint32
	at    int32
}

// newLookup returns an empty cache for n links or devices.
func newLookup[K ~uint32, T any](n int) lookup[K, T] {
	return lookup[K, T]{round: 1, places: make([]place, n)}
}

// turnTo clears the cache unless stalls and past are as before: regions with the same stalls and onset share it.
func (k *lookup[K, T]) turnTo(stalls *schema.Series, past uint32) {
	if k.stalls != stalls || k.past != past {
		k.stalls, k.past = stalls, past
		k.forget()
	}
}

// forget empties the cache.
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
