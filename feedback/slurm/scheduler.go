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
	set(ctx context.Context, names []string, to node, c changed) error
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

// Set changes nodes, those that become the same with one call. It goes on after a
// call that fails.
func (s *Scheduler) Set(ctx context.Context, to map[string]reconcile.State) error {
	alike := map[reconcile.State][]string{}
	for name, state := range to {
		if err := s.ValidName(name); err != nil { // the journal was edited
			return err
		}
		alike[state] = append(alike[state], name)
	}
	var errs []error
	for _, state := range slices.Sorted(maps.Keys(alike)) {
		n, err := nodeOf(state)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		names := slices.Sorted(slices.Values(alike[state]))
		for some := range slices.Chunk(names, perCall) {
			errs = append(errs, s.way.set(ctx, some, n, changed{weight: s.cfg.Weight > 0, features: s.features()}))
		}
	}
	return errors.Join(errs...)
}

func (s *Scheduler) features() bool { return cmp.Or(s.cfg.Feature, s.cfg.ClearFeature) != "" }

// list is a list of features as Slurm takes it.
func list(features []string) string { return strings.Join(features, ",") }
