package lifecycle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/lifecycle"
)

func TestASupervisedStageIsBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		stage := lifecycle.Supervised(lifecycle.Stage{Name: "flaky", Run: func(ctx context.Context) error {
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
		err := lifecycle.Supervised(lifecycle.Stage{Run: func(context.Context) error { return errors.New("broken") }}, slog.New(slog.DiscardHandler)).Run(ctx)
		if err != nil {
			t.Error(err)
		}
	})
}

// A failure after a long run restarts the back-off: it is logged as an error and retried soon.
func TestASupervisedStageFailsAfresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written bytes.Buffer
		runs := 0
		stage := lifecycle.Supervised(lifecycle.Stage{Name: "flaky", Run: func(ctx context.Context) error {
			if runs++; runs == 9 || runs == 10 { // the first eight are consecutive
				time.Sleep(time.Hour)
			}
			return errors.New("broken")
		}}, slog.New(slog.NewTextHandler(&written, nil)))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour+10*time.Minute)
		defer cancel()
		if err := stage.Run(ctx); err != nil {
			t.Error(err)
		}
		if n := strings.Count(written.String(), "level=ERROR"); n != 3 {
			t.Errorf("%d errors, want one for each row:\n%s", n, &written)
		}
	})
}

// A part that cannot finish its work when it is stopped, such as restoring the nodes of a scheduler, says so in the log; the end of
// its context alone is no failure.
func TestASupervisedStageThatFailsToStop(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"failure": {errors.New("10 nodes stay marked"), `level=ERROR msg="lifecycle: part failed while stopping" part=slurm error="10 nodes stay marked"`},
		"stopped": {fmt.Errorf("read: %w", context.Canceled), ""},
		"clean":   {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var written bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			stage := lifecycle.Supervised(lifecycle.Stage{Name: "slurm", Run: func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return test.err
			}}, slog.New(slog.NewTextHandler(&written, nil)))
			if err := stage.Run(ctx); err != nil {
				t.Error(err)
			}
			if log := written.String(); !strings.Contains(log, test.want) || test.want == "" && log != "" {
				t.Errorf("log %q, want %q", log, test.want)
			}
		})
	}
}
