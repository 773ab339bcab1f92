package packet

import (
	"math/bits"
	"slices"
)

// event is a thing to happen, without pointers. Events are ordered by time and
// then by the order in which they were pushed; seq may wrap around, as no two
// pending events are 2^31 apart.
type event struct {
	at  Time
	seq uint32
	arg uint32 // kind in the upper 4 bits, an index in the rest
}

const argBits = 28

func (e *event) kind() kind   { return kind(e.arg >> argBits) }
func (e *event) index() int32 { return int32(e.arg & (1<<argBits - 1)) }

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && int32(e.seq-o.seq) < 0
}

const (
	bucketShift = 22 // 2^22 fs, 4.2 ns
	numBuckets  = 4096
	bucketMask  = numBuckets - 1
)

// queue is a timing wheel: events of the next 17 us lie unordered in buckets of
// 4 ns, those of the bucket in hand sorted, and those beyond in a heap.
type queue struct {
	seq      uint32
	plain    bool  // one heap instead of the wheel: the twin that checks it
	inHand   int64 // number of the bucket in hand
	sorted   []event
	next     int       // into sorted
	near     eventHeap // pushed for the bucket in hand after it was sorted
	far      eventHeap // a turn of the wheel or more ahead
	buckets  [numBuckets][]event
	occupied [numBuckets / 64]uint64
	inWheel  int
}

func (q *queue) push(at Time, k kind, index int32) {
	e := event{at, q.seq, uint32(k)<<argBits | uint32(index)}
	q.seq++
	b := int64(at >> bucketShift)
	switch {
	case b <= q.inHand || q.plain:
		q.near.push(e)
	case b-q.inHand < numBuckets:
		q.file(b, e)
	default:
		q.far.push(e)
	}
}

func (q *queue) file(b int64, e event) {
	slot := b & bucketMask
	q.buckets[slot] = append(q.buckets[slot], e)
	q.occupied[slot>>6] |= 1 << (slot & 63)
	q.inWheel++
}

// peek is the time of the next event, Never if there is none.
func (q *queue) peek() Time {
	if q.next == len(q.sorted) && len(q.near) == 0 && !q.turn() {
		return Never
	}
	t := Never
	if q.next < len(q.sorted) {
		t = q.sorted[q.next].at
	}
	if len(q.near) > 0 {
		t = min(t, q.near[0].at)
	}
	return t
}

// pop takes the next event; peek has said that there is one.
func (q *queue) pop() event {
	if q.next < len(q.sorted) && (len(q.near) == 0 || q.sorted[q.next].before(&q.near[0])) {
		q.next++
		return q.sorted[q.next-1]
	}
	return q.near.pop()
}

// turn takes the next bucket in hand; false if nothing is pending.
func (q *queue) turn() bool {
	q.sorted, q.next = q.sorted[:0], 0
	if q.inWheel == 0 {
		if len(q.far) == 0 {
			return false
		}
		q.inHand = int64(q.far[0].at >> bucketShift)
	} else {
		q.inHand += q.gap()
	}
	for len(q.far) > 0 {
		b := int64(q.far[0].at >> bucketShift)
		if b-q.inHand >= numBuckets {
			break
		}
		q.file(b, q.far.pop())
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

// gap is how many buckets ahead the next occupied one is, or the one that the
// heap's first event belongs to.
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
		g = min(g, int64(q.far[0].at>>bucketShift)-q.inHand)
	}
	return g
}

func compareEvents(a, b event) int {
	if a.before(&b) {
		return -1
	}
	return 1
}

// eventHeap is a four-way heap.
type eventHeap []event

func (h *eventHeap) push(e event) {
	a := append(*h, e)
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&a[up]) {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = e
	*h = a
}

func (h *eventHeap) pop() event {
	a := *h
	top, e := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) == 0 {
		return top
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= len(a) {
			break
		}
		for c := least + 1; c < min(4*i+5, len(a)); c++ {
			if a[c].before(&a[least]) {
				least = c
			}
		}
		if !a[least].before(&e) {
			break
		}
		a[i] = a[least]
		i = least
	}
	a[i] = e
	return top
}
