package slurm

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/feedback/reconcile"
)

// After marking and relief a node is as before; changes by others in between are kept.
func TestUndoIsTheReverse(t *testing.T) {
	list := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "calm", "hot", "z"}), 0, 4, rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultConfig()
		cfg.Weight = rapid.SampledFrom([]uint32{0, 1000}).Draw(t, "weight")
		cfg.Feature = rapid.SampledFrom([]string{"", "hot"}).Draw(t, "feature")
		cfg.ClearFeature = rapid.SampledFrom([]string{"", "calm"}).Draw(t, "clear")
		s := &Scheduler{cfg: cfg}
		before := node{Weight: rapid.Uint32Range(1, 900).Draw(t, "was"), Available: list.Draw(t, "available")}
		for _, f := range before.Available {
			if rapid.Bool().Draw(t, "active") {
				before.Active = append(before.Active, f)
			}
		}
		marked, err := s.Avoid(before.state())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Avoid(marked); err == nil && again != marked {
			t.Fatalf("a marked node %s becomes %s", marked, again)
		}
		back, found := s.Undo(marked, before.state(), marked)
		if got, err := nodeOf(back); err != nil || got.Weight != before.Weight || !sameSet(got.Available, before.Available) || !sameSet(got.Active, before.Active) {
			t.Fatalf("%s marked %s goes back to %s, %v", before.state(), marked, back, err)
		}
		if (found == reconcile.Gone) != sameState(marked, before) {
			t.Fatalf("%s marked %s: found %v", before.state(), marked, found)
		}
		is, _ := nodeOf(marked)
		is.Weight, is.Active = 3, append(slices.Clone(is.Active), "others")
		then, _ := s.Undo(is.state(), before.state(), marked)
		if got, err := nodeOf(then); err != nil || got.Weight != 3 || !slices.Contains(got.Active, "others") {
			t.Fatalf("others made it %s, relief %s, %v", is.state(), then, err)
		}
		is.Weight = 1 << 30
		if _, found := s.Undo(is.state(), before.state(), marked); (found == reconcile.Covered) != (cfg.Weight > 0) {
			t.Fatalf("others made it %s, above the mark %s: found %v", is.state(), marked, found)
		}
	})
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func sameState(a reconcile.State, n node) bool {
	m, err := nodeOf(a)
	return err == nil && m.Weight == n.Weight && sameSet(m.Available, n.Available) && sameSet(m.Active, n.Active)
}
