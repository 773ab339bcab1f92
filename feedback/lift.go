package feedback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/giverny/giverny/feedback/kubernetes"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/feedback/slurm"
	"github.com/giverny/giverny/schema"
)

// The sinks that mark nodes, as named in the audit log.
const (
	sinkSlurm = "slurm"
	sinkNodes = "kubernetes-nodes"
)

// Mark is a node that a scheduler is asked to avoid.
type Mark struct {
	schema.FeedbackAction // that marked it
	// HeldHere: it is in a journal of this host. The process that owns the journal restores it, at its next start at the latest.
	HeldHere bool `json:"held_here"`
}

// Marks adds to actions of the audit whether this host holds them.
func (c *Config) Marks(audited []schema.FeedbackAction) (marks []Mark, err error) {
	held := map[string][]string{}
	for i := range audited {
		a := &audited[i]
		if _, known := held[a.Sink]; !known {
			if held[a.Sink], err = reconcile.LeftBehind(filepath.Join(c.Dir, a.Sink)); err != nil {
				return nil, err
			}
		}
		marks = append(marks, Mark{*a, slices.Contains(held[a.Sink], a.Target)})
	}
	return marks, nil
}

// Lift restores nodes that were marked by a process that no longer exists, and audits the outcome for each. marks are the
// actions that marked them. The error is that of a scheduler or of the audit.
func Lift(ctx context.Context, cfg *Config, marks []schema.FeedbackAction, reason string, audit record.Store, log *slog.Logger) (all []schema.FeedbackAction, err error) {
	var errs []error
	for _, made := range makings(marks) {
		scheduler, err := schedulerOf(cfg, made.sink, made.keys, log)
		var acts []schema.FeedbackAction
		if err == nil {
			acts, err = reconcile.Lift(ctx, scheduler, made.marks, reason)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", made.sink, err))
			continue
		}
		errs = append(errs, auditLifted(ctx, made.sink, acts, audit))
		all = append(all, acts...)
	}
	return all, errors.Join(errs...)
}

// making is a set of marks made in one sink with the same keys.
type making struct {
	sink  string
	keys  string // from kubernetes.MarksOf; empty: the configured ones
	marks []schema.FeedbackAction
}

func makings(marks []schema.FeedbackAction) (all []making) {
	for _, sink := range []string{sinkSlurm, sinkNodes} {
		byKeys := map[string][]schema.FeedbackAction{}
		for _, m := range marks {
			if m.Sink != sink {
				continue
			}
			keys := ""
			if sink == sinkNodes {
				keys = kubernetes.MarksOf(reconcile.State(m.After))
			}
			byKeys[keys] = append(byKeys[keys], m)
		}
		for _, keys := range slices.Sorted(maps.Keys(byKeys)) {
			all = append(all, making{sink, keys, byKeys[keys]})
		}
	}
	return all
}

func schedulerOf(cfg *Config, sink, keys string, log *slog.Logger) (reconcile.Scheduler, error) {
	if sink == sinkSlurm {
		return slurm.New(cfg.Slurm, log)
	}
	nodes, err := kubernetes.NewNodes(cfg.Kubernetes.Nodes, log)
	if err != nil || keys == "" {
		return nodes, err
	}
	return nodes.Marking(keys)
}

func auditLifted(ctx context.Context, sink string, acts []schema.FeedbackAction, audit record.Store) error {
	of := map[string][]schema.FeedbackAction{}
	for i := range acts {
		acts[i].Sink, acts[i].Time = sink, schema.Instant(time.Now().UnixNano())
		of[acts[i].Fabric] = append(of[acts[i].Fabric], acts[i])
	}
	var errs []error
	for fabric, rows := range of {
		errs = append(errs, audit.StoreFeedback(ctx, fabric, rows))
	}
	return errors.Join(errs...)
}
