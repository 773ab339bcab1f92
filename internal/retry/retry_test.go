package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/retry"
)

var errBroken = errors.New("broken")

func TestDoTriesUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, heard, began := 0, 0, time.Now()
		var paused time.Duration
		err := retry.Backoff{Min: 100 * time.Millisecond, Max: time.Second}.Do(t.Context(), func() error {
			time.Sleep(time.Hour) // without HealthyAfter, a long try starts no other row
			if tries++; tries < 8 {
				return errBroken
			}
			return nil
		}, func(err error, failures int, pause time.Duration) {
			heard++
			paused += pause
			want := min(100*time.Millisecond<<(failures-1), time.Second)
			if pause < want*3/4 || pause > want*5/4 || failures != heard || !errors.Is(err, errBroken) {
				t.Errorf("failure %d: pause of %v, want about %v; %v", failures, pause, want, err)
			}
		})
		if err != nil || tries != 8 || heard != 7 || time.Since(began) != paused+8*time.Hour {
			t.Errorf("%d tries, %d failures, %v of %v waited: %v", tries, heard, time.Since(began), paused, err)
		}
	})
}

func TestDoEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := retry.Backoff{Min: time.Second, Max: time.Minute}
		tries := 0
		err := b.Do(t.Context(), func() error { tries++; return retry.Permanent(errBroken) }, nil)
		if !errors.Is(err, errBroken) || err.Error() != "broken" || tries != 1 {
			t.Errorf("a permanent error: %v after %d tries", err, tries)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		began := time.Now()
		err = b.Do(ctx, func() error { return errBroken }, nil)
		if !errors.Is(err, errBroken) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 90*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		tries = 0
		if err = b.Do(ctx, func() error { tries++; return errBroken }, nil); tries != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d tries in a context that ended: %v", tries, err)
		}
		if err = b.Do(ctx, func() error { return nil }, nil); err != nil {
			t.Errorf("what succeeds in a context that ended: %v", err)
		}
	})
}

// A failure after a long run restarts the back-off; an immediate one continues it.
func TestDoBeginsAnotherRowAfterAHealthyTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := retry.Backoff{Min: time.Second, Max: time.Minute, HealthyAfter: 2 * time.Minute}
		ctx, cancel := context.WithCancel(t.Context())
		var rows []int
		tries := 0
		err := b.Do(ctx, func() error {
			if tries++; tries == 4 {
				time.Sleep(3 * time.Minute)
			}
			return errBroken
		}, func(_ error, failures int, pause time.Duration) {
			rows = append(rows, failures)
			if failures == 1 && pause > 1250*time.Millisecond {
				t.Errorf("the first pause of a row is %v", pause)
			}
			if len(rows) == 5 {
				cancel()
			}
		})
		if want := []int{1, 2, 3, 1, 2}; !slices.Equal(rows, want) || !errors.Is(err, context.Canceled) {
			t.Errorf("failures are numbered %v, want %v: %v", rows, want, err)
		}
	})
}

func TestDoIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := make(chan struct{}, 1)
		woken <- struct{}{}
		began, tries := time.Now(), 0
		err := retry.Backoff{Min: time.Hour, Max: time.Hour, Woken: woken}.Do(t.Context(), func() error {
			if tries++; tries == 1 {
				return errBroken
			}
			return nil
		}, nil)
		if err != nil || tries != 2 || time.Since(began) != 0 {
			t.Errorf("%d tries within %v: %v", tries, time.Since(began), err)
		}
	})
}

func TestPausesBeginAgain(t *testing.T) {
	p := retry.Backoff{Min: time.Second, Max: time.Hour}.Pauses()
	for range 5 {
		p.Next()
	}
	if d := p.Next(); d < 24*time.Second {
		t.Errorf("the sixth pause is %v", d)
	}
	p.Reset()
	if d := p.Next(); d > 1250*time.Millisecond {
		t.Errorf("the first pause after a success is %v", d)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if !retry.Sleep(ctx, time.Second) {
			t.Error("a second within a minute was cut short")
		}
		began := time.Now()
		if retry.Sleep(ctx, time.Hour) || time.Since(began) != 59*time.Second {
			t.Errorf("an hour ended after %v", time.Since(began))
		}
		if retry.Sleep(ctx, 0) {
			t.Error("no time at all in a context that ended")
		}
	})
}
