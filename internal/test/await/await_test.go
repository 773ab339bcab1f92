package await_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/test/await"
)

// recorder is a test that records its failure.
type recorder struct{ said string }

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) { r.said = fmt.Sprintf(format, args...) }

// A condition is checked at once, then at each interval until it holds, and once more after the limit.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		after time.Duration // when the condition begins to hold
		took  time.Duration
		holds bool
	}{{0, 0, true}, {25 * time.Millisecond, 30 * time.Millisecond, true}, {time.Second, time.Second, true}, {1005 * time.Millisecond, 1010 * time.Millisecond, true}, {time.Hour, 1010 * time.Millisecond, false}} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			got := await.Holds(time.Second, 10*time.Millisecond, func() bool { return time.Since(began) >= c.after })
			if got != c.holds || time.Since(began) != c.took {
				t.Errorf("from %v on: %v after %v, want %v after %v", c.after, got, time.Since(began), c.holds, c.took)
			}
		})
	}
}

func TestUntilNamesWhatWasAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		await.Until(&r, "the store", time.Minute, time.Second, func() bool { return true })
		if r.said != "" {
			t.Errorf("said %q of a condition that holds", r.said)
		}
		await.Until(&r, "the store", time.Minute, time.Second, func() bool { return false })
		if r.said != "waited 1m0s for the store" {
			t.Errorf("said %q", r.said)
		}
	})
}
