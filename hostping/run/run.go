// Package run measures a host with a prober and has hostping analyse it. In go a graph, a baseline and a prober, out
// comes a report; a probe that fails or hangs costs its pair, not the run. It knows no prober.
package run

import (
	"context"
	"time"

	"github.com/giverny/giverny/hostping"
)

// Prober measures loopback paths. Probe returns an error only if the prober itself has failed (it ended, hung past the
// deadline of ctx, or answered nonsense); it must then be ready for the next call, or return the error again.
type Prober interface {
	Probe(ctx context.Context, p hostping.Probe) (hostping.ProbeResult, error)
	Utilisation(ctx context.Context) (hostping.Utilisation, error)
	Close() error
}

// Options of a run. Graph, Prober and Now are required.
type Options struct {
	Graph    hostping.Graph
	Baseline hostping.Baseline
	History  *hostping.History // of this host; the run is added to it; nil: none is kept
	Prober   Prober
	Now      func() time.Time // stamps the run in the history

	// Busy RNICs' own metrics called for the run: the RNIC that paused its network or dropped packets, empty if none
	// did. Then only affinitive pairs are measured (section 4.3).
	Trigger string

	ProbeTimeout time.Duration // of each probe; 0: 10 s
	Timeout      time.Duration // of the run; pairs that are left are unmeasured; 0: 5 min
	Pause        time.Duration // between probes, to limit the share of a RNIC's time; 0: none
}
