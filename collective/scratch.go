package collective

// scratch is memory that one diagnosis leaves to the next.
type scratch struct {
	begin, end       []int64
	own, awaited     []int32
	gaps             []int32
	less, idle, ends []int64 // less and idle are all zero while no replayer works
	known            []cause
	filled           []float64
	roles            []int
	deeds            map[face]*done
	lists            [][]share // to be used again
}

// list is an empty list of shares.
func (r *scratch) list() []share {
	n := len(r.lists)
	if n == 0 {
		return nil
	}
	last := r.lists[n-1][:0]
	r.lists = r.lists[:n-1]
	return last
}

// keep takes back the lists of shares of a diagnosis.
func (r *scratch) keep(lists map[string][]share) {
	for _, list := range lists {
		clear(list)
		r.lists = append(r.lists, list)
	}
}

// noDeeds is an empty list of deeds.
func (r *scratch) noDeeds() map[face]*done {
	if r.deeds == nil {
		r.deeds = map[face]*done{}
	}
	clear(r.deeds)
	return r.deeds
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
