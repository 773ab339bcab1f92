package diagnose

import "github.com/giverny/giverny/schema"

// memberships are the regions of each link, as compressed sparse rows over the links that are in one, and what the
// routes of one job have in common with each.
type memberships struct {
	first   []int32 // by link: its index in entries plus 1; 0: none
	entries []entry
	marked  []schema.LinkID

	sums    []sums // by case
	touched []int32
}

// entry is a link's membership in a region; those of one link are chained.
type entry struct {
	member
	next int32 // index of the next plus 1
}

// member is a region of a link, by the number of its case, with what the link is in it (regionCase.weight, waits).
type member struct {
	region        int32
	weight, waits float64
}

// sums are what a job's routes have in common with a region.
type sums struct {
	on          bool    // it is touched
	cross, gate float64 // weight of the links on its exchange, and of those at its border
	load, waits float64 // of its exchange, and weighted by the share of time that each link stalls
	worst       float64 // the highest such share
}

// index records which regions each link is in.
func (w *memberships) index(cases []regionCase) {
	for _, l := range w.marked {
		w.first[l] = 0
	}
	w.marked, w.entries = w.marked[:0], w.entries[:0]
	for c := range cases {
		for i, l := range cases[c].region.Links {
			if w.first[l] == 0 {
				w.marked = append(w.marked, l)
			}
			w.entries = append(w.entries, entry{member{int32(c), cases[c].weight[i], cases[c].waits[i]}, w.first[l]})
			w.first[l] = int32(len(w.entries))
		}
	}
}

// of ranges over the regions of a link.
func (w *memberships) of(l schema.LinkID) func(yield func(int, member) bool) {
	return func(yield func(int, member) bool) {
		for at := w.first[l]; at != 0; at = w.entries[at-1].next {
			if !yield(int(at), w.entries[at-1].member) {
				return
			}
		}
	}
}

// begin clears the sums of the previous job.
func (w *memberships) begin(cases int) {
	for _, c := range w.touched {
		w.sums[c] = sums{}
	}
	w.touched = w.touched[:0]
	for len(w.sums) < cases {
		w.sums = append(w.sums, sums{})
	}
}

// touch returns the sums of a case, which is listed as touched.
func (w *memberships) touch(c int32) *sums {
	s := &w.sums[c]
	if !s.on {
		s.on = true
		w.touched = append(w.touched, c)
	}
	return s
}
