package pipeline

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Owner decides which of several processes analyses a fabric.
type Owner interface {
	// Acquire waits until this process owns the fabric. owned ends when it has
	// to stop; finished results may then still be written if Guard allows it.
	// Call release after the last write.
	Acquire(ctx context.Context) (owned context.Context, release func(), err error)
	// Guard is called right before each write, with whose context the write
	// must run: it ends with the ownership. It returns an error if another
	// process may be the owner.
	Guard(ctx context.Context) (context.Context, context.CancelFunc, error)
	// Ready returns nil while the fabric has an owner as far as this process can know, which may be another one.
	Ready(ctx context.Context) error
}

// WhileOwner calls run whenever this process is the owner, until ctx ends or run
// returns by itself. A run that fails because the ownership has ended is repeated
// with the next ownership.
func WhileOwner(ctx context.Context, owner Owner, run func(context.Context) error) error {
	for {
		owned, release, err := owner.Acquire(ctx)
		if err != nil { // ctx has ended
			return nil
		}
		err = run(owned)
		byItself := owned.Err() == nil
		release()
		if errors.Is(err, kafka.ErrFenced) {
			if !retry.Sleep(ctx, minPause) {
				return nil
			}
			continue
		}
		if byItself || ctx.Err() != nil {
			return err
		}
	}
}

// Run analyses while this process owns the fabric, until ctx is cancelled or the
// sources end; results that are finished by then are still stored. A run that
// fails is restarted with back-off, from what is stored.
func (f *Fabric) Run(ctx context.Context) error {
	if f.deps.Owner == nil {
		f.owns(true)
		return f.analyse(ctx)
	}
	f.owns(false)
	watching, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { f.watchOwner(watching); return nil })
	err := WhileOwner(ctx, f.deps.Owner, func(owned context.Context) error {
		f.completion.restart()
		f.owns(true)
		defer f.owns(false)
		return f.analyse(owned)
	})
	stop()
	return errors.Join(err, group.Wait())
}

// noOwner is the reason why the state of the network is unknown that only a process on standby reports.
const noOwner = "no_owner"

// watchOwner sets the metric of a fabric that no process owns, until ctx ends.
func (f *Fabric) watchOwner(ctx context.Context) {
	for {
		unowned := 0.
		if f.standby.Load() && f.deps.Owner.Ready(ctx) != nil {
			unowned = 1
		}
		f.deps.Metrics.unknown.WithLabelValues(f.name, noOwner).Set(unowned)
		if !retry.Sleep(ctx, f.watch.every) {
			return
		}
	}
}

// owns records whether this process owns the fabric. If it does not, the fabric
// has no faults and no state here.
func (f *Fabric) owns(owner bool) {
	f.standby.Store(!owner)
	value := 1.
	f.deps.Metrics.unknown.WithLabelValues(f.name, noOwner).Set(0)
	if !owner {
		value = 0
		f.health.rest()
		f.watch.rest()
		for _, s := range f.deps.Sinks {
			if s, ok := s.(Rester); ok {
				s.Rest()
			}
		}
	}
	f.deps.Metrics.owner.WithLabelValues(f.name).Set(value)
}

// guarded adds the owner's guard to every write of a fabric's pipeline.
func guarded(deps Deps) Deps {
	deps.Store = &guardedStore{deps.Store, deps.Owner}
	sinks := make([]Sink, len(deps.Sinks))
	for i, s := range deps.Sinks {
		sinks[i] = s
		if f, follows := s.(Follower); follows {
			sinks[i] = &guardedFollower{f, deps.Owner}
		}
	}
	deps.Sinks = sinks
	return deps
}

// guardedStore lets only the owner write.
type guardedStore struct {
	Store
	owner Owner
}

func (g *guardedStore) StoreGraph(ctx context.Context, graph *topology.Graph) error {
	ctx, done, err := g.owner.Guard(ctx)
	if err != nil {
		return err
	}
	defer done()
	return g.Store.StoreGraph(ctx, graph)
}

func (g *guardedStore) Put(ctx context.Context, r *schema.IntervalResult) error {
	ctx, done, err := g.owner.Guard(ctx)
	if err != nil {
		return err
	}
	defer done()
	return g.Store.Put(ctx, r)
}

// guardedFollower passes on results only while this process is the owner. The
// next owner sends results that are missing then, because it calls Last.
type guardedFollower struct {
	Follower
	owner Owner
}

func (g *guardedFollower) Put(ctx context.Context, r *schema.IntervalResult) error {
	guard, done, err := g.owner.Guard(ctx)
	if err != nil {
		return nil
	}
	defer done()
	err = g.Follower.Put(guard, r)
	if guard.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}
