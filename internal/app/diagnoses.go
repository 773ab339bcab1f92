package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/giverny/giverny/internal/dirlock"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Diagnoses reads the diagnoses stored for a fabric's intervals that start in a span: those of one region or, if
// it is 0, of all. It is an error if nothing is stored for the span, or for the region in it: that does not mean
// that there was no congestion.
func (p *Process) Diagnoses(ctx context.Context, fabric string, span read.Span, region uint64) (found []schema.Diagnosis, err error) {
	if err := p.useStoreBeside(); err != nil {
		return nil, err
	}
	err = p.withStore(ctx, func(ctx context.Context) error {
		model := read.New(p.db)
		if found, err = model.Diagnoses(ctx, fabric, span, region); err != nil || len(found) > 0 {
			return err
		}
		last, err := model.StoredAt(ctx, fabric, span.To-1)
		switch {
		case errors.Is(err, read.ErrNotFound), err == nil && schema.Instant(last.StartNanos) < span.From:
			return fmt.Errorf("nothing is stored for fabric %s in that time; check the time span (UTC) and whether the fabric had this name then", fabric)
		case err == nil && region != 0:
			return fmt.Errorf("no diagnosis of region %d of fabric %s is stored in that time", region, fabric)
		}
		return err
	})
	return found, err
}

// leaveTime is how long a process that is stopping may take to release its store to a command that reads it.
const leaveTime = 5 * time.Second

// withStore runs a task that reads the store, once the store is ready. If ctx ends first that is an error, since not
// everything was read. Call useStoreBeside first.
func (p *Process) withStore(ctx context.Context, task func(context.Context) error) error {
	if err := p.engineIsFree(leaveTime); err != nil {
		return err
	}
	err := p.RunOnce(ctx, func(ctx context.Context) error {
		ready := p.db.Ping
		if p.engine != nil { // no other process migrates its tables
			ready = p.awaitStore
		}
		if err := ready(ctx); err != nil {
			return err
		}
		return task(ctx)
	})
	return cmp.Or(err, ctx.Err())
}

// engineIsFree returns an error if another process, giverny up or analyze, holds the embedded engine's folder but could
// not be reached.
func (p *Process) engineIsFree(patience time.Duration) error {
	if p.engine == nil {
		return nil
	}
	dir, err := p.engineDir()
	if err != nil {
		return err
	}
	pid, err := dirlock.Holder(dir, patience)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if pid != "" {
		return fmt.Errorf("store: process %s has the embedded ClickHouse in %s open and could not be reached: run as the user who started it, "+
			"retry if it is still starting, use its API (/api/v1), or let both use a ClickHouse server (store.embedded: false, store.url)", pid, dir)
	}
	return nil
}
