package app

import (
	"context"
	"time"

	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/store"
)

// Migrate brings the store's tables up to date, and lists the steps that they have
// had.
func (p *Process) Migrate(ctx context.Context) (applied []store.Migration, err error) {
	if err := p.UseStore(); err != nil {
		return nil, err
	}
	err = p.RunOnce(ctx, func(ctx context.Context) error {
		if err := p.awaitStore(ctx); err != nil {
			return err
		}
		if err := p.db.ApplyRetention(ctx); err != nil {
			return err
		}
		applied, err = p.db.MigrationStatus(ctx)
		return err
	})
	return applied, err
}

// awaitStore waits for the store and brings its tables up to date.
func (p *Process) awaitStore(ctx context.Context) error {
	if p.engine != nil {
		if err := p.engine.Ready(ctx); err != nil {
			return err
		}
	}
	if err := p.migrate(ctx); err != nil {
		return err
	}
	if p.engine != nil { // no other process has it
		return p.db.ApplyRetention(ctx)
	}
	return nil
}

// migrate waits for a server that is away, or has too much to do; what is wrong with its tables is an error.
func (p *Process) migrate(ctx context.Context) error {
	return retry.Backoff{Min: time.Second, Max: 15 * time.Second}.Do(ctx, func() error {
		err := p.db.Migrate(ctx)
		if err != nil && !store.MayPass(err) && p.db.Ping(ctx) == nil {
			return retry.Permanent(err)
		}
		return err
	}, func(err error, failures int, pause time.Duration) {
		if failures == 1 {
			p.log.Warn("store: not reachable or overloaded, retrying", "pause", pause, "error", err)
		}
	})
}
