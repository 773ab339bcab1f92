package reconcile_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record/recordtest"
)

// labelled is a scheduler that marks nodes with a label of a configurable key: a State says only whether a node has it.
type labelled struct {
	key    string
	labels map[string][]string // by node
	down   *bool
}

const (
	with    = reconcile.State("with")
	without = reconcile.State("without")
)

func (l labelled) Look(_ context.Context, names []string) (map[string]reconcile.State, error) {
	if *l.down {
		return nil, errDown
	}
	found := map[string]reconcile.State{}
	for _, name := range names {
		found[name] = without
		if slices.Contains(l.labels[name], l.key) {
			found[name] = with
		}
	}
	return found, nil
}

func (l labelled) Avoid(reconcile.State) (reconcile.State, error) { return with, nil }

func (l labelled) Undo(now, before, made reconcile.State) (reconcile.State, reconcile.Standing) {
	if now != made {
		return now, reconcile.Gone
	}
	return before, reconcile.Stands
}

func (l labelled) Set(_ context.Context, to map[string]reconcile.State) error {
	for name, s := range to {
		l.labels[name] = slices.DeleteFunc(l.labels[name], func(key string) bool { return key == l.key })
		if s == with {
			l.labels[name] = append(l.labels[name], l.key)
		}
	}
	return nil
}

func (labelled) ValidName(string) error { return nil }

// Nodes marked under an earlier configuration by a process that could not restore them are restored before any
// node is marked under the current one, even if the sink is disabled now.
func TestMarksOfAnEarlierConfigurationAreUndone(t *testing.T) {
	for _, off := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			dir, down, labels := t.TempDir(), false, map[string][]string{}
			run := func(key string, idle bool) (r *reconcile.Reconciler, stop func() error) {
				cfg := reconcile.Config{Dir: dir, StopTimeout: time.Second, Policy: policy.DefaultConfig(), Marks: key, Idle: idle,
					Earlier: func(marks string) (reconcile.Scheduler, error) { return labelled{marks, labels, &down}, nil }}
				cfg.Policy.Allow, cfg.Policy.RaiseAfter = []string{"*"}, 0
				r = reconcile.New(cfg, labelled{key, labels, &down}, recordtest.New(t, "fake", reconcile.Reasons()).Recorder, slog.New(slog.DiscardHandler))
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				return r, func() error { cancel(); return <-done }
			}
			hot := func(r *reconcile.Reconciler, nodes ...string) {
				s := reconcile.Scores{Fabric: "ib0", AtNanos: time.Now().UnixNano()}
				for _, n := range nodes {
					s.Nodes = append(s.Nodes, policy.Score{Node: n, Score: 90, Fabric: "ib0"})
				}
				r.Take(s)
				time.Sleep(5 * time.Second)
				synctest.Wait()
			}
			r, stop := run("old", false)
			hot(r, "n1", "n2")
			down = true
			if err := stop(); !errors.Is(err, errDown) {
				t.Errorf("the stop: %v", err)
			}
			down = false
			r, stop = run("new", off)
			hot(r, "n2")
			want := map[string][]string{"n1": {}, "n2": {"new"}}
			if off {
				want["n2"] = []string{}
			}
			if !maps.EqualFunc(labels, want, slices.Equal) {
				t.Errorf("off %v: under the new configuration %v, want %v", off, labels, want)
			}
			if err := stop(); err != nil || len(labels["n1"])+len(labels["n2"]) > 0 {
				t.Errorf("at the end %v, %v", labels, err)
			}
		})
	}
}
