// Package prober measures loopback paths of a host. The input is a probe (an RNIC, an
// endpoint, a message size, queue pairs), the output its times. Probers are any program
// that implements the prober protocol (exec), and perftest's tools over loopback. A
// prober does not judge its results.
package prober

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/internal/coprocess"
)

// DefaultExecConfig is for a program that implements the prober protocol
// (docs/reference/hostping-protocol.md). Its timeout allows for a probe on a busy host.
func DefaultExecConfig(command []string) coprocess.Config {
	return coprocess.Config{Command: command, Timeout: 10 * time.Second, StopTimeout: 2 * time.Second, Restarts: 3, Backoff: 100 * time.Millisecond}
}

// Exec is a program that implements the prober protocol. A program that violates the
// protocol is killed, and restarted at the next probe.
type Exec struct{ program *coprocess.Supervised }

// NewExec returns the prober; the program is started at the first request.
func NewExec(cfg coprocess.Config, log *slog.Logger) (*Exec, error) {
	program, err := coprocess.Supervise(cfg, "prober", log)
	if err != nil {
		return nil, fmt.Errorf("prober: %w", err)
	}
	return &Exec{program}, nil
}

// probeRequest is a line sent to the program.
type probeRequest struct {
	Type string `json:"type"`
	hostping.Probe
}

// probeAnswer is a line from it. Pointers distinguish missing from zero values.
type probeAnswer struct {
	ID            *int            `json:"id"`
	Status        hostping.Status `json:"status"`
	LatencyMicros []*float64      `json:"latency_us"`
	Detail        string          `json:"detail"`
}

// Probe queries the program.
func (e *Exec) Probe(ctx context.Context, p hostping.Probe) (hostping.ProbeResult, error) {
	line, err := e.ask(ctx, probeRequest{"probe", p})
	if err != nil {
		return hostping.ProbeResult{}, err
	}
	r, err := parseProbe(line, &p)
	if err != nil {
		return r, e.failed(coprocess.InvalidAnswer, err)
	}
	e.program.Worked()
	return r, nil
}

// Limits of a program's answers.
const (
	shown     = 80 // bytes of a line that an error quotes
	maxDetail = 200
	maxMicros = 1e9
)

// parseProbe parses the answer to a probe.
func parseProbe(line []byte, p *hostping.Probe) (r hostping.ProbeResult, err error) {
	var a probeAnswer
	if err := json.Unmarshal(line, &a); err != nil {
		return r, fmt.Errorf("probe %d: %w: %.*q", p.ID, err, shown, line)
	}
	if a.ID == nil || *a.ID != p.ID {
		return r, fmt.Errorf("probe %d: the answer has another id: %.*q", p.ID, shown, line)
	}
	r = hostping.ProbeResult{Status: a.Status, Detail: a.Detail[:min(len(a.Detail), maxDetail)]}
	switch {
	case a.Status == hostping.Invalid || a.Status == hostping.Failed:
		return r, nil
	case a.Status != hostping.OK:
		return r, fmt.Errorf("probe %d: status %.40q: want ok, invalid or failed", p.ID, a.Status)
	case len(a.LatencyMicros) == 0 || len(a.LatencyMicros) > max(1, p.Repeat):
		return r, fmt.Errorf("probe %d: %d latencies: want 1 to %d", p.ID, len(a.LatencyMicros), max(1, p.Repeat))
	}
	for i, v := range a.LatencyMicros {
		if v == nil || !(*v > 0) || *v > maxMicros {
			return r, fmt.Errorf("probe %d: latency_us[%d]: want microseconds above 0: %.*q", p.ID, i, shown, line)
		}
		r.LatencyMicros = append(r.LatencyMicros, *v)
	}
	return r, nil
}

// Utilisation queries the program.
func (e *Exec) Utilisation(ctx context.Context) (u hostping.Utilisation, err error) {
	line, err := e.ask(ctx, struct {
		Type string `json:"type"`
	}{"utilisation"})
	if err != nil {
		return u, err
	}
	if err := json.Unmarshal(line, &u); err != nil {
		return hostping.Utilisation{}, e.failed(coprocess.InvalidAnswer, fmt.Errorf("utilisation: %w: %.*q", err, shown, line))
	}
	if err := checkUtilisation(&u); err != nil {
		return hostping.Utilisation{}, e.failed(coprocess.InvalidAnswer, fmt.Errorf("utilisation: %w", err))
	}
	e.program.Worked()
	return u, nil
}

// overOne is the largest accepted utilisation, above 1 since counters and capacities
// are rounded.
const overOne = 1.5

func checkUtilisation(u *hostping.Utilisation) error {
	lists := []map[string]float64{u.RNICs, u.GPUs, u.Links}
	for i := range u.Processes {
		lists = append(lists, u.Processes[i].Links)
	}
	for _, list := range lists {
		for id, v := range list {
			if !(v >= 0 && v <= overOne) { // written so that NaN fails
				return fmt.Errorf("%.80q is %g: want 0 to 1", id, v)
			}
		}
	}
	return nil
}

// Close asks the program to stop, and kills it if it does not.
func (e *Exec) Close() error { return e.program.Close() }

// ask starts the program if necessary, sends a line and reads one. A program that
// exceeds the deadline of ctx is killed, and counts as failed.
func (e *Exec) ask(ctx context.Context, request any) ([]byte, error) {
	if _, err := e.program.Start(ctx); err != nil {
		return nil, e.named(err)
	}
	line, err := e.program.Ask(ctx, request)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, e.failed(coprocess.Late, fmt.Errorf("timed out: %w", err))
	}
	return line, e.named(err)
}

func (e *Exec) failed(reason coprocess.Reason, err error) error {
	return e.named(e.program.Failed(reason, err))
}

// named adds the prober's name to an error.
func (e *Exec) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("prober %s: %w", e.program.Name, err)
}
