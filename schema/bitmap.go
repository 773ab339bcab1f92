package schema

import "math/bits"

// Bitmap is a set of small integers, one bit each, least significant first (the
// layout of an Arrow validity buffer read as little-endian words). In this
// project a set bit means that a value was measured.
type Bitmap []uint64

// NewBitmap returns an empty set for 0..n-1.
func NewBitmap(n int) Bitmap { return make(Bitmap, (n+63)/64) }

// Resize returns an empty set for 0..n-1, in b's memory if it fits.
func (b Bitmap) Resize(n int) Bitmap {
	words := (n + 63) / 64
	if cap(b) < words {
		return make(Bitmap, words)
	}
	b = b[:words]
	clear(b)
	return b
}

// Has reports whether i is in the set.
func (b Bitmap) Has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// Set adds i to the set.
func (b Bitmap) Set(i int) { b[i>>6] |= 1 << (i & 63) }

// Unset removes i from the set.
func (b Bitmap) Unset(i int) { b[i>>6] &^= 1 << (i & 63) }

// Count returns the number of members.
func (b Bitmap) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}
