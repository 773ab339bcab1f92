package incident

import (
	"testing"

	"github.com/giverny/giverny/collective"
)

// Whatever the seed, an incident has what its truth says: of small trees, many orders of the ranks have no two flows
// that could collide.
func TestEveryIncidentHasACulprit(t *testing.T) {
	for ranks := leastRanks; ranks <= 17; ranks++ {
		for _, class := range Classes() {
			for _, algorithm := range Algorithms() {
				for seed := range uint64(4) {
					spec := Spec{Class: class, Algorithm: algorithm, Ranks: ranks, ChunkBytes: 1 << 16, Seed: seed}
					if spec.Validate() != nil {
						continue
					}
					in, err := New(spec)
					if err != nil {
						t.Fatal(err)
					}
					if culprit := class != Healthy; culprit != (len(in.truth.Objects) > 0) {
						t.Errorf("%d ranks, %s, %s, seed %d: culprits %q", ranks, class, algorithm, seed, in.truth.Objects)
					}
					if class == collective.SelfCollision && len(in.spine) == 0 {
						t.Errorf("%d ranks, %s, seed %d: no flow moved", ranks, algorithm, seed)
					}
				}
			}
		}
	}
}
