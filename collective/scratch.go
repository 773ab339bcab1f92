package collective

// scratch is memory that is reused from one diagnosis to the next.
type scratch struct {
	begin, end       []int64
	own, awaited     []int32
	gaps             []int32
	less, idle, ends []int64 // less and idle are all zero while no replayer uses them
	known            []cause
	filled           []float64
	roles            []int
	effects          map[face]*listedEffect
	lists            [][]share // free lists of shares
}

// list returns an empty list of shares.
func (r *scratch) list() []share {
	n := len(r.lists)
	if n == 0 {
		return nil
	}
	last := r.lists[n-1][:0]
	r.lists = r.lists[:n-1]
	return last
}

// keep recycles a diagnosis' lists of shares.
func (r *scratch) keep(lists map[string][]share) {
	for _, list := range lists {
		clear(list)
		r.lists = append(r.lists, list)
	}
}

// noEffects returns an empty map of effects.
func (r *scratch) noEffects() map[face]*listedEffect {
	if r.effects == nil {
		r.effects = map[face]*listedEffect{}
	}
	clear(r.effects)
	return r.effects
}

// grow returns a slice of n elements with undefined contents, reusing the memory at at
// if it suffices.
func grow[T any](at *[]T, n int) []T {
	if cap(*at) < n {
		*at = make([]T, n)
	}
	*at = (*at)[:n]
	return *at
}
