package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
)

// clickHouse implements Store.
type clickHouse struct {
	db    *store.DB
	model *read.Model
}

// NewStore returns a Store in a ClickHouse database.
func NewStore(db *store.DB) Store { return &clickHouse{db, read.New(db)} }

func (c *clickHouse) StoreGraph(ctx context.Context, g *topology.Graph) error {
	return c.db.StoreGraph(ctx, store.GraphOf(g, time.Now().UnixNano()))
}

// Put stores a result and then the saved state, if it has one. The database
// retries until ctx ends: an earlier error means that no table can hold the
// result.
func (c *clickHouse) Put(ctx context.Context, r *schema.IntervalResult) error {
	if err := c.db.Store(ctx, r); err != nil {
		if ctx.Err() == nil {
			err = errors.Join(ErrRefused, err)
		}
		return err
	}
	if r.Saved == nil {
		return nil
	}
	s := r.Snapshot
	return c.db.StoreStates(ctx, s.Fabric, s.GraphVersion, s.Interval, r.Revision, r.Saved)
}

// LastInterval is called by every run before it stores anything. It makes the
// database look for what runs of other processes have stored meanwhile.
func (c *clickHouse) LastInterval(ctx context.Context, fabric string, beforeNanos int64) (schema.Interval, error) {
	c.db.Forget(fabric)
	at := min(schema.Instant(beforeNanos-1), read.Newest)
	last, err := c.model.StoredAt(ctx, fabric, at)
	return last.Interval, nothingStored(err)
}

func (c *clickHouse) Revisions(ctx context.Context, fabric string, fromNanos, toNanos int64) ([]Revised, error) {
	stored, err := c.model.Intervals(ctx, fabric, span(fromNanos, toNanos))
	revised := make([]Revised, len(stored))
	for i, s := range stored {
		revised[i] = Revised{StartNanos: s.StartNanos, Revision: s.Revision}
		for _, links := range s.Measured {
			revised[i].Values += links
		}
	}
	return revised, err
}

func (c *clickHouse) SavedStates(ctx context.Context, fabric string, upToNanos int64) (schema.Interval, uint64, []schema.StageState, error) {
	saved, err := c.model.LastStates(ctx, fabric, upToNanos)
	return saved.Interval, saved.GraphVersion, saved.Stages, nothingStored(err)
}

func (c *clickHouse) ResultsBetween(ctx context.Context, fabric string, fromNanos, toNanos int64) ([]*schema.IntervalResult, error) {
	return c.model.Results(ctx, fabric, span(fromNanos, toNanos))
}

func (c *clickHouse) FoundBetween(ctx context.Context, fabric string, fromNanos, toNanos int64) ([]*schema.IntervalResult, error) {
	return c.model.Found(ctx, fabric, span(fromNanos, toNanos))
}

func (c *clickHouse) FeedsBetween(ctx context.Context, fabric string, fromNanos, toNanos int64) (analysis.Feeds, error) {
	at := span(fromNanos, toNanos)
	events, errEvents := c.model.Events(ctx, fabric, at)
	jobs, errJobs := c.model.Jobs(ctx, fabric, span(fromNanos-analysis.MaxAhead.Nanoseconds(), toNanos))
	failures, errFailures := c.model.Failures(ctx, fabric, at)
	traffic, errTraffic := c.model.JobTraffic(ctx, fabric, at)
	return analysis.Feeds{Events: events, Jobs: jobs, Failures: failures, Traffic: traffic}, errors.Join(errEvents, errJobs, errFailures, errTraffic)
}

func (c *clickHouse) Graph(ctx context.Context, fabric string, version uint64) (*topology.Graph, error) {
	return c.model.Graph(ctx, fabric, version)
}

func span(from, to int64) read.Span {
	return read.Span{From: schema.Instant(from), To: schema.Instant(to)}
}

func nothingStored(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return ErrNothingStored
	}
	return err
}
