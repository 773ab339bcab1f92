package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/record"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/schema"
)

// State is the part of a node that a mark changes, in an encoding private to the
// Scheduler. Equal strings are equal states.
type State string

// Scheduler is a scheduler that can be made to avoid nodes.
type Scheduler interface {
	// Look returns the states of nodes, without those the scheduler does not have.
	Look(ctx context.Context, nodes []string) (map[string]State, error)
	// Avoid returns the state of a node once it is marked, or why it cannot be.
	Avoid(now State) (State, error)
	// Undo returns the state of a node after relief: the parts changed by the mark are
	// reverted, all other changes stay.
	Undo(now, before, marked State) (then State, found Standing)
	// Set changes nodes. If it fails, some of them may have been changed.
	Set(ctx context.Context, to map[string]State) error
	// ValidName checks that the scheduler can have a node of that name.
	ValidName(node string) error
}

// Standing says what has become of a mark.
type Standing uint8

// Standings. A mark is covered by an operator who raises the value by hand, or by another process with a higher one, which
// puts the covered mark back when it undoes its own. The scheduler does not show which of the two it is.
const (
	Gone    Standing = iota // lost, or changed by another client
	Stands                  // at least a part of it
	Covered                 // under a higher value of another client
)

// Action names in the audit log.
const (
	ActionMark    = "mark"
	ActionRelieve = "relieve"
	ActionReapply = "reapply" // the scheduler had lost the mark
	ActionRelease = "release" // changed by another party; left as it is
)

// Reasons why a node is not changed, in addition to those of package policy.
const (
	UnknownNode = "unknown_node" // the scheduler does not have it
	BadName     = "bad_name"     // not a valid node name for the scheduler
	NotMarkable = "not_markable" // its current state does not allow a mark
)

// Reasons lists all reasons, for metrics.
func Reasons() []string {
	list := []string{UnknownNode, BadName, NotMarkable}
	for _, r := range policy.Reasons() {
		list = append(list, string(r))
	}
	return list
}

// Config of a reconciler.
type Config struct {
	Dir    string // folder of the journal
	DryRun bool
	// Idle: only restore the nodes in the journal.
	Idle   bool
	Policy policy.Config
	// Marks describes the mark if a State does not, such as the label key; empty: a State is complete.
	Marks string
	// Earlier returns a scheduler for other Marks; it restores nodes that were marked under an earlier configuration.
	Earlier func(marks string) (Scheduler, error)
	// StopTimeout bounds the relief of all nodes at shutdown.
	StopTimeout time.Duration
}

// Reconciler manages the marks of one scheduler, for all fabrics.
type Reconciler struct {
	cfg       Config
	scheduler Scheduler
	record    *record.Recorder
	log       *slog.Logger
	policy    *policy.Policy
	journal   *journal
	own       Scheduler               // the configured scheduler while scheduler is the one of an earlier configuration; else nil
	pretended map[string]policy.Score // nodes marked in a dry run
	verified  time.Time               // last verification of all marks
	unread    error                   // why nodes that are to be marked could not be read; nil: they could

	mu     sync.Mutex // guards what follows
	newest map[string]Scores
	known  map[string]Scores // the last of each fabric that were not Unknown
	fresh  bool
	heard  time.Time // arrival of the newest scores
	wake   chan struct{}
}

// New returns a reconciler. Nothing is changed before Run.
func New(cfg Config, s Scheduler, rec *record.Recorder, log *slog.Logger) *Reconciler {
	return &Reconciler{cfg: cfg, scheduler: s, record: rec, log: log.With("sink", rec.Sink()), policy: policy.New(cfg.Policy),
		pretended: map[string]policy.Score{}, newest: map[string]Scores{}, known: map[string]Scores{}, wake: make(chan struct{}, 1)}
}

// Interval of verifying marks, tick of Run, and bounds of the back-off for a failing
// scheduler or for a node that it refuses to change.
const (
	verifyEach = time.Minute
	tickEach   = time.Second
	minPause   = time.Second
	maxPause   = time.Minute
)

