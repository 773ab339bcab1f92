package bench

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
)

// Result is how well regions match the truth.
type Result struct {
	// Score is that of Monet's Appendix D: the mean over the true regions of the
	// intersection over union with the matched region, times n/max(n, m) for n true and
	// m found regions.
	Score float64
	// Precision and Recall are means over the true regions of the common share of the
	// matched region and of the true region, respectively; an unmatched region counts
	// as 0.
	Precision, Recall float64
	True, Found       int
	// Leaked counts found regions that leaked into the background: more than half of
	// their links lie outside all true regions of their metric, or they have more than
	// three times the links of the true region matched with them.
	Leaked int
	// FoundLinks counts the links of found regions, and BackgroundLinks those that lie
	// outside all true regions of their metric; a link of two found regions counts
	// twice.
	FoundLinks, BackgroundLinks int
	// Roots counts the matched true regions that have one root, and RootsRight those whose found region
	// names it.
	Roots, RootsRight int
}

// leakFactor is the ratio of the sizes of a found region and its true region beyond
// which it has leaked.
const leakFactor = 3

// negligible is the mean stall below which a found region is ignored.
const negligible = schema.LowPercent

// Score matches true and found regions of each metric. True regions, smallest first,
// choose the found region with the most common links; each found region can be chosen
// once.
func Score(truth []Truth, found []schema.Region) Result {
	order := slices.Clone(truth)
	slices.SortStableFunc(order, func(a, b Truth) int { return cmp.Compare(len(a.Links), len(b.Links)) })
	r := Result{True: len(truth)}
	match := make([]*Truth, len(found)) // by found region
	for i := range order {
		t := &order[i]
		best, most := -1, 0
		for j := range found {
			if match[j] != nil || found[j].Metric != t.Metric || found[j].Mean < negligible {
				continue
			}
			if n := common(t.Links, found[j].Links); n > most {
				best, most = j, n
			}
		}
		if best < 0 {
			continue
		}
		match[best] = t
		if t.Root != schema.NoLink {
			r.Roots++
			if root := found[best].Root; root != nil && root.Link == t.Root {
				r.RootsRight++
			}
		}
		a, b, both := float64(len(t.Links)), float64(len(found[best].Links)), float64(most)
		r.Score += both / (a + b - both)
		r.Precision += both / b
		r.Recall += both / a
	}
	r.countFound(truth, found, match)
	if n := float64(r.True); n > 0 {
		r.Score /= max(n, float64(r.Found))
		r.Precision /= n
		r.Recall /= n
	}
	return r
}

// countFound counts the found regions and their leaks.
func (r *Result) countFound(truth []Truth, found []schema.Region, match []*Truth) {
	inTruth := map[schema.Metric]map[schema.LinkID]bool{}
	for _, t := range truth {
		if inTruth[t.Metric] == nil {
			inTruth[t.Metric] = map[schema.LinkID]bool{}
		}
		for _, l := range t.Links {
			inTruth[t.Metric][l] = true
		}
	}
	for i := range found {
		f := &found[i]
		if f.Mean < negligible {
			continue
		}
		background := 0
		for _, l := range f.Links {
			if !inTruth[f.Metric][l] {
				background++
			}
		}
		r.Found++
		r.FoundLinks += len(f.Links)
		r.BackgroundLinks += background
		if 2*background > len(f.Links) || match[i] != nil && len(f.Links) > leakFactor*len(match[i].Links) {
			r.Leaked++
		}
	}
}

// common counts the common members of two ascending lists.
func common(a, b []schema.LinkID) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n++
			a, b = a[1:], b[1:]
		}
	}
	return n
}
