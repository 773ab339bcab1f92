package main

import (
	"context"
	"errors"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/read"
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
	stored := read.New(a.db)
	last, err := stored.LastStored(ctx, a.fabric.Name)
	if errors.Is(err, read.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	span := read.SpanOf(last.Interval)
	span.From -= schema.Instant(resumeIntervals * a.fabric.Interval())
	events, err := stored.Events(ctx, a.fabric.Name, span)
	if err != nil {
		return err
	}
	learned, err := a.loadState(ctx, stored, last)
	if err != nil {
		return err
	}
	span.From = max(span.From, schema.Instant(learned))
	recent, err := a.storedSince(ctx, stored, span)
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
func (a *analyser) loadState(ctx context.Context, stored *read.Model, last read.Stored) (int64, error) {
	saved, err := stored.LastStates(ctx, a.fabric.Name, last.StartNanos)
	if errors.Is(err, read.ErrNotFound) || err == nil && saved.GraphVersion != a.fabric.graph.Version() {
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
func (a *analyser) storedSince(ctx context.Context, stored *read.Model, span read.Span) ([]analysis.Interval, error) {
	intervals, err := stored.Intervals(ctx, a.fabric.Name, span)
	if err != nil {
		return nil, err
	}
	regions, err := stored.Regions(ctx, a.fabric.Name, span)
	if err != nil {
		return nil, err
	}
	byStart := map[int64][]schema.Region{}
	for _, r := range regions {
		byStart[int64(r.Time)] = append(byStart[int64(r.Time)], r.Region)
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
		if recent[i].Snapshot, err = stored.Snapshot(ctx, a.fabric.Name, in, stalls...); err != nil {
			return nil, err
		}
	}
	return recent, nil
}