// Run restores what an earlier process left marked, then follows the scores until ctx
// ends, and then restores everything.
func (r *Reconciler) Run(ctx context.Context) (err error) {
	if r.journal, err = openJournal(r.cfg.Dir); err != nil {
		r.record.FailedForGood(err)
		return err
	}
	defer r.journal.release()
	r.report(0)
	if n := len(r.journal.entries); n > 0 {
		r.log.Warn("feedback: nodes left marked by an earlier run, restoring them", "nodes", r.held(), "watched", n-r.held())
		r.relieveAll("left by a process that ended without restoring it")
		if err := r.useEarlier(); err != nil {
			r.record.FailedForGood(err)
			return err
		}
	}
	pauses, due := backoff().Pauses(), time.Time{}
	r.verified = time.Now()
	ticker := time.NewTicker(tickEach)
	defer ticker.Stop()
	for {
		now := time.Now()
		r.observe(now)
		if !now.Before(due) {
			switch err := r.act(ctx, now); {
			case err == nil:
				if pauses.Reset(); !r.refusing() {
					r.record.Rested()
				}
			case ctx.Err() != nil:
			case errors.Is(err, errRefused): // these nodes have their own back-off
				pauses.Reset()
				r.record.Failed(err, r.nextTry(now))
			default:
				pause := pauses.Next()
				due = now.Add(pause)
				r.record.Failed(err, pause)
			}
		}
		select {
		case <-ctx.Done():
			return r.stop(ctx)
		case <-r.wake:
		case <-ticker.C:
		}
	}
}

// act decides, then updates the scheduler. If the journal cannot be written, or a node that is to be marked cannot be read, nodes
// are still relieved.
func (r *Reconciler) act(ctx context.Context, now time.Time) (err error) {
	if r.journal.stale {
		if err = r.journal.save(); err == nil {
			r.worked()
		}
	}
	r.endEarlier()
	r.unread = nil
	if !r.cfg.Idle && r.own == nil {
		r.unread = r.decide(ctx, now)
	}
	if now.Sub(r.verified) > verifyEach {
		r.unsettle()
		r.verified = now
	}
	if r.anyDue(now) {
		err = cmp.Or(r.settle(ctx, now), err)
	}
	return cmp.Or(r.unread, err)
}

// useEarlier switches to the scheduler of the configuration that marked the nodes in the journal. A journal of an old
// version without that information is assumed to match this configuration.
func (r *Reconciler) useEarlier() error {
	marks := r.journal.marks
	if marks == "" || marks == r.cfg.Marks {
		return nil
	}
	earlier, err := r.cfg.Earlier(marks)
	if err != nil {
		return fmt.Errorf("feedback journal %s: its nodes were marked by %q: %w", r.journal.path, marks, err)
	}
	r.log.Warn("feedback: nodes were marked under another configuration, restoring them before marking others", "marks", marks, "now", r.cfg.Marks)
	r.own, r.scheduler = r.scheduler, earlier
	return nil
}

// endEarlier switches back to the current configuration once all nodes marked under an earlier one are restored.
func (r *Reconciler) endEarlier() {
	if len(r.journal.entries) > 0 {
		return
	}
	if r.own != nil {
		r.scheduler, r.own = r.own, nil
	}
	r.journal.marks = r.cfg.Marks
}

// stop restores all nodes within StopTimeout. Nodes still marked then are restored at
// the next start.
func (r *Reconciler) stop(ctx context.Context) error {
	if len(r.journal.entries) == 0 {
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.StopTimeout)
	defer cancel()
	r.relieveAll("giverny is stopping")
	err := retry.Backoff{Min: minPause / 4, Max: minPause}.Do(last, func() error {
		for _, e := range r.journal.entries {
			e.accepted() // no back-off at shutdown
		}
		return r.settle(last, time.Now())
	},
		func(err error, _ int, pause time.Duration) { r.record.Failed(err, pause) })
	if err != nil {
		return fmt.Errorf("feedback %s: %d nodes stay marked, the next start restores them: %w", r.record.Sink(), r.held(), err)
	}
	if n := len(r.journal.entries); n > 0 {
		r.log.Info("feedback: nodes keep the higher value of another client, the next start watches them again", "nodes", n)
	}
	return nil
}

// relieveAll starts the relief of all nodes.
func (r *Reconciler) relieveAll(reason string) {
	for _, e := range r.journal.entries {
		e.relieve(reason)
	}
}

