package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/retry"
)

// supervised begins a stage again, with back-off, when it fails, so that its
// fault ends no other.
func supervised(stage lifecycle.Stage, log *slog.Logger) lifecycle.Stage {
	return lifecycle.Stage{Name: stage.Name, Run: func(ctx context.Context) error {
		err := retry.Backoff{Min: time.Second, Max: time.Minute}.Do(ctx, func() error { return stage.Run(ctx) },
			func(err error, failures int, pause time.Duration) {
				level := slog.LevelDebug
				if failures == 1 {
					level = slog.LevelError
				}
				log.Log(ctx, level, "app: part failed, retrying", "part", stage.Name, "pause", pause, "error", err)
			})
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil
		}
		return err
	}}
}
