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

// PolicyConfig says when a command is launched without a person.
type PolicyConfig struct {
	// Launch when a diagnosis says slow_host.
	Enabled bool `yaml:"enabled"`
	// Log and audit what would be launched, and launch nothing.
	DryRun bool `yaml:"dry_run"`
	// Minimum confidence of the diagnosis, 0 to 1.
	Confidence float64 `yaml:"confidence"`
	// The same host (hostping) or subsystem, which is NIC model, board and firmware (search), is not launched again before this time has passed.
	AgainAfter time.Duration `yaml:"again_after"`
	// Maximum number of launches by the policy in a fabric within a day.
	PerDay int `yaml:"per_day"`
}

// Check notes the faults of a policy that launches on allowed hosts, or on those that Slurm has drained.
func (c *PolicyConfig) Check(f *faults.List, allowHosts []string, slurm bool) {
	for i, p := range allowHosts {
		f.Check(safety.ValidPattern(p), fmt.Sprintf("allow_hosts.%d", i), "%q is not a pattern", p)
	}
	f.Check(c.Confidence > 0 && c.Confidence <= 1, "policy.confidence", "%g: want above 0, up to 1", c.Confidence)
	f.Check(c.AgainAfter > 0, "policy.again_after", "%v: want a positive duration", c.AgainAfter)
	f.Check(c.PerDay >= 1, "policy.per_day", "%d: want 1 or more", c.PerDay)
	f.Check(!c.Enabled || slurm || len(allowHosts) > 0, "allow_hosts", "empty, and slurm is off: the policy could launch nowhere; list hosts, or set policy.enabled: false")
}

// Reasons why a policy launches nothing that all policies share, labels of a counter.
const (
	RefusedNoHost  = "no_host"   // the root is no agent's host, or one that takes no such commands
	RefusedRunning = "running"   // one runs already
	RefusedOften   = "too_often" // as many were launched within a day as may be
	RefusedFailed  = "failed"    // agents, Slurm or the store could not be asked
	RefusedBusy    = "busy"      // another diagnosis is being considered
)

// Reasons are those of a policy that has some of its own.
func Reasons(own ...string) []string {
	return append(own, RefusedNoHost, RefusedRunning, RefusedOften, RefusedFailed, RefusedBusy)
}

// NoHostError says that no host is there to act on, unlike errors of agents, Slurm or the store, which could not be
// asked.
type NoHostError struct{ Err error }

func (e *NoHostError) Error() string { return e.Err.Error() }

// Unwrap is what lies beneath.
func (e *NoHostError) Unwrap() error { return e.Err }

// Refusal is why nothing is sent for a diagnosis.
type Refusal struct {
	Reason string // a label
	Err    error
}

// Error says why, for people.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap is what lies beneath.
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse makes a *Refusal.
func Refuse(reason, format string, args ...any) error {
	return &Refusal{reason, fmt.Errorf(format, args...)}
}

// reasonOf is the label under which an error counts.
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

// act sends what a plan for a diagnosis comes to, unless it is to be a dry run, and has the audit say what came of it.
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
			q.record.Failed(err, ConsiderAgain)
		} else {
			q.record.Worked()
		}
	}
	q.record.Acted(action)
}
