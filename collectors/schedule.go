package collectors

import (
	"context"
	"time"

	"github.com/giverny/giverny/schema"
)

// nextBoundary is the first multiple of the interval after now, by the wall clock, so
// that all agents read at the same instants and delays do not accumulate.
func nextBoundary(now time.Time, interval time.Duration) time.Time {
	return time.Unix(0, schema.IntervalAt(now.UnixNano(), int64(interval)).EndNanos())
}

// missedBoundaries counts the boundaries that passed during a poll. elapsed is
// monotonic: a step of the wall clock is not a missed poll.
func missedBoundaries(started time.Time, elapsed, interval time.Duration) int {
	first := nextBoundary(started, interval).Sub(started)
	if elapsed < first {
		return 0
	}
	return 1 + int((elapsed-first)/interval)
}

// sleepUntilBoundary sleeps until the next boundary by the wall clock. Since the wait
// is monotonic, the clock is checked again afterwards: if it was slowed, the rest is
// slept; if it was set back by more than an interval, the boundary changes. Functions
// received from between are called while waiting. It returns false if ctx ended first.
func sleepUntilBoundary(ctx context.Context, interval time.Duration, between <-chan func()) bool {
	boundary := nextBoundary(time.Now(), interval)
	for {
		wait := time.Until(boundary) // boundary has no monotonic part: wall clock
		if wait <= 0 {
			return ctx.Err() == nil
		}
		if wait > interval {
			boundary = nextBoundary(time.Now(), interval)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case do := <-between:
			do()
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return false
		}
	}
}
