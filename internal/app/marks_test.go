//go:build integration

package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/slurm"
	"github.com/giverny/giverny/schema"
)

// Slurm nodes marked by an analyser whose host is lost are found in the audit and restored; others are not.
func TestMarksOfALostHostAreLifted(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Nodes: []string{"host0", "host1", "host2"}})
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.Fabrics = []config.Fabric{config.DefaultFabric(), config.DefaultFabric()}
	cfg.Fabrics[0].Name, cfg.Fabrics[1].Name = "ib0", "ib1"
	cfg.Feedback.Slurm.Scontrol = append(c.Prefix(), "scontrol")
	c.Output("scontrol", "update", "NodeName=host[0-1]", "Weight=1000")
	at := time.Now().Add(-time.Hour)
	row := func(after time.Duration, act, node string, outcome schema.FeedbackOutcome, dry bool) schema.FeedbackAction {
		return schema.FeedbackAction{Time: schema.InstantOf(at.Add(after)), Sink: "slurm", Action: act, Target: node, Outcome: outcome, DryRun: dry, Before: `{"weight":3}`, After: `{"weight":1000}`}
	}
	audit := map[string][]schema.FeedbackAction{
		"ib0": {row(0, "mark", "host0", schema.FeedbackDone, false), row(1, "reapply", "host0", schema.FeedbackDone, false), row(2, "mark", "host0", schema.FeedbackRefused, false),
			row(0, "mark", "host2", schema.FeedbackDone, false), row(1, "relieve", "host2", schema.FeedbackDone, false)},
		"ib1": {row(0, "mark", "host1", schema.FeedbackDone, true), row(0, "fire", "host1", schema.FeedbackDone, false)},
	}
	seed := New(cfg, "test", slog.New(slog.DiscardHandler))
	if err := seed.useStore(); err != nil {
		t.Fatal(err)
	}
	err := seed.RunOnce(t.Context(), func(ctx context.Context) error {
		if err := seed.awaitStore(ctx); err != nil {
			return err
		}
		for fabric, rows := range audit {
			if err := seed.db.StoreFeedback(ctx, fabric, rows); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := liftAll(t, cfg); got != "ib0 reapply host0; relieve host0 done" {
		t.Errorf("the first time: %s", got)
	}
	if got := c.Output("sinfo", "--noheader", "--Node", "--format=%N %w"); strings.Join(strings.Fields(got), " ") != "host0 3 host1 1000 host2 1" {
		t.Errorf("the nodes weigh %s", got)
	}
	if got := liftAll(t, cfg); got != "; " {
		t.Errorf("the second time: %s", got)
	}
	if held, err := filepath.Glob(filepath.Join(cfg.DataDir, "feedback/*")); err != nil || len(held) > 0 {
		t.Errorf("a journal of its own: %v, %v", held, err)
	}
}

// liftAll lists the marks and lifts them, with the outcome for each.
func liftAll(t *testing.T, cfg config.Config) string {
	t.Helper()
	var marked, lifted []string
	err := New(cfg, "test", slog.New(slog.DiscardHandler)).Marks(t.Context(), func(ctx context.Context, marks []feedback.Mark, lift Lift) error {
		var actions []schema.FeedbackAction
		for _, m := range marks {
			actions = append(actions, m.FeedbackAction)
			marked = append(marked, fmt.Sprint(m.Fabric, " ", m.Action, " ", m.Target))
		}
		acts, err := lift(ctx, actions, "by hand")
		for _, a := range acts {
			lifted = append(lifted, fmt.Sprint(a.Action, " ", a.Target, " ", a.Outcome))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(marked, ", ") + "; " + strings.Join(lifted, ", ")
}
