// Package retry retries with exponential back-off and jitter until success, a permanent error, or the end
// of the context. It does not log or count: it reports every failure to the caller.
package retry

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Backoff defines the pauses between tries: Min after the first failure, doubling with each further one up to
// Max, with a jitter of a quarter either way, so that a hundred agents do not retry at the same time.
type Backoff struct {
	Min, Max time.Duration
	// HealthyAfter is for a try that is a long-running part of the process: if it failed after running at
	// least so long, it had worked, and the back-off starts again. 0: never.
	HealthyAfter time.Duration
	// Woken ends a pause early when it receives, such as when the cause of the failure may be gone. May be nil.
	Woken <-chan struct{}
}

const jitter = 0.25 // see Backoff

// Do calls try until it returns nil or a Permanent error, which is returned unwrapped. If ctx ends, it returns
// the last error of try joined with ctx's. failed, which may be nil, is called after each failure that is
// followed by a pause; failures counts the consecutive ones.
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

// Permanent marks an error as not worth a retry.
func Permanent(err error) error { return &permanent{err} }

// Pauses is a back-off for loops that Do does not fit. It is not safe for concurrent use.
type Pauses struct{ backoff backoff.ExponentialBackOff }

// Pauses starts a back-off.
func (b Backoff) Pauses() *Pauses {
	return &Pauses{backoff.ExponentialBackOff{InitialInterval: b.Min, MaxInterval: b.Max, Multiplier: 2, RandomizationFactor: jitter}}
}

// Next returns the pause after another failure.
func (p *Pauses) Next() time.Duration { return p.backoff.NextBackOff() }

// Wait waits for the next pause. It returns false if ctx ends first.
func (p *Pauses) Wait(ctx context.Context) bool { return Sleep(ctx, p.Next()) }

// Reset restarts the back-off, after a success.
func (p *Pauses) Reset() { p.backoff.Reset() }

// Sleep waits. It returns false if ctx ends first or has ended.
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
