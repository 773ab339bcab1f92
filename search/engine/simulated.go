package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/simulated"
)

// SimulatedConfig is a simulated subsystem.
type SimulatedConfig struct {
	Subsystem string // F or H
	Seed      uint64 // of the noise
	Flaky     simulated.Flakiness
	Latency   time.Duration // that a measurement takes
}

// Simulated is a simulated subsystem as an engine. Its noise depends on the seed
// and the measurement's identifier alone, so a search that is resumed measures what
// it would have measured.
type Simulated struct{ cfg SimulatedConfig }

// NewSimulated makes the engine.
func NewSimulated(cfg SimulatedConfig) (*Simulated, error) {
	_, err := simulated.New(cfg.Subsystem, cfg.Seed, cfg.Flaky)
	if err != nil {
		return nil, err
	}
	if cfg.Latency < 0 {
		return nil, fmt.Errorf("latency %s: must not be negative", cfg.Latency)
	}
	return &Simulated{cfg}, nil
}

// Describe is the subsystem's description.
func (s *Simulated) Describe(context.Context) (search.Description, error) {
	model, err := simulated.New(s.cfg.Subsystem, s.cfg.Seed, s.cfg.Flaky)
	if err != nil {
		return search.Description{}, err
	}
	return model.Describe(), nil
}

// oddConstant spreads identifiers over all seeds (Knuth's multiplicative hash).
const oddConstant = 0x9e3779b97f4a7c15

// Measure runs a workload on the model.
func (s *Simulated) Measure(ctx context.Context, id int, w search.Workload) (search.Measurement, error) {
	if !retry.Sleep(ctx, s.cfg.Latency) {
		return search.Measurement{}, ctx.Err()
	}
	model, err := simulated.New(s.cfg.Subsystem, s.cfg.Seed^uint64(id)*oddConstant, s.cfg.Flaky)
	if err != nil {
		return search.Measurement{}, err
	}
	return model.Measure(w), nil
}

// Close has nothing to end.
func (s *Simulated) Close() error { return nil }
