package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// feedSet is the feeds of an agent.
type feedSet struct {
	feeds  []*feed
	graphs map[string]*topology.Graph // by fabric; changed only by setGraph
	out    *feedEmitter
}

// feed is a feed and the fabrics it resolves nodes in.
type feed struct {
	runner  *feeds.Runner
	fabrics []string
	nodes   nodes.Map
}

// newFeedSet creates the enabled feeds. It reads only node maps.
func newFeedSet(cfg *config.Config, host string, deps Deps) (*feedSet, error) {
	set := &feedSet{graphs: map[string]*topology.Graph{}, out: &feedEmitter{}}
	if !cfg.Collect.FeedsEnabled() {
		return set, nil
	}
	for _, g := range deps.Graphs {
		set.graphs[g.Fabric()] = g
	}
	metrics, err := feeds.NewMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	var all faults.List
	for _, group := range cfg.Collect.FeedGroups() {
		for _, name := range group.Feeds.Enabled() {
			section := group.Feeds.Sections[name]
			full := group.Name + "." + name
			running := section.Running
			if len(running.Fabrics) == 0 {
				running.Fabrics = []string{cfg.Collect.Polling.Fabric}
			}
			env := feeds.Env{Host: host, Interval: cfg.Collect.Polling.Interval, Store: feeds.NewStore(cfg.FeedDir(), full), Log: deps.Log, ClockTolerance: running.ClockTolerance}
			source, err := group.Feeds.Open(name, env)
			if err != nil {
				all.Under("collect."+group.Name, err)
				continue
			}
			if err := set.add(full, running, feeds.Deps{Source: source, Emitter: set.out, Metrics: metrics, Log: deps.Log}); err != nil {
				all.Under("collect."+full, err)
			}
		}
	}
	return set, all.Err()
}

func (s *feedSet) add(name string, running feeds.Config, deps feeds.Deps) (err error) {
	f := &feed{fabrics: running.Fabrics}
	if f.nodes, err = nodes.OpenMap(os.Open, running.NodeMap); err != nil {
		return fmt.Errorf("node_map: %w", err)
	}
	if deps.Resolver, err = s.resolver(f); err != nil {
		return err
	}
	if f.runner, err = feeds.New(name, running, deps); err != nil {
		return err
	}
	s.feeds = append(s.feeds, f)
	return nil
}

func (s *feedSet) resolver(f *feed) (*nodes.Resolver, error) {
	var graphs []*topology.Graph
	for _, name := range f.fabrics {
		g := s.graphs[name]
		if g == nil {
			return nil, fmt.Errorf("fabrics: %q is not under fabrics", name)
		}
		graphs = append(graphs, g)
	}
	return nodes.New(graphs, f.nodes), nil
}

// runners returns the runners of the feeds.
func (s *feedSet) runners() (list []*feeds.Runner) {
	for _, f := range s.feeds {
		list = append(list, f.runner)
	}
	return list
}

// uses reports whether any feed resolves nodes in a fabric.
func (s *feedSet) uses(fabric string) bool {
	return slices.ContainsFunc(s.feeds, func(f *feed) bool { return slices.Contains(f.fabrics, fabric) })
}

// setGraph sets a new topology version of a fabric for resolving nodes.
func (s *feedSet) setGraph(g *topology.Graph) error {
	s.graphs[g.Fabric()] = g
	for _, f := range s.feeds {
		if !slices.Contains(f.fabrics, g.Fabric()) {
			continue
		}
		r, err := s.resolver(f)
		if err != nil {
			return err
		}
		f.runner.SetResolver(r)
	}
	return nil
}

// feedEmitter marks permanent errors. Its emitter is set before the feeds run.
type feedEmitter struct{ emitter *emitter.Emitter }

// EmitJobs sends jobs.
func (e *feedEmitter) EmitJobs(ctx context.Context, fabric string, rows []schema.Job) error {
	return marked(e.emitter.EmitJobs(ctx, fabric, rows))
}

// EmitFailures sends failures.
func (e *feedEmitter) EmitFailures(ctx context.Context, fabric string, rows []schema.Failure) error {
	return marked(e.emitter.EmitFailures(ctx, fabric, rows))
}

// EmitTraffic sends the traffic of jobs.
func (e *feedEmitter) EmitTraffic(ctx context.Context, fabric string, rows []schema.JobTraffic) error {
	return marked(e.emitter.EmitTraffic(ctx, fabric, rows))
}

// marked marks errors that are permanent: rejected by the broker or the encoder.
func marked(err error) error {
	_, refused := errors.AsType[*kafka.RefusedError](err)
	if _, unfit := envelope.ReasonOf(err); refused || unfit {
		return &feeds.FinalError{Err: err}
	}
	return err
}
