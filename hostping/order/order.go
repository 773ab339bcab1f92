// Package order is what passes over the bus of commands about probes of hosts: the
// request that an agent is sent, the outcome that it answers or reports by itself, and
// the steps that the store keeps of both. In go commands and results as the audit sees
// them, out come steps and sentences. It probes nothing and stores nothing.
package order

import (
	"errors"
	"fmt"
	"math"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/schema"
)

// Kind is the kind of commands that have an agent probe its host. Its arguments are a Request, its output an Outcome.
const Kind = "hostping"

// Mode is which pairs a run probes.
type Mode string

// Modes.
const (
	Full       Mode = "full"       // every RNIC to every endpoint: for a host that is idle
	Affinitive Mode = "affinitive" // the RNICs to their own endpoints: where the host is busy
	Baseline   Mode = "baseline"   // every pair, for a baseline of this host's model; nothing is judged
)

// Modes lists them.
func Modes() []Mode { return []Mode{Full, Affinitive, Baseline} }

// Trigger is why a run began.
type Trigger string

// Triggers. All but Commanded are the agent's own monitor's.
const (
	Commanded Trigger = "command"
	IdleHost  Trigger = "idle"  // all RNICs and GPUs were idle
	Paused    Trigger = "pause" // an RNIC paused its network for too long
	Dropped   Trigger = "drop"  // an RNIC dropped packets
)

// Request says what an agent is to probe.
type Request struct {
	Mode            Mode    `json:"mode"`
	RNIC            string  `json:"rnic,omitempty"` // the busy one that is suspected, for affinitive runs; empty: none
	DurationSeconds float64 `json:"duration_seconds"`
	Region          uint64  `json:"region,string,omitempty"`
	Reason          string  `json:"reason,omitempty"` // for people
	// Baseline by which the host is judged if it has none of its own.
	Baseline *hostping.Baseline `json:"baseline,omitempty"`
}

// Bounds of a request.
const (
	maxText     = 1 << 10
	maxDuration = 24 * 3600
	maxPairs    = 4096
)

// Check joins what is wrong with a request.
func (r *Request) Check() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("hostping request: "+format, args...))
		}
	}
	check(r.Mode == Full || r.Mode == Affinitive || r.Mode == Baseline, "mode %.40q: want one of %v", r.Mode, Modes())
	check(r.DurationSeconds > 0 && r.DurationSeconds <= maxDuration && !math.IsNaN(r.DurationSeconds), "duration_seconds %g: want above 0, up to %d", r.DurationSeconds, maxDuration)
	check(len(r.Reason) <= maxText, "reason of %d bytes: want up to %d", len(r.Reason), maxText)
	check(len(r.RNIC) <= maxText, "rnic of %d bytes: want up to %d", len(r.RNIC), maxText)
	check(r.Baseline == nil || len(r.Baseline.Pairs) > 0 && len(r.Baseline.Pairs) <= maxPairs, "baseline: want 1 to %d pairs", maxPairs)
	return errors.Join(errs...)
}

// Outcome is what a run came to, or with Report and Baseline empty, what it is to be.
type Outcome struct {
	Trigger  Trigger            `json:"trigger"`
	Mode     Mode               `json:"mode"`
	Region   uint64             `json:"region,string,omitempty"`
	Model    string             `json:"model"`
	Seconds  float64            `json:"seconds"`
	Probes   int                `json:"probes"`
	Report   *hostping.Report   `json:"report,omitempty"`
	Graph    *hostping.Graph    `json:"graph,omitempty"`
	Baseline *hostping.Baseline `json:"baseline,omitempty"` // of mode baseline
}

// Requested is the status of a run that was sent for, in an authentic command.
const Requested schema.CommandStatus = "requested"

// Step is a step of a run: that it was requested (Agent is empty), or an answer of an agent, or what its monitor reports.
type Step struct {
	RunID     string               `json:"run_id"` // that of the command, or of the monitor's making
	Agent     string               `json:"agent,omitempty"`
	Status    schema.CommandStatus `json:"status"`
	Time      schema.Instant       `json:"time"`
	Principal string               `json:"principal,omitempty"` // of a request
	Reason    string               `json:"reason,omitempty"`
	Outcome   Outcome              `json:"outcome"`
}
