package jobs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/schema"
)

// States that a tracker sets when it ends a job itself.
const (
	LeftQueue = "left the queue"      // no longer listed
	Replaced  = "requeued or resized" // its ID started again, or its nodes changed
	TooOld    = "exceeds max_age"
)

// Slurm's states of a run that ended although its job goes on.
const (
	slurmResized  = "RESIZING" // its nodes changed
	slurmRequeued = "REQUEUED"
)

// key identifies a run of a job, since a requeued job keeps its ID.
type key struct {
	ID    string
	Start schema.Instant
}

// Tracker compares successive lists of a scheduler and finds new and changed jobs. It ends jobs whose end the
// scheduler never reports.
type Tracker struct {
	limits    Limits
	tolerance time.Duration // how far ahead of the clock a time may be
	known     map[key]*entry
	nodes     int          // number of nodes of all known jobs
	pending   []schema.Job // changed, not yet taken
	prompt    time.Time    // time of the last complete Prompt list; zero: none
}

type entry struct {
	Job     schema.Job `json:"job"`
	Seen    int64      `json:"seen"` // when it was last listed, ns
	endless bool       // ended by the tracker because it is too old
}

// forgetAfter is how long an ended job is remembered, so that it is not sent again while it is listed.
const forgetAfter = 48 * time.Hour

// NewTracker returns a tracker. Rows with times ahead of the clock by more than tolerance are refused.
func NewTracker(limits Limits, tolerance time.Duration) *Tracker {
	return &Tracker{limits: limits, tolerance: tolerance, known: map[key]*entry{}}
}

// Update processes a list of the time now, and records in it the rows it refuses or doubts. Changes are returned by
// Take. A row with a time ahead of the clock is refused for now: either clock may be corrected before a later list.
func (t *Tracker) Update(list *List, now time.Time) {
	latestTime := schema.InstantOf(now.Add(t.tolerance))
	listed := make(map[key]bool, len(list.Rows))
	latest := map[string]schema.Instant{} // start by id
	evicted := false
	for i := range list.Rows {
		row := &list.Rows[i]
		if row.Phase == Waiting {
			continue
		}
		k := t.keyOf(&row.Job)
		row.Job.Start = k.Start
		listed[k] = true
		latest[k.ID] = max(latest[k.ID], k.Start)
		e := t.known[k]
		if ahead := max(row.Job.Start, row.Job.End); ahead > latestTime {
			list.refuse(row.Place, feeds.Future, fmt.Sprintf("job %.40q: %s", k.ID, feeds.Ahead(ahead, t.tolerance)))
			continue
		}
		full := t.full(e, &row.Job)
		if full != "" && !evicted {
			t.evict(now)
			evicted = true
			e = t.known[k]
			full = t.full(e, &row.Job)
		}
		switch {
		case e == nil && row.Phase == Ended && len(row.Job.Nodes) == 0: // cancelled before it had nodes
			continue
		case full != "":
			list.refuse(row.Place, feeds.TooMany, fmt.Sprintf("job %.40q: %s", k.ID, full))
			continue
		case e == nil:
			t.doubt(list, row)
			e = &entry{}
			t.known[k] = e
			t.change(e, row.Job)
		case e.endless && row.Job.End == 0: // its end was reported already
		case e.Job.State == slurmRequeued && row.Job.End > e.Job.End: // sacct extends the run when the waiting job is cancelled
		case e.Job.End != 0 && row.Job.End == 0 && !list.Complete: // a line in a file written before the end
		case !same(&e.Job, &row.Job):
			t.change(e, row.Job)
		}
		e.Seen = now.UnixNano()
	}
	t.end(list, listed, latest, now)
	switch {
	case list.Prompt && len(list.Dropped) == 0:
		t.prompt = now
	case list.Prompt:
		t.prompt = time.Time{} // a dropped job may have started long before it is listed
	}
}

// full returns why there is no room for a job; empty: there is. e is what is known of it, or nil.
func (t *Tracker) full(e *entry, job *schema.Job) string {
	more := len(job.Nodes)
	if e != nil {
		more -= len(e.Job.Nodes)
	}
	switch {
	case e == nil && len(t.known) >= t.limits.MaxJobs:
		return fmt.Sprintf("more than max_jobs (%d)", t.limits.MaxJobs)
	case more > 0 && t.nodes+more > maxNodes:
		return fmt.Sprintf("more than %d nodes of all jobs", maxNodes)
	}
	return ""
}

// keyOf returns the key of a job's run. sacct ends a run whose nodes change as RESIZING, and may list the run that follows
// with the same start: it starts when the one before it ended.
func (t *Tracker) keyOf(job *schema.Job) key {
	k := key{job.ID, job.Start}
	for {
		e := t.known[k]
		if e == nil || e.Job.State != slurmResized || e.Job.End <= k.Start || job.End != 0 && job.End <= e.Job.End {
			return k
		}
		k.Start = e.Job.End
	}
}

