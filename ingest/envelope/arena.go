package envelope

import "unsafe"

const alignment = 64 // bytes, as the Arrow format recommends

// arena is Arrow's allocator for one payload at a time: it allocates from one slab, never frees, and
// panics above its budget, which the callers of Arrow turn into an error.
type arena struct {
	slab   []byte
	used   int
	budget int
	warm   int // the most that a payload has used so far
}

// reset frees all allocations. Their memory will be overwritten.
func (a *arena) reset(budget int) {
	a.warm = max(a.warm, a.used)
	if len(a.slab) < a.warm {
		a.slab = alignedBytes(a.warm)
	}
	a.used, a.budget = 0, budget
}

// Allocate implements memory.Allocator.
func (a *arena) Allocate(size int) []byte {
	start := a.used
	if size < 0 || size > a.budget-start {
		panic(refuse(TooLarge, "Arrow asks for %d bytes with %d of %d in use", size, start, a.budget))
	}
	end := start + (size+alignment-1)/alignment*alignment
	a.used = end
	if end > len(a.slab) {
		return alignedBytes(size)
	}
	piece := a.slab[start : start+size : start+size]
	clear(piece) // Arrow relies on zeros, for the bitmap of a column without any value
	return piece
}

// Reallocate implements memory.Allocator.
func (a *arena) Reallocate(size int, b []byte) []byte {
	if size >= 0 && size <= len(b) {
		return b[:size]
	}
	piece := a.Allocate(size)
	copy(piece, b)
	return piece
}

// Free implements memory.Allocator.
func (a *arena) Free([]byte) {}

func alignedBytes(n int) []byte {
	b := make([]byte, n+alignment)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (alignment - 1)
	return b[skip : skip+n : skip+n]
}
