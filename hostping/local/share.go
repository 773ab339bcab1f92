package local

import (
	"context"
	"sync"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/run"
	"github.com/giverny/giverny/internal/retry"
)

// Share bounds how much of each RNIC's time probes take: over any span, at most its
// share of that span plus burst, and one probe. It is a token bucket of time per RNIC.
type Share struct {
	share float64 // of the time, above 0, at most 1
	burst time.Duration

	mu   sync.Mutex
	left map[string]bucket // guarded by mu; by RNIC
}

type bucket struct {
	time time.Duration // available to probes; negative after a probe that took longer
	at   time.Time
}

// burst is the span whose share may be used at once: the time between two runs of an
// idle host.
const burst = 5 * time.Minute

// NewShare returns a Share with full buckets.
func NewShare(percent float64) *Share {
	return &Share{share: percent / 100, burst: burst, left: map[string]bucket{}}
}

// Wait returns how long the next probe of an RNIC must wait.
func (s *Share) Wait(rnic string, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.filled(rnic, now)
	if b.time > 0 {
		return 0
	}
	return time.Duration(float64(-b.time)/s.share) + time.Millisecond
}

// Used records a finished probe.
func (s *Share) Used(rnic string, took time.Duration, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.filled(rnic, now)
	b.time -= took
	s.left[rnic] = b
}

// filled returns an RNIC's bucket refilled up to now; s.mu is held.
func (s *Share) filled(rnic string, now time.Time) bucket {
	full := time.Duration(s.share * float64(s.burst))
	b, known := s.left[rnic]
	if !known {
		return bucket{full, now}
	}
	since := max(0, now.Sub(b.at))
	return bucket{min(full, b.time+time.Duration(s.share*float64(since))), now}
}

// metered is a prober that keeps to a share. Waiting counts towards the deadline that a
// run gives each probe.
type metered struct {
	run.Prober
	share *Share
	now   func() time.Time
}

// Probe waits until the RNIC has time left.
func (m *metered) Probe(ctx context.Context, p hostping.Probe) (hostping.ProbeResult, error) {
	if wait := m.share.Wait(p.RNIC, m.now()); wait > 0 && !retry.Sleep(ctx, wait) {
		return hostping.ProbeResult{Status: hostping.Failed, Detail: "not probed: " + p.RNIC + " has used up its share of time (hostping.host.share_percent)"}, nil
	}
	began := m.now()
	r, err := m.Prober.Probe(ctx, p)
	now := m.now()
	m.share.Used(p.RNIC, now.Sub(began), now)
	return r, err
}
