package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// History reads what earlier runs have stored of a fabric.
type History interface {
	// LastInterval returns the newest stored interval that starts before an
	// instant; ErrNothingStored if there is none.
	LastInterval(ctx context.Context, fabric string, beforeNanos int64) (schema.Interval, error)
	// Revisions returns the current revisions of the intervals that start in
	// [from, to), in order of time.
	Revisions(ctx context.Context, fabric string, fromNanos, toNanos int64) ([]Revised, error)
	// SavedStates returns the states of the last interval, up to an instant,
	// that has any, and their graph version; ErrNothingStored if there are none.
	SavedStates(ctx context.Context, fabric string, upToNanos int64) (at schema.Interval, version uint64, states []schema.StageState, err error)
	// ResultsBetween returns the intervals that start in [from, to), with their
	// regions and diagnoses; their snapshots only have the values of stalls and
	// traffic.
	ResultsBetween(ctx context.Context, fabric string, fromNanos, toNanos int64) ([]*schema.IntervalResult, error)
	// FeedsBetween returns the events, failures and traffic of [from, to), and the
	// jobs, as last stored, that ran then or up to analysis.MaxAhead before.
	FeedsBetween(ctx context.Context, fabric string, fromNanos, toNanos int64) (analysis.Feeds, error)
	// Graph returns a version of a fabric.
	Graph(ctx context.Context, fabric string, version uint64) (*topology.Graph, error)
}

// ErrNothingStored means that nothing is stored yet.
var ErrNothingStored = errors.New("nothing is stored yet")

// resumeIntervals is the maximum number of stored intervals from which a new
// run takes the identities of regions and, for deduplication, the events. There
// are fewer since the last saved state.
const resumeIntervals = 3 * analysis.SaveIntervals

// resumed is the state that a run continues from.
type resumed struct {
	fabric *Fabric
	core   *analysis.Core
	back   *rewind // start of the rewind; nil if there is none
	// last is the interval after which it continues; without duration if there is none.
	last        schema.Interval
	storedNanos int64  // start of the newest stored interval
	givenUp     bool   // intervals up to that one lack readings that the sources have no longer
	revision    uint32 // of the intervals to store
}

// clockSlack is how far off the clocks of senders may be when the log is searched
// by time.
const clockSlack = 30 * time.Second

// beginAt returns the instant from which a run that goes back needs its sources.
func (r *resumed) beginAt() time.Time {
	return time.Unix(0, r.back.fromNanos-r.core.Reach()).Add(-clockSlack)
}

// attainable returns the part of a rewind for which the sources still have all input; nil
// if there is none. Without all of it, intervals would be replaced by poorer ones.
func (f *Fabric) attainable(ctx context.Context, back *rewind, newest schema.Interval, sources []Source) (*rewind, error) {
	from := back.fromNanos
	for _, s := range sources {
		k, ok := s.(Keeper)
		if !ok {
			continue
		}
		since, err := k.HeldSince(ctx)
		if err != nil {
			return nil, fmt.Errorf("look up since when source %s has its input: %w", s.Name(), err)
		}
		if !since.IsZero() {
			whole := since.Add(clockSlack).UnixNano() + f.reachNanos
			from = max(from, schema.IntervalAt(whole-1, int64(f.cfg.Window.Interval)).EndNanos())
		}
	}
	if from == back.fromNanos {
		return back, nil
	}
	f.log.Warn("analysis: stored intervals stay incomplete, Kafka has deleted their readings; raise kafka.retention and kafka.retention_bytes, or lower complete_within",
		"from", time.Unix(0, back.fromNanos).UTC(), "to", time.Unix(0, min(from, newest.EndNanos())).UTC())
	if from > newest.StartNanos {
		return nil, nil
	}
	return &rewind{from, back.slackNanos, back.endNanos}, nil
}

