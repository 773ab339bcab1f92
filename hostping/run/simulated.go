package run

import (
	"context"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/simulated"
)

// Simulated probes a simulated host.
type Simulated struct{ Host *simulated.Host }

// Probe queries the host; it fails only with ctx.
func (s Simulated) Probe(ctx context.Context, p hostping.Probe) (hostping.ProbeResult, error) {
	if err := ctx.Err(); err != nil {
		return hostping.ProbeResult{}, err
	}
	return s.Host.Probe(p), nil
}

// Utilisation queries the host; it fails only with ctx.
func (s Simulated) Utilisation(ctx context.Context) (hostping.Utilisation, error) {
	return s.Host.Utilisation(), ctx.Err()
}

// Close does nothing.
func (s Simulated) Close() error { return nil }