// followed reports whether keyOf needs an ended run to find the start of the next one.
func (t *Tracker) followed(e *entry) bool {
	return e.Job.State == slurmResized && t.known[key{e.Job.ID, e.Job.End}] != nil
}

// doubt reports a new job that claims to have started long before the last list, which had all running jobs.
func (t *Tracker) doubt(list *List, row *Row) {
	start := row.Job.Start.Time()
	if !list.Prompt || row.Phase != Running || t.prompt.IsZero() || !start.Before(t.prompt.Add(-t.tolerance)) || len(list.Doubts) >= feeds.MaxFaults {
		return
	}
	list.Doubts = append(list.Doubts, feeds.NewFault(list.Where(row.Place), feeds.Late, fmt.Sprintf(
		"job %.40q: it started at %v, but no list before %v contained it: the scheduler's clock is behind this host's, or its lists are late", row.Job.ID, row.Job.Start, t.prompt.UTC().Format(time.RFC3339))))
}

// evict makes room by forgetting ended jobs that the current list has not shown so far.
func (t *Tracker) evict(now time.Time) {
	for k, e := range t.known {
		if e.Job.End != 0 && e.Seen < now.UnixNano() && !t.followed(e) {
			t.forget(k, e)
		}
	}
}

func (t *Tracker) forget(k key, e *entry) {
	t.nodes -= len(e.Job.Nodes)
	delete(t.known, k)
}

func same(a, b *schema.Job) bool {
	return a.End == b.End && a.State == b.State && a.Name == b.Name && a.User == b.User && slices.Equal(a.Nodes, b.Nodes)
}

func (t *Tracker) change(e *entry, job schema.Job) {
	if len(job.Nodes) == 0 {
		job.Nodes = e.Job.Nodes // an ended job may be listed without nodes
	}
	t.nodes += len(job.Nodes) - len(e.Job.Nodes)
	e.Job, e.endless = job, false
	t.pending = append(t.pending, job)
}

// end ends running jobs that are no longer listed or too old, and forgets jobs that ended long ago. An end that no
// list shows is set to the time of its detection, which is an upper bound.
func (t *Tracker) end(list *List, listed map[key]bool, latest map[string]schema.Instant, now time.Time) {
	nanos := schema.InstantOf(now)
	complete := list.Complete && !list.lost[""]
	for _, k := range t.sorted() {
		e := t.known[k]
		again := latest[k.ID]
		switch {
		case e.Job.End != 0:
			if now.Sub(time.Unix(0, e.Seen)) > forgetAfter && !t.followed(e) {
				t.forget(k, e)
			}
		case again > k.Start && !(listed[k] && complete): // a file may still list the earlier run without its end
			t.finish(e, min(again, nanos), Replaced)
		case !listed[k] && complete && !list.lost[k.ID]:
			t.finish(e, nanos, LeftQueue)
		case t.limits.MaxAge > 0 && nanos.Time().Sub(k.Start.Time()) > t.limits.MaxAge:
			t.finish(e, k.Start+schema.Instant(t.limits.MaxAge), TooOld)
			e.endless = true
		}
	}
}

// sorted returns the keys of jobs in a deterministic order.
func (t *Tracker) sorted() []key {
	return slices.SortedFunc(maps.Keys(t.known), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
}

func (t *Tracker) finish(e *entry, at schema.Instant, why string) {
	e.Job.End, e.Job.State = max(at, e.Job.Start), why
	t.pending = append(t.pending, e.Job)
}

// Take returns up to n changes, oldest first, and whether there are more.
func (t *Tracker) Take(n int) (changed []schema.Job, more bool) {
	n = min(n, len(t.pending))
	changed = t.pending[:n:n]
	if t.pending = t.pending[n:]; len(t.pending) == 0 {
		t.pending = nil
	}
	return changed, len(t.pending) > 0
}

// running returns the entries that must survive a restart: jobs that have not ended, that the tracker ended as too old
// but may still be listed, or that another run follows.
func (t *Tracker) running() (open []entry) {
	for _, k := range t.sorted() {
		if e := t.known[k]; e.Job.End == 0 || e.endless || t.followed(e) {
			open = append(open, *e)
		}
	}
	return open
}

// resume restores the entries of an earlier process. A job is sent again if the scheduler now lists it differently.
func (t *Tracker) resume(open []entry) {
	for i := range open {
		e := open[i]
		e.endless = e.Job.End != 0 && e.Job.State == TooOld
		t.known[key{e.Job.ID, e.Job.Start}] = &e
		t.nodes += len(e.Job.Nodes)
	}
}
