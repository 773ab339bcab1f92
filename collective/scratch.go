package collective

// scratch is memory that one diagnosis leaves to the next.
type scratch struct {
	begin, end       []int64
	own, awaited     []int32
	gaps             []int32
	less, idle, ends []int64 // less and idle are all zero while no replayer works
}

// grow gives a slice of n elements, of the memory that is there if it is enough. What
// it holds is not defined.
func grow[T any](at *[]T, n int) []T {
	if cap(*at) < n {
		*at = make([]T, n)
	}
	*at = (*at)[:n]
	return *at
}
