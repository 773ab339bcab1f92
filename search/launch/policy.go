package launch

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// refusedAgain is this policy's own reason to launch nothing: the subsystem was already searched within again_after.
const refusedAgain = "searched_already"

// Reasons lists all reasons.
func Reasons() []string { return dispatch.Reasons(refusedAgain) }

// SinkName is the policy's name in the audit of feedback.
const SinkName = "search"

// Policy launches searches for diagnoses. It never waits for a search and never delays
// results.
type Policy struct {
	*dispatch.Queue
	cfg       dispatch.PolicyConfig
	launchers map[string]*Launcher // by fabric
	now       func() time.Time

	quota *dispatch.Quota[schema.Subsystem] // used only by Run
}

// NewPolicy returns a policy that Run starts.
func NewPolicy(cfg dispatch.PolicyConfig, launchers map[string]*Launcher, rec *record.Recorder, now func() time.Time) *Policy {
	return &Policy{Queue: dispatch.NewQueue("search policy", cfg, slices.Collect(maps.Keys(launchers)), rec, now), cfg: cfg, launchers: launchers,
		now: now, quota: dispatch.NewQuota[schema.Subsystem]("searches", "search.launch.policy", cfg)}
}

// Run processes diagnoses until ctx ends.
func (p *Policy) Run(ctx context.Context) error { return p.Each(ctx, p.plan) }

// plan returns the search for a diagnosis, or why there is none.
func (p *Policy) plan(ctx context.Context, d schema.Diagnosis) (dispatch.Launch, error) {
	l := p.launchers[d.Fabric]
	plan, err := l.Plan(ctx, Want{Diagnosis: d, Peers: -1, Seed: uint64(d.Time), SkipKnown: true})
	if err != nil {
		return dispatch.Launch{}, err
	}
	if err := p.permits(ctx, l, &plan); err != nil {
		return dispatch.Launch{}, err
	}
	return dispatch.Launch{Agent: plan.Choice.Agent, Reason: plan.Request.Reason, ID: plan.Command.ID, Send: func() error {
		p.quota.Add(d.Fabric, key(plan.Choice.Subsystem), p.now())
		_, err := l.Send(ctx, &plan.Command, plan.Choice.Agent)
		return err
	}}, nil
}

// key identifies a subsystem for a search: hosts differ in kernel and CPU, but one search is enough.
func key(s schema.Subsystem) schema.Subsystem {
	return schema.Subsystem{NICModel: s.NICModel, Board: s.Board, Firmware: s.Firmware}
}

// permits queries past searches in the store, and counts the launches per day.
func (p *Policy) permits(ctx context.Context, l *Launcher, plan *Plan) error {
	now, subsystem := p.now(), key(plan.Choice.Subsystem)
	if ago, is := p.quota.Again(l.Fabric, subsystem, now); is {
		return dispatch.Refuse(refusedAgain, "%v was searched %v ago", subsystem, ago.Round(time.Second))
	}
	past, err := l.past(ctx, max(p.cfg.AgainAfter, dispatch.Day))
	if err != nil {
		return dispatch.Refuse(dispatch.RefusedFailed, "cannot tell what was searched before: %w", err)
	}
	if s := runningOf(past, subsystem, now); s != nil {
		return dispatch.Refuse(dispatch.RefusedRunning, "search %s of %v is still running", s.ID, subsystem)
	}
	today := 0
	for i := range past {
		s := &past[i]
		own := s.Principal == plan.Command.Principal // if a user cancelled it, no further one is wanted
		if now.Sub(s.Requested.Time()) < p.cfg.AgainAfter && key(s.Subsystem) == subsystem && (s.Useful() || own && s.Measured()) {
			return dispatch.Refuse(refusedAgain, "%v was searched %v ago: %s", subsystem, now.Sub(s.Requested.Time()).Round(time.Second), s.ID)
		}
		if own && now.Sub(s.Requested.Time()) < dispatch.Day {
			today++
		}
	}
	return p.quota.CheckDay(l.Fabric, today, now)
}

// past returns the searches requested within a duration.
func (l *Launcher) past(ctx context.Context, within time.Duration) ([]read.Search, error) {
	return l.Findings.Searches(ctx, l.Fabric, l.Dispatcher.Past(within), read.MaxSearches)
}

// runningOf returns a search of a subsystem that is running or not yet answered by its agent; nil: none.
func runningOf(past []read.Search, subsystem schema.Subsystem, now time.Time) *read.Search {
	for i := range past {
		if s := &past[i]; key(s.Subsystem) == key(subsystem) && s.Running(schema.InstantOf(now)) {
			return s
		}
	}
	return nil
}

// Running returns a running search of a subsystem; nil: none.
func (l *Launcher) Running(ctx context.Context, subsystem schema.Subsystem) (*read.Search, error) {
	past, err := l.past(ctx, dispatch.Day)
	return runningOf(past, subsystem, l.Now()), err
}
