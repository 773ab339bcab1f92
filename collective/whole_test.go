package collective_test

import (
	"math/rand"
	"reflect"
	"testing"

	"github.com/giverny/giverny/collective"
)

// Records in order are joined in one pass; in any other order, or duplicated, the
// diagnosis is the same except for the note on duplicates. In some runs clocks differ.
func TestOrderedRunsAreDiagnosedAsAnyOther(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for n := range 60 {
		ranks, iterations := 2+r.Intn(7), 1+r.Intn(3)
		names, communicators := ringRanks(ranks)
		var steps []collective.StepRecord
		at := int64(1e9)
		for iteration := range iterations {
			from := len(steps)
			steps = append(steps, ringIteration(nil, ranks, r.Intn(ranks), at)...)
			for i := from; i < len(steps); i++ {
				steps[i].Iteration = int32(iteration)
				at = max(at, steps[i].EndNanos)
			}
		}
		if n%3 == 0 {
			for i := range steps {
				steps[i].BeginNanos += int64(steps[i].Rank) * 3_000_000
				steps[i].EndNanos += int64(steps[i].Rank) * 3_000_000
			}
		}
		run := collective.Run{Ranks: names, Communicators: communicators, Steps: steps}
		want := collective.Diagnose(run, collective.Options{})
		shuffled := append(append([]collective.StepRecord{}, steps...), steps[:r.Intn(len(steps))]...)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		run.Steps = shuffled
		got := collective.Diagnose(run, collective.Options{})
		got.Notes, got.Text, want.Text = nil, "", ""
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%d ranks, %d iterations:\n%+v\nwant\n%+v", ranks, iterations, got, want)
		}
	}
}