func (r *resumed) lateness() lateness {
	cfg := &r.fabric.cfg
	interval := int64(cfg.Window.Interval)
	l := lateness{log: r.fabric.log, completion: r.fabric.completion, ignoreNanos: math.MinInt64, staleNanos: math.MinInt64,
		hold: hold{limitNanos: int64(cfg.Hold), intervalNanos: interval}, buffer: reorder{intervalNanos: interval}}
	if held := r.fabric.held; r.back == nil && held.holding { // the previous run ended in an outage, or soon after
		l.hold.agents, l.hold.holding, l.hold.awaySince = held.agents, true, held.awaySince
		l.buffer.slackNanos = holdAll
	}
	switch {
	case r.givenUp:
		l.ignoreNanos = r.storedNanos + interval
	case r.back != nil:
		l.rewound, l.ignoreNanos = true, r.back.fromNanos
		l.buffer.slackNanos = max(r.back.slackNanos, 0) + 2*interval
	case r.last.DurationNanos > 0:
		l.staleNanos = r.last.StartNanos - 2*r.core.Reach()
	}
	return l
}

// resume makes the core that continues after the stored intervals or, with back,
// before the interval to go back to. It continues a completion that a crash has
// interrupted.
func (f *Fabric) resume(ctx context.Context, back *rewind, sources []Source) (*resumed, error) {
	r := &resumed{fabric: f, back: back, storedNanos: math.MinInt64}
	newest, err := f.lastInterval(ctx, back)
	if err != nil && !errors.Is(err, ErrNothingStored) {
		return nil, fmt.Errorf("look up the last stored interval: %w", err)
	}
	if err != nil {
		r.back = nil
		r.core, err = analysis.New(f.Graph(), f.cfg)
		return r, err
	}
	stored, err := f.deps.Store.Revisions(ctx, f.name, newest.StartNanos-int64(f.cfg.CompleteWithin), newest.EndNanos())
	if err != nil {
		return nil, fmt.Errorf("look up the revisions of stored intervals: %w", err)
	}
	if r.back == nil && f.cfg.CompleteWithin > 0 {
		if r.back = cutOff(stored); r.back != nil {
			r.back.endNanos = newest.EndNanos()
		}
	}
	if r.back != nil {
		if r.back, err = f.attainable(ctx, r.back, newest, sources); err != nil {
			return nil, err
		}
		r.givenUp, f.completion.going = r.back == nil, r.back
	}
	r.storedNanos, r.revision, r.last = newest.StartNanos, highest(stored), newest
	if r.back != nil {
		r.revision++
		r.last, err = f.deps.Store.LastInterval(ctx, f.name, r.back.fromNanos)
	}
	if errors.Is(err, ErrNothingStored) {
		r.core, err = analysis.New(f.Graph(), f.cfg)
		return r, err
	}
	if err == nil {
		r.core, err = f.resumeAfter(ctx, r.last)
	}
	if err == nil {
		r.core.Stored(valuesOf(stored))
	}
	return r, err
}

func valuesOf(stored []Revised) map[int64]int {
	values := make(map[int64]int, len(stored))
	for _, s := range stored {
		values[s.StartNanos] = s.Values
	}
	return values
}

// resumeAfter makes the core that continues after an interval: with the saved
// states and the intervals that were stored since.
func (f *Fabric) resumeAfter(ctx context.Context, last schema.Interval) (*analysis.Core, error) {
	from := last.StartNanos - resumeIntervals*int64(f.cfg.Window.Interval)
	// The running jobs, so that those which began long ago are known, and what will be read again from the sources.
	feeds, err := f.deps.Store.FeedsBetween(ctx, f.name, from, last.EndNanos())
	if err != nil {
		return nil, fmt.Errorf("look up the stored events, jobs and failures: %w", err)
	}
	core, learned, err := f.load(ctx, last)
	if err != nil {
		return nil, err
	}
	from = max(from, learned.StartNanos)
	stored, err := f.storedSince(ctx, from, last.EndNanos(), &core)
	if err != nil {
		return nil, err
	}
	core.Recall(feeds)
	if err := core.Resume(stored); err != nil {
		f.log.Warn("analysis: some stored regions cannot pass on their identity", "error", err)
	}
	level := slog.LevelInfo
	if f.completion.saidRecurring {
		level = slog.LevelDebug
	}
	f.log.Log(ctx, level, "analysis: resuming after the last stored interval", "interval", last.String(), "learned", learned.DurationNanos > 0)
	return core, nil
}

