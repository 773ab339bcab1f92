package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/simulated"
)

// SimulatedConfig configures a simulated subsystem.
type SimulatedConfig struct {
	Subsystem string // F or H
	Seed      uint64 // of the noise
	Flaky     simulated.Flakiness
	Latency   time.Duration // time per measurement
}

// Simulated is a simulated subsystem as an engine. Its noise depends only on the seed
// and the measurement's identifier, so a resumed search gets the same measurements.
type Simulated struct{ cfg SimulatedConfig }

// NewSimulated returns the engine.
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

// Describe returns the subsystem's description.
func (s *Simulated) Describe(context.Context) (search.Description, error) {
	model, err := simulated.New(s.cfg.Subsystem, s.cfg.Seed, s.cfg.Flaky)
	if err != nil {
		return search.Description{}, err
	}
	return model.Describe(), nil
}

// oddConstant spreads identifiers over the range of seeds (Knuth's multiplicative hash).
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

// Close does nothing.
func (s *Simulated) Close() error { return nil }
