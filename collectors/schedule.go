package collectors

import (
	"context"
	"time"

	"github.com/giverny/giverny/schema"
)

// nextBoundary is the first multiple of the interval after now, on the wall
// clock: all agents read at the same instants, and no delay adds up.
func nextBoundary(now time.Time, interval time.Duration) time.Time {
	return time.Unix(0, schema.IntervalAt(now.UnixNano(), int64(interval)).EndNanos())
}

// missedBoundaries counts the boundaries that passed while a poll ran. elapsed
// is monotonic: a step of the wall clock is no missed poll.
func missedBoundaries(started time.Time, elapsed, interval time.Duration) int {
	first := nextBoundary(started, interval).Sub(started)
	if elapsed < first {
		return 0
	}
	return 1 + int((elapsed-first)/interval)
}

// sleepUntilBoundary sleeps until the next boundary on the wall clock. The wait
// itself is monotonic, so the clock is looked at again afterwards: if it was
// slowed meanwhile there is a rest to sleep, if it was set back by more than an
// interval the boundary is another one. What comes through between is called
// meanwhile. It returns false if ctx ended first.
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