// lastInterval returns the newest stored interval to use; back is the rewind, if
// there is one. Intervals in the future stay stored; when time gets there, the
// store already has them.
func (f *Fabric) lastInterval(ctx context.Context, back *rewind) (schema.Interval, error) {
	before := int64(math.MaxInt64)
	if back != nil {
		before = back.endNanos
	}
	if f.futureNanos != 0 {
		before, f.futureNanos = f.futureNanos, 0
	}
	return f.deps.Store.LastInterval(ctx, f.name, before)
}

// load makes a core with the states saved up to an interval. If none are usable
// the core is nil: the caller then makes it with the graph of the first interval.
func (f *Fabric) load(ctx context.Context, last schema.Interval) (*analysis.Core, schema.Interval, error) {
	none := schema.Interval{}
	at, version, states, err := f.deps.Store.SavedStates(ctx, f.name, last.StartNanos)
	if errors.Is(err, ErrNothingStored) {
		return nil, none, nil
	}
	if err != nil {
		return nil, none, fmt.Errorf("look up the saved state: %w", err)
	}
	g, err := f.version(ctx, version)
	if err != nil {
		return nil, none, err
	}
	core, err := analysis.New(g, f.cfg)
	if err != nil {
		return nil, none, err
	}
	if err := core.Load(at, states); err != nil {
		f.deps.Metrics.stateRefused.WithLabelValues(f.name).Inc()
		f.log.Warn("analysis: saved state rejected, rebuilding it from the stored intervals: region ids are kept, forecasts start over", "error", err)
		return nil, none, nil
	}
	return core, at, nil
}

// version returns a version of the fabric: the one in force, or one from the store.
func (f *Fabric) version(ctx context.Context, version uint64) (*topology.Graph, error) {
	if g := f.Graph(); g.Version() == version {
		return g, nil
	}
	g, err := f.deps.Store.Graph(ctx, f.name, version)
	if err != nil {
		return nil, fmt.Errorf("read topology version %016x from the store: %w", version, err)
	}
	return g, nil
}

// storedSince reads stored intervals, including stall values, which show how
// long links have been hot. It makes the core if there is none yet.
func (f *Fabric) storedSince(ctx context.Context, fromNanos, toNanos int64, core **analysis.Core) ([]analysis.Interval, error) {
	results, err := f.deps.Store.ResultsBetween(ctx, f.name, fromNanos, toNanos)
	if err != nil {
		return nil, fmt.Errorf("read the last stored intervals: %w", err)
	}
	stored := make([]analysis.Interval, len(results))
	for i, r := range results {
		g, err := f.version(ctx, r.Snapshot.GraphVersion)
		if err != nil {
			return nil, err
		}
		stored[i] = analysis.Interval{Interval: r.Snapshot.Interval, Graph: g, Regions: r.Regions, Snapshot: r.Snapshot}
		if *core == nil {
			if *core, err = analysis.New(g, f.cfg); err != nil {
				return nil, err
			}
		}
	}
	if *core == nil {
		*core, err = analysis.New(f.Graph(), f.cfg)
	}
	return stored, err
}

// WithoutHistory returns a store to which every run is the first: replayed data
// does not continue from what is stored.
func WithoutHistory(s Store) Store { return fresh{s} }

// Replacing returns a store in which results replace those that are already
// stored, as newer revisions.
func Replacing(s Store) Store { return replacing{s} }

type replacing struct{ Store }

func (s replacing) Put(ctx context.Context, r *schema.IntervalResult) error {
	at := r.Snapshot.Interval
	stored, err := s.Revisions(ctx, r.Snapshot.Fabric, at.StartNanos, at.EndNanos())
	if err != nil {
		return err
	}
	if len(stored) > 0 {
		r.Revision = highest(stored) + 1
	}
	return s.Store.Put(ctx, r)
}

type fresh struct{ Store }

func (fresh) LastInterval(context.Context, string, int64) (schema.Interval, error) {
	return schema.Interval{}, ErrNothingStored
}
