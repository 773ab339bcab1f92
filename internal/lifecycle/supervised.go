package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/giverny/giverny/internal/retry"
)

// Supervised restarts a stage with back-off when it fails, so that its failure does not
// end others. Only the first of consecutive failures is logged as an error, and a failure to stop cleanly.
func Supervised(stage Stage, log *slog.Logger) Stage {
	pauses := retry.Backoff{Min: time.Second, Max: time.Minute, HealthyAfter: 2 * time.Minute}
	return Stage{Name: stage.Name, Run: func(ctx context.Context) error {
		run := func() error {
			err := stage.Run(ctx)
			if err != nil && ctx.Err() != nil && !errors.Is(err, context.Canceled) {
				log.Error("lifecycle: part failed while stopping", "part", stage.Name, "error", err)
			}
			return err
		}
		_ = pauses.Do(ctx, run, func(err error, failures int, pause time.Duration) {
			level := slog.LevelDebug
			if failures == 1 {
				level = slog.LevelError
			}
			log.Log(ctx, level, "lifecycle: part failed, retrying", "part", stage.Name, "pause", pause, "error", err)
		})
		return nil // it has ended or was cancelled
	}}
}
