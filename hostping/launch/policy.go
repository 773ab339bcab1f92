package launch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// This policy's own reasons to launch nothing, as labels of a counter.
const (
	refusedInUse = "in_use"         // the host may not be probed now
	refusedAgain = "probed_already" // it was probed within again_after
)

// Reasons lists all reasons.
func Reasons() []string { return dispatch.Reasons(refusedInUse, refusedAgain) }

// SinkName is the policy's name in the audit of feedback.
const SinkName = "hostping"

// Policy launches runs for diagnoses. It never waits for a run and never delays results.
type Policy struct {
	*dispatch.Queue
	cfg       dispatch.PolicyConfig
	launchers map[string]*Launcher // by fabric
	now       func() time.Time

	quota *dispatch.Quota[string] // of agents; used only by Run
}

// NewPolicy returns a policy that Run starts.
func NewPolicy(cfg dispatch.PolicyConfig, launchers map[string]*Launcher, rec *record.Recorder, now func() time.Time) *Policy {
	return &Policy{Queue: dispatch.NewQueue("hostping policy", cfg, slices.Collect(maps.Keys(launchers)), rec, now), cfg: cfg, launchers: launchers,
		now: now, quota: dispatch.NewQuota[string]("runs", "hostping.launch.policy", cfg)}
}

// Run processes diagnoses until ctx ends.
func (p *Policy) Run(ctx context.Context) error { return p.Each(ctx, p.plan) }

// plan returns the run for a diagnosis, or why there is none.
func (p *Policy) plan(ctx context.Context, d schema.Diagnosis) (dispatch.Launch, error) {
	l := p.launchers[d.Fabric]
	plan, err := l.Plan(ctx, Want{Diagnosis: d})
	if errors.Is(err, errInUse) {
		return dispatch.Launch{}, dispatch.Refuse(refusedInUse, "%w", err)
	}
	if _, is := errors.AsType[*SearchingError](err); is {
		return dispatch.Launch{}, dispatch.Refuse(dispatch.RefusedRunning, "%w", err)
	}
	if err != nil {
		return dispatch.Launch{}, err
	}
	if err := p.permits(ctx, l, &plan); err != nil {
		return dispatch.Launch{}, err
	}
	return dispatch.Launch{Agent: plan.Root.Agent, Reason: plan.Request.Reason, ID: plan.Command.ID, Send: func() error {
		p.quota.Add(d.Fabric, plan.Root.Agent, p.now())
		_, err := l.Send(ctx, &plan.Command, plan.Root.Agent)
		return err
	}}, nil
}

// permits queries the store for when the host was probed, and counts the launches per day.
func (p *Policy) permits(ctx context.Context, l *Launcher, plan *Plan) error {
	now, agent := p.now(), plan.Root.Agent
	if ago, is := p.quota.Again(l.Fabric, agent, now); is {
		return dispatch.Refuse(refusedAgain, "%s was probed %v ago", agent, ago.Round(time.Second))
	}
	past, err := l.past(ctx, "", max(p.cfg.AgainAfter, dispatch.Day))
	if err != nil {
		return dispatch.Refuse(dispatch.RefusedFailed, "cannot tell when %s was last probed: %w", agent, err)
	}
	today := 0
	for i := range past {
		r := &past[i]
		ago := now.Sub(r.Time.Time())
		if r.Agent == agent && r.Running(schema.InstantOf(now)) && ago < answerWithin {
			return dispatch.Refuse(dispatch.RefusedRunning, "run %s of %s is still in progress", r.RunID, agent)
		}
		if r.Agent == agent && ago < p.cfg.AgainAfter && r.Status == schema.CommandDone {
			return dispatch.Refuse(refusedAgain, "%s was probed %v ago: %s", agent, ago.Round(time.Second), r.RunID)
		}
		if r.Principal != "" && r.Principal == plan.Command.Principal && ago < dispatch.Day {
			today++
		}
	}
	return p.quota.CheckDay(l.Fabric, today, now)
}

// answerWithin is how long an unanswered run counts as running.
const answerWithin = time.Hour

// Running returns an agent's current run; nil: none.
func (l *Launcher) Running(ctx context.Context, agent string) (*read.HostRun, error) {
	past, err := l.past(ctx, agent, answerWithin)
	for i := range past {
		if past[i].Running(schema.InstantOf(l.Now())) {
			return &past[i], err
		}
	}
	return nil, err
}
