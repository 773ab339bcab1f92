package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

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
	refusedBusy    = "busy"             // another diagnosis is being considered
)

// Reasons lists them.
func Reasons() []string {
	return []string{refusedNoHost, refusedRunning, refusedAgain, refusedOften, refusedFailed, refusedBusy}
}

// SinkName is the policy's in the audit of feedback.
const SinkName = "search"

// considerAgain is how long a root is left alone after it was considered, launched or not: a diagnosis comes with
// every interval.
const considerAgain = 10 * time.Minute

// Policy launches searches by diagnoses. It never waits for one and never holds up results.
type Policy struct {
	cfg       PolicyConfig
	launchers map[string]*Launcher // by fabric
	record    *record.Recorder
	log       *slog.Logger
	now       func() time.Time
	queue     chan schema.Diagnosis

	mu         sync.Mutex
	considered map[rootKey]time.Time          // guarded by mu
	launched   map[schema.Subsystem]time.Time // by this process: the store learns of it later; Run alone uses it
	times      []time.Time                    // of launches within a day; Run alone uses it
}

type rootKey struct{ fabric, device, peer string }

// NewPolicy makes a policy that Run starts.
func NewPolicy(cfg PolicyConfig, launchers map[string]*Launcher, rec *record.Recorder, log *slog.Logger, now func() time.Time) *Policy {
	return &Policy{cfg: cfg, launchers: launchers, record: rec, log: log, now: now, queue: make(chan schema.Diagnosis, 1),
		considered: map[rootKey]time.Time{}, launched: map[schema.Subsystem]time.Time{}}
}

// Name of the sink.
func (p *Policy) Name() string { return "search policy" }

// Put queues the first diagnosis of an interval that counts.
func (p *Policy) Put(_ context.Context, r *schema.IntervalResult) error {
	for i := range r.Diagnoses {
		d := r.Diagnoses[i]
		if d.Cause.Class != schema.CauseSlowHost || d.Cause.Confidence < p.cfg.Confidence || d.Root == nil || p.launchers[d.Fabric] == nil {
			continue
		}
		key := rootKey{d.Fabric, d.Root.Device, d.Root.Peer}
		if !p.due(key) {
			continue
		}
		select {
		case p.queue <- d:
		default:
			p.record.Dropped(refusedBusy, 1)
			p.forget(key)
		}
	}
	return nil
}

func (p *Policy) due(key rootKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if last, seen := p.considered[key]; seen && now.Sub(last) < considerAgain {
		return false
	}
	for k, at := range p.considered {
		if now.Sub(at) >= considerAgain {
			delete(p.considered, k)
		}
	}
	p.considered[key] = now
	return true
}

func (p *Policy) forget(key rootKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.considered, key)
}

// Run considers diagnoses until ctx ends.
func (p *Policy) Run(ctx context.Context) error {
	for {
		select {
		case d := <-p.queue:
			p.consider(ctx, d)
		case <-ctx.Done():
			return nil
		}
	}
}

// refusal is a no of the policy.
type refusal struct {
	reason string
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(reason, format string, args ...any) error {
	return &refusal{reason, fmt.Errorf(format, args...)}
}

// consider launches a search for a diagnosis, or notes why not.
func (p *Policy) consider(ctx context.Context, d schema.Diagnosis) {
	l := p.launchers[d.Fabric]
	action := schema.FeedbackAction{Fabric: d.Fabric, Action: "launch", Target: cmp.Or(d.Root.Peer, d.Root.Device), DryRun: p.cfg.DryRun, Score: 100 * d.Cause.Confidence}
	plan, err := l.Plan(ctx, Want{Diagnosis: d, Peers: -1, Seed: uint64(d.Time), SkipKnown: true})
	switch _, none := errors.AsType[*NoHostError](err); {
	case none:
		err = refuse(refusedNoHost, "%w", err)
	case err != nil:
		err = refuse(refusedFailed, "%w", err)
	default:
		err = p.permits(ctx, l, &plan)
	}
	if no, ok := errors.AsType[*refusal](err); ok {
		if ctx.Err() == nil {
			action.Reason = no.Error()
			p.record.Refused(no.reason, action)
		}
		return
	}
	action.Target, action.Reason, action.After = plan.Choice.Agent, plan.Request.Reason, plan.Command.ID
	action.Outcome = schema.FeedbackDone
	if !p.cfg.DryRun {
		p.launched[key(plan.Choice.Subsystem)] = p.now()
		p.times = append(p.times, p.now())
		if _, err := l.Send(ctx, &plan); err != nil {
			action.Outcome, action.Reason = schema.FeedbackFailed, err.Error()
			p.record.Failed(err, considerAgain)
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
		return refuse(refusedAgain, "%v was searched %v ago", subsystem, now.Sub(at).Round(time.Second))
	}
	past, err := l.Past(ctx, max(p.cfg.AgainAfter, day))
	if err != nil {
		return refuse(refusedFailed, "what was searched before is not known: %w", err)
	}
	if s := runningOf(past, subsystem, now); s != nil {
		return refuse(refusedRunning, "search %s of %v runs", s.ID, subsystem)
	}
	today := 0
	for i := range past {
		s := &past[i]
		if now.Sub(s.Requested.Time()) < p.cfg.AgainAfter && key(s.Subsystem) == subsystem && s.Useful() {
			return refuse(refusedAgain, "%v was searched %v ago: %s", subsystem, now.Sub(s.Requested.Time()).Round(time.Second), s.ID)
		}
		if s.Principal == plan.Command.Principal && now.Sub(s.Requested.Time()) < day {
			today++
		}
	}
	for len(p.times) > 0 && now.Sub(p.times[0]) >= day {
		p.times = p.times[1:]
	}
	if n := max(today, len(p.times)); n >= p.cfg.PerDay {
		return refuse(refusedOften, "%d searches were launched within a day, search.launch.policy.per_day is %d", n, p.cfg.PerDay)
	}
	return nil
}

const day = 24 * time.Hour

// Past are the searches that were requested within a time.
func (l *Launcher) Past(ctx context.Context, within time.Duration) ([]read.Search, error) {
	now := l.Now()
	return l.Store.Searches(ctx, l.Fabric, read.Span{From: schema.Instant(now.Add(-within).UnixNano()), To: schema.Instant(now.Add(time.Hour).UnixNano())}, read.MaxSearches)
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
	past, err := l.Past(ctx, day)
	return runningOf(past, subsystem, l.Now()), err
}
