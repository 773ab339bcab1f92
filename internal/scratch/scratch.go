// Package scratch manages memory reused from step to step: slices that grow and never shrink, and sets and lists by
// number that are emptied at little cost.
package scratch

// Slice is s with length n, its content unspecified, reallocated only to grow.
func Slice[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// Zeroed is Slice with zero values.
func Zeroed[T any](s []T, n int) []T {
	s = Slice(s, n)
	clear(s)
	return s
}

// Filled is Slice with a value everywhere.
func Filled[T any](s []T, n int, v T) []T {
	s = Slice(s, n)
	for i := range s {
		s[i] = v
	}
	return s
}
