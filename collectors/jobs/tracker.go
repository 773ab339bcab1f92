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

// Words that a tracker puts in place of the scheduler's where it ends a job itself.
const (
	LeftQueue = "left the queue" // it was listed no longer
	Replaced  = "requeued"       // its id started again
	TooOld    = "exceeds max_age"
)

// key of a job: ids are used again when a job is requeued.
type key struct {
	ID    string
	Start schema.Instant
}

// Tracker compares lists of a scheduler and finds the jobs that are new or have changed. It ends those that the
// scheduler never says have ended.
type Tracker struct {
	limits    Limits
	tolerance time.Duration // how far ahead of the clock a time may be
	known     map[key]*entry
	pending   []schema.Job // changed and not taken yet
	prompt    time.Time    // of the last list that had every job from its start on; zero: none
}

type entry struct {
	Job     schema.Job `json:"job"`
	Seen    int64      `json:"seen"` // when it was listed last, ns
	endless bool       // ended because it is too old
}

// forgetAfter is how long a job that has ended is remembered, so that it is not sent again while it is listed.
const forgetAfter = 48 * time.Hour

// NewTracker makes a tracker. Times that are further ahead of the clock than tolerance are not believed.
func NewTracker(limits Limits, tolerance time.Duration) *Tracker {
	return &Tracker{limits: limits, tolerance: tolerance, known: map[key]*entry{}}
}

// Update takes a list of the instant now, and notes in it which rows it does not use or doubts. The changes wait for
// Take. A row with a time ahead of the clock is left for a later list: either clock may be corrected by then.
func (t *Tracker) Update(list *List, now time.Time) {
	latestTime := schema.Instant(now.Add(t.tolerance).UnixNano())
	listed := make(map[key]bool, len(list.Rows))
	latest := map[string]schema.Instant{} // start by id
	evicted := false
	for i := range list.Rows {
		row := &list.Rows[i]
		if row.Phase == Waiting {
			continue
		}
		k := key{row.Job.ID, row.Job.Start}
		listed[k] = true
		latest[k.ID] = max(latest[k.ID], k.Start)
		e := t.known[k]
		if ahead := max(row.Job.Start, row.Job.End); ahead > latestTime {
			list.refuse(row.Place, feeds.Future, fmt.Sprintf("job %.40q: %s", k.ID, feeds.Ahead(ahead, t.tolerance)))
			continue
		}
		if e == nil && len(t.known) >= t.limits.MaxJobs && !evicted {
			t.evict(now)
			evicted = true
		}
		switch {
		case e == nil && len(t.known) >= t.limits.MaxJobs:
			list.refuse(row.Place, feeds.TooMany, fmt.Sprintf("job %.40q: more than max_jobs (%d)", k.ID, t.limits.MaxJobs))
			continue
		case e == nil:
			t.doubt(list, row)
			e = &entry{}
			t.known[k] = e
			t.change(e, row.Job)
		case e.endless && row.Job.End == 0: // it was said once
		case e.Job.End != 0 && row.Job.End == 0 && !list.Complete: // a line of a file that was written before its end
		case !same(&e.Job, &row.Job):
			t.change(e, row.Job)
		}
		e.Seen = now.UnixNano()
	}
	t.end(listed, latest, list.Complete, now)
	switch {
	case list.Prompt && len(list.Dropped) == 0:
		t.prompt = now
	case list.Prompt:
		t.prompt = time.Time{} // what it lacks may have begun long ago when it comes
	}
}

// doubt notes a job that is new to a list but says it began long before the last one, which had all that ran.
func (t *Tracker) doubt(list *List, row *Row) {
	start := row.Job.Start.Time()
	if !list.Prompt || row.Phase != Running || t.prompt.IsZero() || !start.Before(t.prompt.Add(-t.tolerance)) || len(list.Doubts) >= feeds.MaxFaults {
		return
	}
	list.Doubts = append(list.Doubts, feeds.NewFault(list.Where(row.Place), feeds.Late, fmt.Sprintf(
		"job %.40q: it started at %v, but no list before %v had it: the scheduler's clock is behind this host's, or its lists are late", row.Job.ID, row.Job.Start, t.prompt.UTC().Format(time.RFC3339))))
}

// evict makes room: jobs that ended before the list of now are forgotten.
func (t *Tracker) evict(now time.Time) {
	for k, e := range t.known {
		if e.Job.End != 0 && e.Seen < now.UnixNano() {
			delete(t.known, k)
		}
	}
}

func same(a, b *schema.Job) bool {
	return a.End == b.End && a.State == b.State && a.Name == b.Name && a.User == b.User && slices.Equal(a.Nodes, b.Nodes)
}

func (t *Tracker) change(e *entry, job schema.Job) {
	if len(job.Nodes) == 0 {
		job.Nodes = e.Job.Nodes // a job that has ended may have lost them
	}
	e.Job, e.endless = job, false
	t.pending = append(t.pending, job)
}

// end ends the jobs that run and are listed no longer, or too old, and forgets those that ended long ago. An end that
// no listing shows is set to when it was noticed: it was then or before.
func (t *Tracker) end(listed map[key]bool, latest map[string]schema.Instant, complete bool, now time.Time) {
	nanos := schema.Instant(now.UnixNano())
	for _, k := range t.sorted() {
		e := t.known[k]
		again := latest[k.ID]
		switch {
		case e.Job.End != 0:
			if now.Sub(time.Unix(0, e.Seen)) > forgetAfter {
				delete(t.known, k)
			}
		case !listed[k] && again > k.Start:
			t.finish(e, min(again, nanos), Replaced)
		case !listed[k] && complete:
			t.finish(e, nanos, LeftQueue)
		case t.limits.MaxAge > 0 && nanos.Time().Sub(k.Start.Time()) > t.limits.MaxAge:
			t.finish(e, k.Start+schema.Instant(t.limits.MaxAge), TooOld)
			e.endless = true
		}
	}
}

// sorted gives the keys of jobs in an order that does not change between runs.
func (t *Tracker) sorted() []key {
	return slices.SortedFunc(maps.Keys(t.known), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
}

func (t *Tracker) finish(e *entry, at schema.Instant, why string) {
	e.Job.End, e.Job.State = max(at, e.Job.Start), why
	t.pending = append(t.pending, e.Job)
}

// Take returns up to n changes, in the order in which they were found, and whether there are more.
func (t *Tracker) Take(n int) (changed []schema.Job, more bool) {
	n = min(n, len(t.pending))
	changed = t.pending[:n:n]
	if t.pending = t.pending[n:]; len(t.pending) == 0 {
		t.pending = nil
	}
	return changed, len(t.pending) > 0
}

// Running are the entries of jobs that have not ended and whose changes were taken: what must not be forgotten over
// a restart, since only it can end them.
func (t *Tracker) running() (open []entry) {
	for _, k := range t.sorted() {
		if e := t.known[k]; e.Job.End == 0 || e.endless {
			open = append(open, *e)
		}
	}
	return open
}

// resume takes the entries of an earlier process. They are sent again when the scheduler lists them otherwise.
func (t *Tracker) resume(open []entry) {
	for i := range open {
		e := open[i]
		e.endless = e.Job.End != 0
		t.known[key{e.Job.ID, e.Job.Start}] = &e
	}
}
