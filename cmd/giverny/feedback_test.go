package main

import (
	"context"
	"strings"
	"testing"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/schema"
)

// A node that nothing needs to be done for is skipped, and no failure.
func TestLiftReportsWhatIsSkipped(t *testing.T) {
	marks := []feedback.Mark{{FeedbackAction: schema.FeedbackAction{Sink: "slurm", Target: "host1"}}, {FeedbackAction: schema.FeedbackAction{Sink: "slurm", Target: "host2"}}}
	lift := func(_ context.Context, chosen []schema.FeedbackAction, _ string) ([]schema.FeedbackAction, error) {
		chosen[0].Action, chosen[0].Outcome = reconcile.ActionRelieve, schema.FeedbackDone
		chosen[1].Action, chosen[1].Outcome, chosen[1].Reason = reconcile.ActionRelease, schema.FeedbackRefused, "raised"
		return chosen, nil
	}
	var out strings.Builder
	f := liftFlags{all: true}
	err := f.lift(t.Context(), &out, marks, lift)
	if want := "slurm host1: restored\nslurm host2: skipped: raised\n1 node restored, 0 failed, 1 skipped\n"; err != nil || out.String() != want {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// A node that is not marked is an error, after those that are have been restored.
func TestLiftOfANodeThatIsNotMarked(t *testing.T) {
	marks := []feedback.Mark{{FeedbackAction: schema.FeedbackAction{Sink: "slurm", Target: "host1"}}}
	lift := func(_ context.Context, chosen []schema.FeedbackAction, _ string) ([]schema.FeedbackAction, error) {
		for i := range chosen {
			chosen[i].Action, chosen[i].Outcome = reconcile.ActionRelieve, schema.FeedbackDone
		}
		return chosen, nil
	}
	var out strings.Builder
	f := liftFlags{nodes: []string{"host1", "hots1"}}
	err := f.lift(t.Context(), &out, marks, lift)
	if want := "hots1: not marked\nslurm host1: restored\n1 node restored, 0 failed, 0 skipped\n"; out.String() != want {
		t.Errorf("%s", out.String())
	}
	if err == nil || err.Error() != "1 node is not marked; giverny feedback marks lists the marked ones" {
		t.Errorf("error %v", err)
	}
}
