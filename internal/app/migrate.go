package app

import (
	"context"
	"errors"
	"time"

	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/store"
)

// Migrate migrates the store's tables and lists all applied migrations.
func (p *Process) Migrate(ctx context.Context) (applied []store.Migration, err error) {
	if err := p.useStore(); err != nil {
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
	if err == nil && applied == nil { // interrupted while it waited for the store
		err = ctx.Err()
	}
	return applied, err
}

// awaitStore waits for the store and migrates its tables.
func (s *services) awaitStore(ctx context.Context) error {
	if s.engine != nil {
		if err := s.engine.Ready(ctx); err != nil {
			return err
		}
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if s.engine == nil {
		return nil
	}
	err := s.db.ApplyRetention(ctx) // no other process uses it
	if errors.Is(err, store.ErrNoRoom) {
		s.log.Warn("store: retention not changed; free disk space and restart", "error", err)
		return nil
	}
	return err
}

// migrate retries while the server is unavailable or overloaded; an error in its tables is returned.
func (s *services) migrate(ctx context.Context) error {
	return retry.Backoff{Min: time.Second, Max: 15 * time.Second}.Do(ctx, func() error {
		err := s.db.Migrate(ctx)
		if err != nil && !store.MayPass(err) && s.db.Ping(ctx) == nil {
			return retry.Permanent(err)
		}
		return err
	}, func(err error, failures int, pause time.Duration) {
		if failures == 1 {
			s.log.Warn("store: unreachable, overloaded or full, retrying", "pause", pause, "error", err)
		}
	})
}
