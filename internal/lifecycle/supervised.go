package lifecycle

import (
	"context"
	"log/slog"
	"time"

	"github.com/giverny/giverny/internal/retry"
)

// Supervised restarts a stage with back-off when it fails, so that its failure does not
// end others. Only the first of consecutive failures is logged as an error.
func Supervised(stage Stage, log *slog.Logger) Stage {
	pauses := retry.Backoff{Min: time.Second, Max: time.Minute, HealthyAfter: 2 * time.Minute}
	return Stage{Name: stage.Name, Run: func(ctx context.Context) error {
		_ = pauses.Do(ctx, func() error { return stage.Run(ctx) }, func(err error, failures int, pause time.Duration) {
			level := slog.LevelDebug
			if failures == 1 {
				level = slog.LevelError
			}
			log.Log(ctx, level, "lifecycle: part failed, retrying", "part", stage.Name, "pause", pause, "error", err)
		})
		return nil // it has ended or was cancelled
	}}
}
