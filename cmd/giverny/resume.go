package main

import (
	"context"
	"errors"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

// storeResult stores an interval and then, now and then, what the analysis has
// learned by it.
func storeResult(ctx context.Context, db *store.DB, r *schema.IntervalResult) error {
	s := r.Snapshot
	if err := db.Store(ctx, r); err != nil || r.Saved == nil {
		return err
	}
	return db.StoreStates(ctx, s.Fabric, s.GraphVersion, s.Interval, r.Saved)
}

// resumeIntervals is how many stored intervals at most hand their regions'
// identities and their events, so that none comes twice, on to a new process.
// Since the last saved state there are fewer.
const resumeIntervals = 3 * analysis.SaveIntervals

// resume finds out what is stored and lets the core go on behind it: with what
// was learned, and the intervals that were stored since.
func (a *analyser) resume(ctx context.Context) error {
	last, err := a.db.LastStored(ctx, a.fabric.Name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	span := store.SpanOf(last.Interval)
	span.FromNanos -= resumeIntervals * a.fabric.Interval().Nanoseconds()
	events, err := a.db.Events(ctx, a.fabric.Name, span)
	if err != nil {
		return err
	}
	learned, err := a.loadState(ctx, last)
	if err != nil {
		return err
	}
	span.FromNanos = max(span.FromNanos, learned)
	recent, err := a.storedSince(ctx, span)
	if err != nil {
		return err
	}
	if err := a.core.Resume(recent, events); err != nil {
		a.log.Warn("some stored regions do not hand their identity on", "error", err)
	}
	a.log.Info("resuming behind the last stored interval", "interval", last.Interval.String(), "learned", learned > 0)
	return nil
}

// loadState loads what was learned up to an interval and returns the start of
// that interval, or 0 if there is nothing that can be used: then the core knows
// what the stored intervals tell.
func (a *analyser) loadState(ctx context.Context, last store.Stored) (int64, error) {
	saved, err := a.db.LastStates(ctx, a.fabric.Name, last.StartNanos)
	if errors.Is(err, store.ErrNotFound) || err == nil && saved.GraphVersion != a.fabric.graph.Version() {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := a.core.Load(saved.Interval, saved.Stages); err != nil {
		a.metrics.stateRefused.WithLabelValues(a.fabric.Name).Inc()
		a.log.Warn("what the last process had learned cannot be used and is rebuilt from the stored intervals: identities are kept, forecasts begin anew", "error", err)
		return 0, nil
	}
	return saved.Interval.StartNanos, nil
}

// storedSince reads the intervals of a span back, values of stall included: from
// them it is seen for how long links have been hot.
func (a *analyser) storedSince(ctx context.Context, span store.Span) ([]analysis.Interval, error) {
	intervals, err := a.db.Intervals(ctx, a.fabric.Name, span)
	if err != nil {
		return nil, err
	}
	regions, err := a.db.Regions(ctx, a.fabric.Name, span)
	if err != nil {
		return nil, err
	}
	byStart := map[int64][]schema.Region{}
	for _, r := range regions {
		byStart[r.StartNanos] = append(byStart[r.StartNanos], r.Region)
	}
	recent := make([]analysis.Interval, len(intervals))
	for i, in := range intervals {
		recent[i] = analysis.Interval{Interval: in.Interval, Regions: byStart[in.StartNanos]}
		var stalls []schema.Metric
		for m := range in.Measured {
			if m.IsStall() {
				stalls = append(stalls, m)
			}
		}
		if len(stalls) == 0 {
			continue
		}
		if recent[i].Snapshot, err = a.db.Snapshot(ctx, a.fabric.Name, in.StartNanos, stalls...); err != nil {
			return nil, err
		}
	}
	return recent, nil
}
