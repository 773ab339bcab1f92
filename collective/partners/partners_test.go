package partners_test

import (
	"testing"

	"github.com/giverny/giverny/collective/partners"
)

// TestSourceIsWhoSends: in every step of a pairing each rank receives from the one that sends to it.
func TestSourceIsWhoSends(t *testing.T) {
	for name, p := range map[string]partners.Pairing{"onwards": partners.Onwards, "backwards": partners.Backwards, "exchanged": partners.Exchanged} {
		const n = 8
		for step := 1; step <= partners.DirectSteps(n); step++ {
			for position := range n {
				to := p.Destination(position, step, n)
				if to < 0 || to >= n || to == position || p.Source(to, step, n) != position {
					t.Errorf("%s: in step %d %d sends to %d, which receives from %d", name, step, position, to, p.Source(to, step, n))
				}
			}
		}
	}
}

// TestHalvingMeetsAll: partners of a step are each other's, and what one rank has reaches all in half of the steps.
func TestHalvingMeetsAll(t *testing.T) {
	const n = 16
	steps := partners.HalvingSteps(n)
	has := map[int]bool{3: true}
	for step := 1; step <= steps/2; step++ {
		next := map[int]bool{}
		for position := range n {
			partner := partners.HalvingPartner(position, step, steps)
			if partners.HalvingPartner(partner, step, steps) != position {
				t.Fatalf("step %d: the partner of %d is %d, whose partner is another", step, position, partner)
			}
			next[position] = has[position] || has[partner]
		}
		has = next
	}
	for position := range n {
		if !has[position] {
			t.Errorf("%d has nothing of rank 3", position)
		}
	}
}
