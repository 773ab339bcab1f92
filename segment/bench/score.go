package bench

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
)

// Result is how well regions match the truth: 0 to 1 each.
type Result struct {
	// Score is Monet's, Appendix D: the mean over the true regions of the
	// intersection over the union with the matched one, times n/max(n, m) for n
	// true and m found regions.
	Score float64
	// Precision and Recall are the means over the true regions of the shares of
	// the matched region and of the true one that both have; an unmatched
	// region counts 0.
	Precision, Recall float64
	True, Found       int
}

// negligible is the mean stall under which a found region is not counted.
const negligible = 5

// Score matches true and found regions within each metric. True regions choose
// in order of size, smallest first, the found region with which they have most
// links in common, and each is chosen once.
func Score(truth []Truth, found []schema.Region) Result {
	order := slices.Clone(truth)
	slices.SortStableFunc(order, func(a, b Truth) int { return cmp.Compare(len(a.Links), len(b.Links)) })
	used := make([]bool, len(found))
	r := Result{True: len(truth)}
	for i := range found {
		used[i] = found[i].Mean < negligible
		if !used[i] {
			r.Found++
		}
	}
	for _, t := range order {
		best, most := -1, 0
		for i := range found {
			if used[i] || found[i].Metric != t.Metric {
				continue
			}
			if n := common(t.Links, found[i].Links); n > most {
				best, most = i, n
			}
		}
		if best < 0 {
			continue
		}
		used[best] = true
		a, b, both := float64(len(t.Links)), float64(len(found[best].Links)), float64(most)
		r.Score += both / (a + b - both)
		r.Precision += both / b
		r.Recall += both / a
	}
	n := float64(r.True)
	if n == 0 {
		return r
	}
	r.Score *= 1 / max(n, float64(r.Found))
	r.Precision /= n
	r.Recall /= n
	return r
}

// common counts the members of two ascending lists that both have.
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
