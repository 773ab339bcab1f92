package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/giverny/giverny/feedback/reconcile"
)

// Scheduler is Slurm, for a reconciler.
type Scheduler struct {
	cfg Config
	way way
}

// way is how Slurm is spoken to. Nodes that it does not have are left out.
type way interface {
	look(ctx context.Context, names []string) (map[string]node, error)
	// set changes nodes that become alike. On an error some may have been changed.
	set(ctx context.Context, names []string, to node, c changed) error
	// perSet bounds the nodes of one call of set.
	perSet() int
}

// changed says which fields of a node are to be set.
type changed struct{ weight, features bool }

// New makes the scheduler of a valid configuration.
func New(cfg Config) (*Scheduler, error) {
	s := &Scheduler{cfg: cfg}
	if cfg.REST.URL.IsEmpty() {
		s.way = &scontrol{cfg}
		return s, nil
	}
	way, err := newREST(cfg)
	if err != nil {
		return nil, fmt.Errorf("feedback.slurm.rest: %w", err)
	}
	s.way = way
	return s, nil
}

// ValidName says whether a name can be one of Slurm's nodes.
func (s *Scheduler) ValidName(name string) error {
	if !nodeName.MatchString(name) {
		return fmt.Errorf("%q is no name of a node: want letters, digits, . _ and -, a letter or digit first", name)
	}
	return nil
}

// perCall bounds the nodes that one call names.
const perCall = 256

// Slurm is left in peace after so many calls in a row that failed; one that got no answer in time counts as several.
const (
	mostFailed = 64
	timedOut   = 16
)

// Look asks Slurm for nodes.
func (s *Scheduler) Look(ctx context.Context, names []string) (map[string]reconcile.State, error) {
	states := make(map[string]reconcile.State, len(names))
	return states, s.ask(ctx, names, func(name string, n node) { states[name] = n.state() })
}

// ask hands on those nodes that Slurm knows.
func (s *Scheduler) ask(ctx context.Context, names []string, each func(string, node)) error {
	var valid []string
	for _, name := range names {
		if s.ValidName(name) == nil {
			valid = append(valid, name)
		}
	}
	for some := range slices.Chunk(valid, perCall) {
		nodes, err := s.way.look(ctx, some)
		if err != nil {
			return err
		}
		for _, name := range some {
			if n, ok := nodes[name]; ok {
				each(name, n)
			}
		}
	}
	return nil
}

// Set changes nodes, those that become the same with one call. A call that fails is made again for either half of its
// nodes, after all others: one node that Slurm refuses keeps no other from being changed.
func (s *Scheduler) Set(ctx context.Context, to map[string]reconcile.State) error {
	alike := map[reconcile.State][]string{}
	for name, state := range to {
		if err := s.ValidName(name); err != nil { // the journal was edited
			return err
		}
		alike[state] = append(alike[state], name)
	}
	var calls []setCall
	var errs []error
	for _, state := range slices.Sorted(maps.Keys(alike)) {
		n, err := nodeOf(state)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for some := range slices.Chunk(slices.Sorted(slices.Values(alike[state])), s.way.perSet()) {
			calls = append(calls, setCall{some, n})
		}
	}
	return errors.Join(append(errs, s.setAll(ctx, calls))...)
}

// setCall is nodes that become alike.
type setCall struct {
	names []string
	to    node
}

// setAll makes calls until all are made or too many in a row failed; it gives the errors of single nodes, and the last.
func (s *Scheduler) setAll(ctx context.Context, calls []setCall) error {
	var errs []error
	failed := 0
	for len(calls) > 0 {
		call := calls[0]
		calls = calls[1:]
		err := s.way.set(ctx, call.names, call.to, changed{weight: s.cfg.Weight > 0, features: s.features()})
		if err == nil {
			failed = 0
			continue
		}
		if failed++; errors.Is(err, context.DeadlineExceeded) {
			failed += timedOut - 1
		}
		half := len(call.names) / 2
		if half == 0 {
			errs = append(errs, err)
		} else {
			calls = append(calls, setCall{call.names[:half], call.to}, setCall{call.names[half:], call.to})
		}
		if ctx.Err() != nil || failed >= mostFailed {
			return errors.Join(append(errs, fmt.Errorf("gave up after %d failures in a row, with %d calls left: %w", failed, len(calls), err))...)
		}
	}
	return errors.Join(errs...)
}

func (s *Scheduler) features() bool { return cmp.Or(s.cfg.Feature, s.cfg.ClearFeature) != "" }

// list is a list of features as Slurm takes it.
func list(features []string) string { return strings.Join(features, ",") }
