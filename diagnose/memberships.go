package diagnose

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
)

// memberships are the regions of each link, and what the routes of one job have in common with each.
type memberships struct {
	regions scratch.Lists[schema.LinkID, member]
	sums    []sums // by case
	touched []int32
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
	w.regions.Clear()
	for c := range cases {
		for i, l := range cases[c].region.Links {
			w.regions.Add(l, member{int32(c), cases[c].weight[i], cases[c].waits[i]})
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
