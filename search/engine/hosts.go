package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/perftest"
	"github.com/giverny/giverny/search"
)

// hosts is the pair of hosts of a rig that exchange traffic.
type hosts struct {
	rig      *Rig
	a, b     rigHost
	port     int // TCP port of the first direction
	log      *slog.Logger
	failures int // consecutive failures of ssh, or timeouts
}

func newHosts(rig *Rig, pair int, log *slog.Logger) (*hosts, error) {
	if err := rig.Validate(); err != nil {
		return nil, err
	}
	if pair < 0 || pair >= len(rig.Pairs) {
		return nil, fmt.Errorf("pair %d: the rig has %d", pair+1, len(rig.Pairs))
	}
	p := rig.Pairs[pair]
	return &hosts{rig: rig, port: rig.Port + portsPerPair*pair, log: log,
		a: rigHost{p.A, perftest.Host{SSH: rig.SSH, Destination: p.A.SSH}}, b: rigHost{p.B, perftest.Host{SSH: rig.SSH, Destination: p.B.SSH}}}, nil
}

// discover queries the hosts for what the rig does not specify: interfaces and line rate.
func (h *hosts) discover(ctx context.Context) (lineRateGbps float64, err error) {
	for _, host := range []*rigHost{&h.a, &h.b} {
		if host.Interface == "" {
			text, err := host.Run(ctx, "cat", host.portFolder()+"/gid_attrs/ndevs/0")
			if err != nil && ctx.Err() != nil {
				return 0, err
			}
			if name := strings.TrimSpace(string(text)); isName(name) {
				host.Interface = name
			}
		}
		if h.rig.LineRateGbps > 0 {
			continue
		}
		text, err := host.Run(ctx, "cat", host.portFolder()+"/rate")
		if err != nil {
			return 0, fmt.Errorf("line_rate_gbps is 0, and the adapter does not say: %w", err)
		}
		rate, err := parseRate(string(text))
		if err != nil {
			return 0, err
		}
		if lineRateGbps == 0 || rate < lineRateGbps {
			lineRateGbps = rate
		}
	}
	if h.rig.LineRateGbps > 0 {
		return h.rig.LineRateGbps, nil
	}
	return lineRateGbps, nil
}

// parseRate parses sysfs's "100 Gb/sec (4X EDR)".
func parseRate(text string) (float64, error) {
	number, _, ok := strings.Cut(strings.TrimSpace(text), " Gb/sec")
	rate, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || rate <= 0 {
		return 0, fmt.Errorf("rate %q: want something like 100 Gb/sec (4X EDR)", strings.TrimSpace(text))
	}
	return rate, nil
}

// counters reads the counters of both hosts.
func (h *hosts) counters(ctx context.Context) (a, b counters, err error) {
	if a, err = h.a.read(ctx); err != nil {
		return nil, nil, err
	}
	b, err = h.b.read(ctx)
	return a, b, err
}

// diagnostic lists the diagnostic counters of the hosts.
func (h *hosts) diagnostic(ctx context.Context) ([]string, error) {
	a, b, err := h.counters(ctx)
	if err != nil {
		return nil, err
	}
	if len(names([]string{"ethtool/tx_*pause*"}, a, b)) == 0 {
		h.log.Warn("search: no counter of pause frames, pauses cannot be detected", "a", h.a.Interface, "b", h.b.Interface)
	}
	return names(h.rig.Counters, a, b), nil
}

// cleanupTimeout limits the commands that clean up.
const cleanupTimeout = 20 * time.Second

// nothingLeft is the exit status of pkill if no process matched.
const nothingLeft = 1

// clean kills leftover processes on the pair's ports: of a measurement whose peer
// failed, or of a search that was killed.
func (h *hosts) clean(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	var patterns []string
	for port := h.port; port < h.port+portsPerPair; port++ {
		// The brackets keep the pattern from matching its own command line.
		text := strconv.Itoa(port)
		patterns = append(patterns, "--port="+text[:len(text)-1]+"["+text[len(text)-1:]+"]")
	}
	for _, host := range []*rigHost{&h.a, &h.b} {
		_, err := host.Run(ctx, "pkill", "-KILL", "-f", "--", strings.Join(patterns, "|"))
		if failed, ok := errors.AsType[*perftest.CommandError](err); ok && failed.Exit() != nothingLeft {
			h.log.Warn("search: cleanup failed, leftovers of a measurement may disturb the next ones", "host", host.String(), "error", err)
		}
	}
}

// maxFailures is how many consecutive failures not due to a workload end an engine.
const maxFailures = 10

// failed converts the error of a failed sample: to a fault, or, if the tool itself
// reported an error, to a failed set-up.
func (h *hosts) failed(ctx context.Context, name string, err error) (search.Measurement, error) {
	h.clean(ctx)
	if ctx.Err() != nil {
		return search.Measurement{}, ctx.Err()
	}
	reason := passing(err)
	if reason == "" {
		h.failures = 0
		h.log.Info("search: set-up failed", "error", err)
		return search.Measurement{Status: search.SetupFailed}, nil
	}
	if h.failures++; h.failures > maxFailures {
		return search.Measurement{}, fmt.Errorf("%w: %w", &Fault{name, reason, err}, ErrGone)
	}
	return search.Measurement{}, &Fault{name, reason, err}
}

// passing returns the reason of a transient failure that is not due to the workload;
// otherwise "".
func passing(err error) Reason {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Late
	case errors.Is(err, perftest.ErrUnreachable):
		return Died
	}
	return ""
}

// limit begins a command with a timeout that is enforced on the host itself, so that the command ends
// even if the connection is lost.
func (h *hosts) limit() []string {
	return []string{"timeout", "-k", "2", strconv.Itoa(h.rig.SampleSeconds*h.rig.Samples + int(h.rig.Timeout.Seconds()))}
}

// roceOverheadBytes per RoCEv2 packet on the wire: Ethernet preamble and gap 20, header
// and FCS 18, IPv4 20, UDP 8, BTH 12, ICRC 4.
const roceOverheadBytes = 82

// wire is one direction's traffic for messages of a size, split into packets of the MTU.
func wire(messageBytes, mtu, messagesMpps float64) search.Direction {
	packets := max(1, math.Ceil(messageBytes/mtu))
	d := search.Direction{Mpps: messagesMpps * packets, SizeBytes: messageBytes / packets}
	d.Gbps = d.Mpps * (d.SizeBytes + roceOverheadBytes) * 8 / 1e3
	return d
}
