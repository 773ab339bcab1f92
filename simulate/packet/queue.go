package packet

import (
	"math/bits"
	"slices"

	"github.com/giverny/giverny/simulate/heap"
)

// event is a scheduled event: Key is its time, Tie the order of insertion, and Value
// its kind in the upper 4 bits and an index in the rest.
type event = heap.Item

const argBits = 28

func kindOf(e event) kind   { return kind(e.Value >> argBits) }
func indexOf(e event) int32 { return int32(e.Value & (1<<argBits - 1)) }

const (
	bucketShift = 22 // 2^22 fs, 4.2 ns
	numBuckets  = 4096
	bucketMask  = numBuckets - 1
)

// queue is a timing wheel: events of the next 17 us are in unsorted buckets of 4 ns,
// those of the current bucket sorted, and later ones in a heap.
type queue struct {
	seq      uint32
	plain    bool  // one heap instead of the wheel, as a reference for tests
	inHand   int64 // number of the current bucket
	sorted   []event
	next     int       // into sorted
	near     heap.Heap // pushed for the current bucket after it was sorted
	far      heap.Heap // a full turn of the wheel or more ahead
	buckets  [numBuckets][]event
	occupied [numBuckets / 64]uint64
	inWheel  int
}

func (q *queue) push(at Time, k kind, index int32) {
	e := event{Key: int64(at), Tie: q.seq, Value: uint32(k)<<argBits | uint32(index)}
	q.seq++
	b := int64(at >> bucketShift)
	switch {
	case b <= q.inHand || q.plain:
		q.near.Push(e)
	case b-q.inHand < numBuckets:
		q.file(b, e)
	default:
		q.far.Push(e)
	}
}

func (q *queue) file(b int64, e event) {
	slot := b & bucketMask
	q.buckets[slot] = append(q.buckets[slot], e)
	q.occupied[slot>>6] |= 1 << (slot & 63)
	q.inWheel++
}

// peek returns the time of the next event; Never if there is none.
func (q *queue) peek() Time {
	if q.next == len(q.sorted) && len(q.near) == 0 && !q.turn() {
		return Never
	}
	t := Never
	if q.next < len(q.sorted) {
		t = Time(q.sorted[q.next].Key)
	}
	if len(q.near) > 0 {
		t = min(t, Time(q.near[0].Key))
	}
	return t
}

// pop returns the next event; peek must have found one.
func (q *queue) pop() event {
	if q.next < len(q.sorted) && (len(q.near) == 0 || q.sorted[q.next].Before(&q.near[0])) {
		q.next++
		return q.sorted[q.next-1]
	}
	return q.near.Pop()
}

// turn advances to the next bucket; false if nothing is pending.
func (q *queue) turn() bool {
	q.sorted, q.next = q.sorted[:0], 0
	if q.inWheel == 0 {
		if len(q.far) == 0 {
			return false
		}
		q.inHand = q.far[0].Key >> bucketShift
	} else {
		q.inHand += q.gap()
	}
	for len(q.far) > 0 {
		b := q.far[0].Key >> bucketShift
		if b-q.inHand >= numBuckets {
			break
		}
		q.file(b, q.far.Pop())
	}
	slot := q.inHand & bucketMask
	q.sorted, q.buckets[slot] = q.buckets[slot], q.sorted
	q.occupied[slot>>6] &^= 1 << (slot & 63)
	q.inWheel -= len(q.sorted)
	if len(q.sorted) > 1 {
		slices.SortFunc(q.sorted, compareEvents)
	}
	return true
}

// gap is how many buckets ahead the next occupied one is, or the one of the heap's
// first event.
func (q *queue) gap() int64 {
	g := int64(numBuckets)
	start := (q.inHand + 1) & bucketMask
	word := q.occupied[start>>6] >> (start & 63)
	if word != 0 {
		g = 1 + int64(bits.TrailingZeros64(word))
	} else {
		for i := int64(1); i <= numBuckets/64; i++ {
			if w := q.occupied[(start>>6+i)&(numBuckets/64-1)]; w != 0 {
				g = 1 + i<<6 - start&63 + int64(bits.TrailingZeros64(w))
				break
			}
		}
	}
	if len(q.far) > 0 {
		g = min(g, q.far[0].Key>>bucketShift-q.inHand)
	}
	return g
}

func compareEvents(a, b event) int {
	if a.Before(&b) {
		return -1
	}
	return 1
}
