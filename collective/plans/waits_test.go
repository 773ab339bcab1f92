package plans_test

import (
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/plans"
	"github.com/giverny/giverny/collective/plans/planstest"
)

// Records without waits get those of the plan.
func TestFillWaits(t *testing.T) {
	for _, s := range planstest.Shapes() {
		p, err := plans.Decompose(s)
		if err != nil {
			t.Fatal(err)
		}
		want := planstest.Run(rand.New(rand.NewSource(3)), p, s.Algorithm)
		want.Communicators[0].Operation = s.Operation
		run := want
		run.Steps = slices.Clone(want.Steps)
		for i := range run.Steps {
			run.Steps[i].AwaitsRank, run.Steps[i].AwaitsStep = 0, 0
		}
		plans.FillWaits(&run)
		if len(run.Notes) > 0 {
			t.Errorf("%+v: %v", s, run.Notes)
		}
		filled := 0
		for i, r := range run.Steps {
			if r.AwaitsStep == 0 {
				continue // several arrive at once: the last is found in the records
			}
			if filled++; r.AwaitsRank != want.Steps[i].AwaitsRank || r.AwaitsStep != want.Steps[i].AwaitsStep {
				t.Fatalf("%+v: %+v, want %+v", s, r, want.Steps[i])
			}
		}
		if filled == 0 || s.Algorithm != collective.Tree && s.Algorithm != collective.DoubleTree && filled < len(run.Steps) {
			t.Errorf("%+v: %d of %d steps have waits", s, filled, len(run.Steps))
		}
		if got, exact := collective.Diagnose(run, collective.Options{}), collective.Diagnose(want, collective.Options{}); filled == len(run.Steps) && !reflect.DeepEqual(got.CriticalPath, exact.CriticalPath) {
			t.Errorf("%+v: another path than with recorded waits", s)
		}
	}
}

// Missing steps are named by rank; the plan is not used if records have steps that it
// lacks.
func TestFillWaitsSaysWhatDoesNotFit(t *testing.T) {
	plan, err := plans.Decompose(plans.Shape{Operation: collective.AllReduce, Algorithm: collective.Ring, Members: 4, Bytes: 4000})
	if err != nil {
		t.Fatal(err)
	}
	whole := planstest.Run(rand.New(rand.NewSource(3)), plan, collective.Ring)
	whole.Communicators[0].Operation = collective.AllReduce
	for i := range whole.Steps {
		whole.Steps[i].AwaitsRank, whole.Steps[i].AwaitsStep = 0, 0
	}
	for want, change := range map[string]func(run *collective.Run){
		"steps of all_reduce by ring that are not in the records: rank 2: 2": func(run *collective.Run) {
			run.Steps = slices.DeleteFunc(run.Steps, func(r collective.StepRecord) bool { return r.Rank == 2 && r.Step > 4 })
		},
		"steps that all_reduce by ring does not have (rank 1: 1): waits are found":  func(run *collective.Run) { run.Steps[5].Peer = 0 },
		"steps that all_reduce by ring does not have (rank 3: 1): waits are found":  func(run *collective.Run) { run.Steps[len(run.Steps)-1].Step = 9 },
		"all_to_all by ring is not supported":                                       func(run *collective.Run) { run.Communicators[0].Operation = collective.AllToAll },
		"1073741824 chunks and 1 channels is too large for a plan: waits are found": func(run *collective.Run) { run.Steps[0].Chunk = 1<<30 - 1 },
	} {
		run := whole
		run.Steps, run.Communicators = slices.Clone(whole.Steps), slices.Clone(whole.Communicators)
		change(&run)
		plans.FillWaits(&run)
		if len(run.Notes) != 1 || !strings.Contains(run.Notes[0], want) {
			t.Errorf("%v, want %s", run.Notes, want)
		}
		filled := slices.ContainsFunc(run.Steps, func(r collective.StepRecord) bool { return r.AwaitsStep != 0 })
		if filled != strings.Contains(want, "not in the records") {
			t.Errorf("%s: filled in %v", want, filled)
		}
	}
}
