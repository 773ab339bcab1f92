// Package retry tries again what failed, with exponential back-off and jitter, until it succeeds, fails for
// good, or the context ends. It logs and counts nothing: the caller hears of every failure.
package retry

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Backoff is how long to wait between tries: Min after the first failure, twice as long after each further one,
// up to Max, and up to a quarter less or more, so that a hundred agents do not come back at once.
type Backoff struct {
	Min, Max time.Duration
	// HealthyAfter is for a try that is a part of the process at work: one that failed only after so long had
	// worked, and its failure is the first of another row. 0: all failures are one row.
	HealthyAfter time.Duration
	// Woken ends a pause early when something comes out of it, as where the cause of the failure may be gone. May be nil.
	Woken <-chan struct{}
}

const jitter = 0.25

// Do tries until try returns nil or a Permanent error, which is returned without its mark. When ctx ends, the
// error is the last of try and that of ctx. failed, which may be nil, hears of each failure that is followed by
// a pause; failures is its number in its row.
func (b Backoff) Do(ctx context.Context, try func() error, failed func(err error, failures int, pause time.Duration)) error {
	pauses, failures := b.Pauses(), 0
	for {
		began := time.Now()
		err := try()
		if err == nil {
			return nil
		}
		if p, ok := errors.AsType[*permanent](err); ok {
			return p.error
		}
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if b.HealthyAfter > 0 && time.Since(began) > b.HealthyAfter {
			pauses.Reset()
			failures = 0
		}
		failures++
		pause := pauses.Next()
		if failed != nil {
			failed(err, failures, pause)
		}
		if !sleep(ctx, pause, b.Woken) {
			return errors.Join(err, ctx.Err())
		}
	}
}

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

// Permanent marks an error that no further try will mend.
func Permanent(err error) error { return &permanent{err} }

// Pauses are the pauses of one row of failures, for a loop that Do does not fit. They are not for concurrent use.
type Pauses struct{ backoff backoff.ExponentialBackOff }

// Pauses begins a row of failures.
func (b Backoff) Pauses() *Pauses {
	return &Pauses{backoff.ExponentialBackOff{InitialInterval: b.Min, MaxInterval: b.Max, Multiplier: 2, RandomizationFactor: jitter}}
}

// Next is the pause after one more failure.
func (p *Pauses) Next() time.Duration { return p.backoff.NextBackOff() }

// Wait waits for the next pause. It returns false when ctx ends first.
func (p *Pauses) Wait(ctx context.Context) bool { return Sleep(ctx, p.Next()) }

// Reset begins another row, after a success.
func (p *Pauses) Reset() { p.backoff.Reset() }

// Sleep waits. It returns false when ctx ends first, and at once if it has ended.
func Sleep(ctx context.Context, d time.Duration) bool { return sleep(ctx, d, nil) }

func sleep(ctx context.Context, d time.Duration, woken <-chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-woken:
		return true
	case <-ctx.Done():
		return false
	}
}
