package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/lifecycle"
)

func TestASupervisedStageIsBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		stage := supervised(lifecycle.Stage{Name: "flaky", Run: func(ctx context.Context) error {
			if runs++; runs < 4 {
				return errors.New("broken")
			}
			<-ctx.Done()
			return nil
		}}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := stage.Run(ctx); err != nil || runs != 4 {
			t.Errorf("%d runs, error %v", runs, err)
		}
	})
}

func TestASupervisedStageStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := supervised(lifecycle.Stage{Run: func(context.Context) error { return errors.New("broken") }}, slog.New(slog.DiscardHandler)).Run(ctx)
		if err != nil {
			t.Error(err)
		}
	})
}
