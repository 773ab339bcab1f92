package slurm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/giverny/giverny/feedback/reconcile"
)

// Scheduler controls Slurm; it implements reconcile.Scheduler.
type Scheduler struct {
	cfg Config
	way way
}

// way is the protocol for talking to Slurm. Unknown nodes are omitted from results.
type way interface {
	look(ctx context.Context, names []string) (map[string]node, error)
	// set gives nodes the same state. If it fails, some of them may have been changed.
	set(ctx context.Context, names []string, to node, c changed) error
	// perSet bounds the nodes per call of set.
	perSet() int
}

// changed says which fields of a node are to be set.
type changed struct{ weight, features bool }

// New returns a scheduler for a valid configuration.
func New(cfg Config, log *slog.Logger) (*Scheduler, error) {
	s := &Scheduler{cfg: cfg}
	if cfg.REST.URL.IsEmpty() {
		s.way = &scontrol{cfg}
		return s, nil
	}
	way, err := newREST(cfg, log)
	if err != nil {
		return nil, fmt.Errorf("feedback.slurm.rest: %w", err)
	}
	s.way = way
	return s, nil
}

// ValidName checks that Slurm can have a node of this name.
func (s *Scheduler) ValidName(name string) error {
	if !nodeName.MatchString(name) {
		return fmt.Errorf("%q is not a node name: want letters, digits, . _ and -, starting with a letter or digit", name)
	}
	return nil
}

// perCall bounds the nodes named in one call.
const perCall = 256

// Set gives up after mostFailed failed calls in a row, to spare Slurm; a timeout counts as timedOut failures.
const (
	mostFailed = 64
	timedOut   = 16
)

// Look asks Slurm for the states of nodes.
func (s *Scheduler) Look(ctx context.Context, names []string) (map[string]reconcile.State, error) {
	states := make(map[string]reconcile.State, len(names))
	return states, s.ask(ctx, names, func(name string, n node) { states[name] = n.state() })
}

// ask calls each for the nodes that Slurm knows.
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

// Set changes nodes, with one call for those that get the same state. Only what differs is sent: the process that marked the
// nodes may have had another configuration. A call that fails is split in two and retried after all others, so that one
// refused node does not keep the others from being changed.
func (s *Scheduler) Set(ctx context.Context, to map[string]reconcile.State) error {
	type kind struct {
		state reconcile.State
		changed
	}
	for name := range to {
		if err := s.ValidName(name); err != nil { // possible if the journal was edited
			return err
		}
	}
	alike, now := map[kind][]string{}, map[string]node{}
	if err := s.ask(ctx, slices.Sorted(maps.Keys(to)), func(name string, n node) { now[name] = n }); err != nil {
		return err
	}
	var calls []setCall
	var errs []error
	for name, state := range to {
		n, err := nodeOf(state)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		is := now[name]
		k := kind{state, changed{weight: is.Weight != n.Weight, features: !slices.Equal(is.Available, n.Available) || !slices.Equal(is.Active, n.Active)}}
		alike[k] = append(alike[k], name)
	}
	for k, names := range alike {
		n, _ := nodeOf(k.state)
		for some := range slices.Chunk(slices.Sorted(slices.Values(names)), s.way.perSet()) {
			calls = append(calls, setCall{some, n, k.changed})
		}
	}
	slices.SortFunc(calls, func(a, b setCall) int { return strings.Compare(a.names[0], b.names[0]) })
	return errors.Join(append(errs, s.setAll(ctx, calls))...)
}

// setCall is a call of set: nodes that get the same state.
type setCall struct {
	names   []string
	to      node
	changed changed
}

// setAll makes calls until all are done or too many in a row have failed; it returns the errors of single nodes, and the last.
func (s *Scheduler) setAll(ctx context.Context, calls []setCall) error {
	var errs []error
	failed := 0
	for len(calls) > 0 {
		call := calls[0]
		calls = calls[1:]
		err := s.way.set(ctx, call.names, call.to, call.changed)
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
			calls = append(calls, setCall{call.names[:half], call.to, call.changed}, setCall{call.names[half:], call.to, call.changed})
		}
		if ctx.Err() != nil || failed >= mostFailed {
			return errors.Join(append(errs, fmt.Errorf("gave up after %d failures in a row, with %d calls left: %w", failed, len(calls), err))...)
		}
	}
	return errors.Join(errs...)
}

// list formats features as Slurm expects them.
func list(features []string) string { return strings.Join(features, ",") }
