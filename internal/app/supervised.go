package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/retry"
)

// healthyAfter is how long a stage must run so that its next failure is the first of another row.
const healthyAfter = 2 * time.Minute

// supervised begins a stage again, with back-off, when it fails, so that its
// fault ends no other.
func supervised(stage lifecycle.Stage, log *slog.Logger) lifecycle.Stage {
	return lifecycle.Stage{Name: stage.Name, Run: func(ctx context.Context) error {
		pauses, failures := retry.Backoff{Min: time.Second, Max: time.Minute}.Pauses(), 0
		for {
			began := time.Now()
			err := stage.Run(ctx)
			if err == nil || ctx.Err() != nil {
				return nil
			}
			if time.Since(began) > healthyAfter {
				pauses.Reset()
				failures = 0
			}
			failures++
			level := slog.LevelDebug
			if failures == 1 {
				level = slog.LevelError
			}
			pause := pauses.Next()
			log.Log(ctx, level, "app: part failed, retrying", "part", stage.Name, "pause", pause, "error", err)
			if !retry.Sleep(ctx, pause) {
				return nil
			}
		}
	}}
}
