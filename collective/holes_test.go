package collective_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
)

// TestMissingAmidOthers: where records of a ring are missing between others of the same
// rank, the time before the next steps is attributed to no one, and a note counts them.
func TestMissingAmidOthers(t *testing.T) {
	ranks, communicators := ringRanks(8)
	run := collective.Run{Ranks: ranks, Communicators: communicators, Steps: ringIteration(nil, 8, collective.None, 1e9)}
	if d := collective.Diagnose(run, collective.Options{}); len(d.Culprits)+len(d.LateRanks)+len(d.Notes) > 0 {
		t.Fatalf("all records: %s", d.Text)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		lacking := run
		at := random.IntN(len(run.Steps))
		for run.Steps[at].Step == run.Steps[len(run.Steps)-1].Step { // its end would be missing
			at = random.IntN(len(run.Steps))
		}
		lacking.Steps = slices.Delete(slices.Clone(run.Steps), at, at+1)
		d := collective.Diagnose(lacking, collective.Options{})
		if len(d.Culprits)+len(d.LateRanks)+len(d.StoppedRanks) > 0 || !strings.Contains(d.Text, "step records missing between others: 1, ") {
			t.Errorf("without rank %d's step %d: %s", run.Steps[at].Rank, run.Steps[at].Step, d.Text)
		}
	}
}

// TestStepsThatRanksSkip: in a tree, ranks have no records of others' steps, and
// nothing is missing.
func TestStepsThatRanksSkip(t *testing.T) {
	ranks, communicators := ringRanks(4)
	run := collective.Run{Ranks: ranks, Communicators: communicators}
	for _, s := range [][3]int32{{1, 1, 0}, {1, 3, 2}, {2, 2, 0}, {3, 0, 2}, {4, 0, 1}, {4, 2, 3}} {
		run.Steps = append(run.Steps, collective.StepRecord{Step: s[0], Rank: s[1], Peer: s[2], AwaitsStep: collective.None, Bytes: 1 << 20,
			BeginNanos: 1e9 + 1_000_000*int64(s[0]), EndNanos: 1e9 + 1_000_000*int64(s[0]+1), AloneNanos: 1_000_000})
	}
	if d := collective.Diagnose(run, collective.Options{}); strings.Contains(d.Text, "missing between") {
		t.Error(d.Text)
	}
}
