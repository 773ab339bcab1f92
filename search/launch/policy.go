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
	refusedNoHost  = "no_host"          // the root is no agent's host, or no host of its NIC model is free
	refusedRunning = "running"          // a search of the subsystem runs
	refusedAgain   = "searched_already" // the subsystem was searched within again_after
	refusedOften   = "too_often"        // as many were launched within a day as may be
	refusedFailed  = "failed"           // agents, Slurm or the store could not be asked
)

// Reasons lists them.
func Reasons() []string {
	return []string{refusedNoHost, refusedRunning, refusedAgain, refusedOften, refusedFailed, dispatch.RefusedBusy}
}

// SinkName is the policy's in the audit of feedback.
const SinkName = "search"

// Policy launches searches by diagnoses. It never waits for one and never holds up results.
type Policy struct {
	*dispatch.Queue
	cfg       PolicyConfig
	launchers map[string]*Launcher // by fabric
	record    *record.Recorder
	now       func() time.Time

	launched map[schema.Subsystem]time.Time // by this process: the store learns of it later; Run alone uses it
	today    dispatch.Daily                 // launches; Run alone uses it
}

// NewPolicy makes a policy that Run starts.
func NewPolicy(cfg PolicyConfig, launchers map[string]*Launcher, rec *record.Recorder, now func() time.Time) *Policy {
	return &Policy{Queue: dispatch.NewQueue("search policy", cfg.Confidence, slices.Collect(maps.Keys(launchers)), rec, now), cfg: cfg, launchers: launchers, record: rec,
		now: now, launched: map[schema.Subsystem]time.Time{}}
}

// Run considers diagnoses until ctx ends.
func (p *Policy) Run(ctx context.Context) error { return p.Each(ctx, p.consider) }

// consider launches a search for a diagnosis, or notes why not.
func (p *Policy) consider(ctx context.Context, d schema.Diagnosis) {
	l := p.launchers[d.Fabric]
	action := schema.FeedbackAction{Fabric: d.Fabric, Action: "launch", Target: cmp.Or(d.Root.Peer, d.Root.Device), DryRun: p.cfg.DryRun, Score: 100 * d.Cause.Confidence}
	plan, err := l.Plan(ctx, Want{Diagnosis: d, Peers: -1, Seed: uint64(d.Time), SkipKnown: true})
	switch _, none := errors.AsType[*dispatch.NoHostError](err); {
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
	action.Target, action.Reason, action.After = plan.Choice.Agent, plan.Request.Reason, plan.Command.ID
	action.Outcome = schema.FeedbackDone
	if !p.cfg.DryRun {
		p.launched[key(plan.Choice.Subsystem)] = p.now()
		p.today.Add(p.now())
		if _, err := l.Send(ctx, &plan); err != nil {
			action.Outcome, action.Reason = schema.FeedbackFailed, err.Error()
			p.record.Failed(err, dispatch.ConsiderAgain)
		} else {
			p.record.Worked()
		}
	}
	p.record.Acted(action)
}

// key is what a subsystem is known by for a search: hosts differ in kernel and CPU, and one search is enough.
func key(s schema.Subsystem) schema.Subsystem {
	return schema.Subsystem{NICModel: s.NICModel, Board: s.Board, Firmware: s.Firmware}
}

// permits asks the store what was searched, and counts the launches of a day.
func (p *Policy) permits(ctx context.Context, l *Launcher, plan *Plan) error {
	now, subsystem := p.now(), key(plan.Choice.Subsystem)
	if at, was := p.launched[subsystem]; was && now.Sub(at) < p.cfg.AgainAfter {
		return dispatch.Refuse(refusedAgain, "%v was searched %v ago", subsystem, now.Sub(at).Round(time.Second))
	}
	past, err := l.Past(ctx, max(p.cfg.AgainAfter, dispatch.Day))
	if err != nil {
		return dispatch.Refuse(refusedFailed, "what was searched before is not known: %w", err)
	}
	if s := runningOf(past, subsystem, now); s != nil {
		return dispatch.Refuse(refusedRunning, "search %s of %v runs", s.ID, subsystem)
	}
	today := 0
	for i := range past {
		s := &past[i]
		if now.Sub(s.Requested.Time()) < p.cfg.AgainAfter && key(s.Subsystem) == subsystem && s.Useful() {
			return dispatch.Refuse(refusedAgain, "%v was searched %v ago: %s", subsystem, now.Sub(s.Requested.Time()).Round(time.Second), s.ID)
		}
		if s.Principal == plan.Command.Principal && now.Sub(s.Requested.Time()) < dispatch.Day {
			today++
		}
	}
	if n := max(today, p.today.Count(now)); n >= p.cfg.PerDay {
		return dispatch.Refuse(refusedOften, "%d searches were launched within a day, search.launch.policy.per_day is %d", n, p.cfg.PerDay)
	}
	return nil
}

// Past are the searches that were requested within a time.
func (l *Launcher) Past(ctx context.Context, within time.Duration) ([]read.Search, error) {
	return l.Findings.Searches(ctx, l.Fabric, l.Desk.Past(within), read.MaxSearches)
}

// runningOf is a search of a subsystem that runs, or whose agent has not answered yet; nil: there is none.
func runningOf(past []read.Search, subsystem schema.Subsystem, now time.Time) *read.Search {
	for i := range past {
		if s := &past[i]; key(s.Subsystem) == key(subsystem) && s.Running(schema.Instant(now.UnixNano())) {
			return s
		}
	}
	return nil
}

// Running is a search of a subsystem that runs; nil: there is none.
func (l *Launcher) Running(ctx context.Context, subsystem schema.Subsystem) (*read.Search, error) {
	past, err := l.Past(ctx, dispatch.Day)
	return runningOf(past, subsystem, l.Now()), err
}
