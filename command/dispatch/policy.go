package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// PolicyConfig says when a command is launched automatically.
type PolicyConfig struct {
	// Launch when a diagnosis says slow_host.
	Enabled bool `yaml:"enabled"`
	// Log and audit what would be launched, without launching it.
	DryRun bool `yaml:"dry_run"`
	// Minimum confidence of the diagnosis, 0 to 1.
	Confidence float64 `yaml:"confidence"`
	// The same host (hostping) or subsystem, identified by NIC model, board and firmware (search), is not launched again before this time has passed.
	AgainAfter time.Duration `yaml:"again_after"`
	// Maximum number of launches by the policy per fabric and day.
	PerDay int `yaml:"per_day"`
}

// Check reports invalid fields of a policy that launches on allowed hosts, or on those drained in Slurm.
func (c *PolicyConfig) Check(f *faults.List, allowHosts []string, slurm bool) {
	for i, p := range allowHosts {
		f.Check(safety.ValidPattern(p), fmt.Sprintf("allow_hosts.%d", i), "%q is not a pattern", p)
	}
	f.Check(c.Confidence > 0 && c.Confidence <= 1, "policy.confidence", "%g: want above 0, up to 1", c.Confidence)
	f.Check(c.AgainAfter > 0, "policy.again_after", "%v: want a positive duration", c.AgainAfter)
	f.Check(c.PerDay >= 1, "policy.per_day", "%d: want 1 or more", c.PerDay)
	f.Check(!c.Enabled || slurm || len(allowHosts) > 0, "allow_hosts", "empty, and slurm is off: the policy could launch nowhere; list hosts, or set policy.enabled: false")
}

// Common reasons of all policies to launch nothing, as labels of a counter.
const (
	RefusedNoHost  = "no_host"   // the root is not an agent's host, or its agent does not accept such commands
	RefusedRunning = "running"   // one is already running
	RefusedOften   = "too_often" // the limit of launches per day is reached
	RefusedFailed  = "failed"    // agents, Slurm or the store could not be queried
	RefusedBusy    = "busy"      // another diagnosis is being processed
)

// Reasons returns the common reasons and a policy's own ones.
func Reasons(own ...string) []string {
	return append(own, RefusedNoHost, RefusedRunning, RefusedOften, RefusedFailed, RefusedBusy)
}

// NoHostError means that there is no host to act on, as opposed to failed queries of agents, Slurm or the store.
type NoHostError struct{ Err error }

func (e *NoHostError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *NoHostError) Unwrap() error { return e.Err }

// Refusal is why nothing is sent for a diagnosis.
type Refusal struct {
	Reason string // a label
	Err    error
}

// Error returns the reason as text.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the underlying error.
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse returns a *Refusal.
func Refuse(reason, format string, args ...any) error {
	return &Refusal{reason, fmt.Errorf(format, args...)}
}

// reasonOf returns the label under which an error is counted.
func reasonOf(err error) string {
	if no, ok := errors.AsType[*Refusal](err); ok {
		return no.Reason
	}
	if _, ok := errors.AsType[*NoHostError](err); ok {
		return RefusedNoHost
	}
	return RefusedFailed
}

// Launch is a command that a policy may send.
type Launch struct {
	Agent  string
	Reason string // for the audit
	ID     string
	Send   func() error
}

// act plans a launch for a diagnosis, sends it unless this is a dry run, and records the outcome in the audit.
func (q *Queue) act(ctx context.Context, d schema.Diagnosis, plan func(context.Context, schema.Diagnosis) (Launch, error)) {
	action := schema.FeedbackAction{Fabric: d.Fabric, Action: "launch", Target: cmp.Or(d.Root.Peer, d.Root.Device), DryRun: q.cfg.DryRun, Score: 100 * d.Cause.Confidence}
	l, err := plan(ctx, d)
	if err != nil {
		if ctx.Err() == nil {
			action.Reason = err.Error()
			q.record.Refused(reasonOf(err), action)
		}
		return
	}
	action.Target, action.Reason, action.After = l.Agent, l.Reason, l.ID
	action.Outcome = schema.FeedbackDone
	if !q.cfg.DryRun {
		if err := l.Send(); err != nil {
			action.Outcome, action.Reason = schema.FeedbackFailed, err.Error()
			q.record.Failed(err, considerAgain)
		} else {
			q.record.Worked()
		}
	}
	q.record.Acted(action)
}
