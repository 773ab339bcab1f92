package bluewaters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/internal/retry"
)

// Replay emits the batches of a Reader at the recorded pace or any other.
type Replay struct {
	reader  *Reader
	speed   float64
	emitter collectors.Emitter
	log     *slog.Logger
	metrics *metrics
}

// NewReplay returns a replay. speed is how many recorded seconds pass per second: 1 is
// real time, 0 as fast as the emitter accepts them.
func NewReplay(r *Reader, speed float64, e collectors.Emitter, log *slog.Logger, reg prometheus.Registerer) (*Replay, error) {
	if speed < 0 || math.IsNaN(speed) || math.IsInf(speed, 0) {
		return nil, fmt.Errorf("bluewaters: replay at speed %v: want 0 (as fast as possible) or more", speed)
	}
	m, err := newMetrics(r.cfg.Fabric, reg)
	if err != nil {
		return nil, fmt.Errorf("bluewaters: %w", err)
	}
	return &Replay{reader: r, speed: speed, emitter: e, log: log.With("fabric", r.cfg.Fabric), metrics: m}, nil
}

// Run replays to the end of the data, or until ctx ends, and returns nil. It fails if
// the emitter refuses a batch or reading fails (see Reader.Next).
func (p *Replay) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, p.reader.Close()) }()
	var schedule schedule
	for ctx.Err() == nil {
		b, err := p.reader.Next()
		p.metrics.count(p.reader.Summary())
		if errors.Is(err, io.EOF) {
			p.logSummary()
			return nil
		}
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if p.speed > 0 && b.Rows() > 0 && !p.wait(ctx, &schedule, b.TimeNanos[0]) {
			return nil
		}
		if err := p.emitter.Emit(ctx, b); err != nil {
			p.metrics.lost.Add(float64(b.Rows()))
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("replay: emit the batch of %s: %w", time.Unix(0, b.TimeNanos[0]).UTC().Format(time.RFC3339), err)
		}
		p.metrics.batches.Inc()
	}
	return nil
}

// schedule ties the first batch to the time at which it was emitted.
type schedule struct {
	begun      time.Time
	firstNanos int64
}

// wait sleeps until the batch is due; false if ctx ended first. Due times are relative
// to the first batch, so delays do not accumulate.
func (p *Replay) wait(ctx context.Context, s *schedule, nanos int64) bool {
	if s.begun.IsZero() {
		*s = schedule{time.Now(), nanos}
	}
	early := time.Duration(float64(nanos-s.firstNanos)/p.speed) - time.Since(s.begun)
	p.metrics.behind.Set(max(0, -early).Seconds())
	return retry.Sleep(ctx, max(0, early)) && ctx.Err() == nil
}

func (p *Replay) logSummary() {
	s := p.reader.Summary()
	p.log.Info("replay: end of the data", "files", s.Files, "rows", s.Rows, "batches", s.Batches, "bad_rows", s.Bad())
	var examples []string
	for _, e := range s.FirstErrors {
		examples = append(examples, e.Error())
	}
	if len(examples) > 0 {
		p.log.Warn("replay: rows dropped", "examples", strings.Join(examples, "; "))
	}
	if n := s.Dropped[Outside]; n > 0 {
		p.log.Warn("replay: rows outside the torus dropped", "rows", n, "first", s.FirstOutside)
	}
}