// decide runs the policy and starts its decisions.
func (r *Reconciler) decide(ctx context.Context, now time.Time) error {
	d := r.policy.Decide(now.UnixNano(), r.marked())
	r.tell(d.Refused)
	for _, s := range d.Relieve {
		if _, pretended := r.pretended[s.Node]; pretended {
			s.Fabric = r.fabricOf(s.Node)
			delete(r.pretended, s.Node)
			r.done(action(ActionRelieve, s, true))
			continue
		}
		e := r.journal.entries[s.Node]
		e.relieve(s.Reason)
		e.Score = s.Score
	}
	r.report(d.Pending)
	if len(d.Mark) == 0 {
		return nil
	}
	err := r.plan(ctx, now, d.Mark)
	r.report(d.Pending)
	return err
}

// marked lists the marked nodes; false: the relief of the node is in progress.
func (r *Reconciler) marked() map[string]bool {
	marked := map[string]bool{}
	for node, e := range r.journal.entries {
		if !e.Released {
			marked[node] = !e.relieving
		}
	}
	for node := range r.pretended {
		marked[node] = true
	}
	return marked
}

// plan adds nodes that are to be marked to the journal, with their current states; settle then saves it and marks them.
func (r *Reconciler) plan(ctx context.Context, at time.Time, marks []policy.Score) error {
	var names []string
	for _, s := range marks {
		if err := r.scheduler.ValidName(s.Node); err != nil {
			s.Reason = err.Error()
			r.cannotMark(at, BadName, action(ActionMark, s, r.cfg.DryRun))
			continue
		}
		names = append(names, s.Node)
	}
	if len(names) == 0 {
		return nil
	}
	witness := slices.Sorted(maps.Keys(r.journal.entries)) // one that can be read shows that the scheduler does not fail
	now, err := r.look(ctx, append(witness[:min(1, len(witness))], names...))
	if err != nil {
		for range names {
			r.policy.Unmarked(at.UnixNano())
		}
		return err
	}
	if !r.journal.stale {
		r.worked()
	}
	for _, s := range marks {
		if slices.Contains(names, s.Node) {
			r.planNode(at, s, now)
		}
	}
	return nil
}

// dropPlans removes the nodes that the file does not have, and that are therefore not marked.
func (r *Reconciler) dropPlans(at time.Time) {
	for node, e := range r.journal.entries {
		if !e.saved {
			delete(r.journal.entries, node)
			r.policy.Unmarked(at.UnixNano())
		}
	}
}

// planNode adds a node to the journal, unless it cannot be marked or this is a dry run.
func (r *Reconciler) planNode(at time.Time, s policy.Score, now looked) {
	before, ok := now.states[s.Node]
	if err := now.unread[s.Node]; err != nil {
		s.Reason = err.Error()
		r.cannotMark(at, NotMarkable, action(ActionMark, s, r.cfg.DryRun))
		return
	}
	if !ok {
		r.cannotMark(at, UnknownNode, action(ActionMark, s, r.cfg.DryRun))
		return
	}
	if e := r.journal.entries[s.Node]; e != nil { // released, and not yet seen to have this mark again
		if then, found := r.scheduler.Undo(before, e.Before, e.Marked); found == Stands {
			before = then
		}
	}
	marked, err := r.scheduler.Avoid(before)
	if err != nil {
		a := action(ActionMark, s, r.cfg.DryRun)
		a.Reason, a.Before = err.Error(), string(before)
		r.cannotMark(at, NotMarkable, a)
		return
	}
	if r.cfg.DryRun {
		r.pretended[s.Node] = s
		a := action(ActionMark, s, true)
		a.Before, a.After = string(before), string(marked)
		r.done(a)
		return
	}
	r.journal.entries[s.Node] = &entry{Before: before, Marked: marked, At: schema.Instant(at.UnixNano()), Fabric: s.Fabric, Score: s.Score, Reason: s.Reason}
}

func (r *Reconciler) report(pending int) {
	r.record.Marked(r.held() + len(r.pretended))
	r.record.Pending(pending + r.unsettled())
}

func (r *Reconciler) done(a schema.FeedbackAction) {
	a.Outcome = schema.FeedbackDone
	r.record.Acted(a)
}

func action(name string, s policy.Score, dry bool) schema.FeedbackAction {
	return schema.FeedbackAction{Action: name, Target: s.Node, Fabric: s.Fabric, Score: s.Score, Reason: s.Reason, DryRun: dry}
}

// errRefused means that the scheduler works but did not change some nodes.
var errRefused = errors.New("the scheduler has not accepted all changes")
