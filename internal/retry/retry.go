// Package retry says how long to wait before the next try of what failed: with
// exponential back-off and jitter, so that a thousand agents do not come back at
// once. It decides nothing about what is worth another try.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Backoff gives the pauses between tries. It is not safe for concurrent use.
type Backoff struct {
	exponential *backoff.ExponentialBackOff
	most        time.Duration
}

// NewBackoff doubles the pause from least to most, each drawn from half to all
// of it.
func NewBackoff(least, most time.Duration) *Backoff {
	e := backoff.NewExponentialBackOff()
	e.InitialInterval, e.MaxInterval, e.Multiplier, e.RandomizationFactor = least*3/4, most*3/4, 2, 1./3
	e.Reset()
	return &Backoff{exponential: e, most: most}
}

// Next is how long to wait now.
func (b *Backoff) Next() time.Duration { return min(b.exponential.NextBackOff(), b.most) }

// Reset begins with the least pause again: a try has succeeded.
func (b *Backoff) Reset() { b.exponential.Reset() }

// Sleep waits, and reports whether ctx lasted so long.
func Sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
