package launch

import (
	"cmp"
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

// Reasons why the policy launches nothing, labels of a counter.
const (
	refusedNoHost  = "no_host"        // the root is no agent's host, or one that takes no runs
	refusedInUse   = "in_use"         // the host may not be probed now
	refusedRunning = "running"        // the host is being probed
	refusedAgain   = "probed_already" // it was within again_after
	refusedOften   = "too_often"      // as many were launched within a day as may be
	refusedFailed  = "failed"         // agents, Slurm or the store could not be asked
)

// Reasons lists them.
func Reasons() []string {
	return []string{refusedNoHost, refusedInUse, refusedRunning, refusedAgain, refusedOften, refusedFailed, dispatch.RefusedBusy}
}

// SinkName is the policy's in the audit of feedback.
const SinkName = "hostping"

// Policy launches runs by diagnoses. It never waits for one and never holds up results.
type Policy struct {
	*dispatch.Queue
	cfg       PolicyConfig
	launchers map[string]*Launcher // by fabric
	record    *record.Recorder
	now       func() time.Time

	launched map[agentKey]time.Time // by this process: the store learns of it later; Run alone uses it
	today    map[string]*dispatch.Daily
}

type agentKey struct{ fabric, agent string }

// NewPolicy makes a policy that Run starts.
func NewPolicy(cfg PolicyConfig, launchers map[string]*Launcher, rec *record.Recorder, now func() time.Time) *Policy {
	p := &Policy{Queue: dispatch.NewQueue("hostping policy", cfg.Confidence, slices.Collect(maps.Keys(launchers)), rec, now), cfg: cfg, launchers: launchers, record: rec,
		now: now, launched: map[agentKey]time.Time{}, today: map[string]*dispatch.Daily{}}
	for fabric := range launchers {
		p.today[fabric] = &dispatch.Daily{}
	}
	return p
}

// Run considers diagnoses until ctx ends.
func (p *Policy) Run(ctx context.Context) error { return p.Each(ctx, p.consider) }

// consider launches a run for a diagnosis, or notes why not.
func (p *Policy) consider(ctx context.Context, d schema.Diagnosis) {
	l := p.launchers[d.Fabric]
	action := schema.FeedbackAction{Fabric: d.Fabric, Action: "launch", Target: cmp.Or(d.Root.Peer, d.Root.Device), DryRun: p.cfg.DryRun, Score: 100 * d.Cause.Confidence}
	plan, err := l.Plan(ctx, Want{Diagnosis: d})
	switch _, none := errors.AsType[*dispatch.NoHostError](err); {
	case errors.Is(err, errInUse):
		err = dispatch.Refuse(refusedInUse, "%w", err)
	case none:
		err = dispatch.Refuse(refusedNoHost, "%w", err)
	case err != nil:
		err = dispatch.Refuse(refusedFailed, "%w", err)
	default:
		err = p.permits(ctx, l, &plan)
	}
	if no, ok := errors.AsType[*dispatch.Refusal](err); ok {
		if ctx.Err() == nil {
			action.Reason = no.Error()
			p.record.Refused(no.Reason, action)
		}
		return
	}
	action.Target, action.Reason, action.After = plan.Root.Agent, plan.Request.Reason, plan.Command.ID
	action.Outcome = schema.FeedbackDone
	if !p.cfg.DryRun {
		p.launched[agentKey{d.Fabric, plan.Root.Agent}] = p.now()
		p.today[d.Fabric].Add(p.now())
		if _, err := l.Send(ctx, &plan); err != nil {
			action.Outcome, action.Reason = schema.FeedbackFailed, err.Error()
			p.record.Failed(err, dispatch.ConsiderAgain)
		} else {
			p.record.Worked()
		}
	}
	p.record.Acted(action)
}

// permits asks the store when the host was probed, and counts the launches of a day.
func (p *Policy) permits(ctx context.Context, l *Launcher, plan *Plan) error {
	now, agent := p.now(), plan.Root.Agent
	if at, was := p.launched[agentKey{l.Fabric, agent}]; was && now.Sub(at) < p.cfg.AgainAfter {
		return dispatch.Refuse(refusedAgain, "%s was probed %v ago", agent, now.Sub(at).Round(time.Second))
	}
	past, err := l.past(ctx, "", max(p.cfg.AgainAfter, dispatch.Day))
	if err != nil {
		return dispatch.Refuse(refusedFailed, "when %s was probed is not known: %w", agent, err)
	}
	today := 0
	for i := range past {
		r := &past[i]
		ago := now.Sub(r.Time.Time())
		if r.Agent == agent && r.Running(schema.Instant(now.UnixNano())) && ago < answerWithin {
			return dispatch.Refuse(refusedRunning, "run %s of %s goes on", r.RunID, agent)
		}
		if r.Agent == agent && ago < p.cfg.AgainAfter && r.Status == schema.CommandDone {
			return dispatch.Refuse(refusedAgain, "%s was probed %v ago: %s", agent, ago.Round(time.Second), r.RunID)
		}
		if r.Principal != "" && r.Principal == plan.Command.Principal && ago < dispatch.Day {
			today++
		}
	}
	if n := max(today, p.today[l.Fabric].Count(now)); n >= p.cfg.PerDay {
		return dispatch.Refuse(refusedOften, "%d runs were launched within a day, hostping.launch.policy.per_day is %d", n, p.cfg.PerDay)
	}
	return nil
}

// answerWithin is how long a run may be without an answer and still count as one that goes on.
const answerWithin = time.Hour

// Running is a run of an agent that goes on; nil: there is none.
func (l *Launcher) Running(ctx context.Context, agent string) (*read.HostRun, error) {
	past, err := l.past(ctx, agent, answerWithin)
	for i := range past {
		if past[i].Running(schema.Instant(l.Now().UnixNano())) {
			return &past[i], err
		}
	}
	return nil, err
}
