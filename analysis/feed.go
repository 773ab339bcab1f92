package analysis

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
)

// Feeds are a fabric's events, and what schedulers and logs report.
type Feeds struct {
	Events   []schema.Event
	Jobs     []schema.Job
	Failures []schema.Failure
	Traffic  []schema.JobTraffic
}

// MaxAhead is how much later than its append time in Kafka a job may start: beyond
// that its source's clock is wrong, and the job is rejected. It may wait for that
// long.
const MaxAhead = time.Hour

// Limits of a feed. maxWaitingRows and maxWaitingNodes limit the rows that wait for
// their interval, maxKnown how many rows are kept for deduplication, and
// rememberedResults how many results they are kept after they came out: as far back
// as a restart reads the sources again.
const (
	maxWaitingRows    = 1 << 17
	maxWaitingNodes   = 4 << 20
	maxKnown          = 1 << 17
	rememberedResults = 3 * SaveIntervals
)

// kindOfFeed describes one kind of rows. K is the type of a row's key: a row
// replaces an earlier one with the same key.
type kindOfFeed[K comparable, V any] struct {
	key   func(*V) K
	time  func(*V) int64 // with whose interval it is emitted
	order func(a, b *V) int
	// digest is a hash of all fields but the key: rows with equal keys and digests are duplicates.
	digest func(*V) uint64
	open   func(*V) bool // it has not ended, so a later row may end it; nil: never
	nodes  func(*V) int  // number of nodes that it lists; nil: none
}

// feed orders rows of one kind by time, and emits each with the interval that it
// falls into, or with the next. It deduplicates rows that were emitted before,
// by this or an earlier process.
type feed[K comparable, V any] struct {
	kind         kindOfFeed[K, V]
	waiting      map[K]waitingRow[V]
	waitingNodes int
	known        map[K]knownRow
	results      int
	full, future uint64 // rows rejected
}

type waitingRow[V any] struct {
	row   V
	about knownRow
}

// knownRow is what is remembered of a row: not the row itself, since a job may have many nodes.
type knownRow struct {
	digest uint64
	open   bool
	result int // number of the result with which it was emitted
}

func newFeed[K comparable, V any](kind kindOfFeed[K, V]) *feed[K, V] {
	return &feed[K, V]{kind: kind, waiting: map[K]waitingRow[V]{}, known: map[K]knownRow{}}
}

// add adds a row that was appended to Kafka at an instant, 0 if unknown. It reports
// whether a row with its key is waiting for its interval.
func (f *feed[K, V]) add(row V, appendedNanos int64) bool {
	k, is := f.kind.key(&row), f.about(&row)
	before, waits := f.waiting[k]
	nodes := f.nodes(&row)
	was, known := f.known[k]
	if waits {
		was, known = before.about, true
		nodes -= f.nodes(&before.row)
	}
	// A job that has ended cannot be open again under the same key: such a row is older.
	if known && (is.digest == was.digest || is.open && !was.open) {
		return waits
	}
	switch {
	case appendedNanos != 0 && f.kind.time(&row) > appendedNanos+int64(MaxAhead):
		f.future++
		return waits
	case !waits && len(f.waiting) >= maxWaitingRows, nodes > 0 && f.waitingNodes+nodes > maxWaitingNodes:
		f.full++
		return waits
	}
	f.waiting[k] = waitingRow[V]{row, is}
	f.waitingNodes += nodes
	return true
}

// about returns what to remember of a row emitted now.
func (f *feed[K, V]) about(row *V) knownRow {
	return knownRow{f.kind.digest(row), f.kind.open != nil && f.kind.open(row), f.results}
}

func (f *feed[K, V]) nodes(row *V) int {
	if f.kind.nodes == nil {
		return 0
	}
	return f.kind.nodes(row)
}

// take removes and returns the rows before an instant, in order.
func (f *feed[K, V]) take(end int64) (due []V) {
	f.results++
	for k, w := range f.waiting {
		if f.kind.time(&w.row) < end {
			due = append(due, w.row)
			delete(f.waiting, k)
			f.waitingNodes -= f.nodes(&w.row)
			w.about.result = f.results
			f.known[k] = w.about
		}
	}
	slices.SortFunc(due, func(a, b V) int {
		return cmp.Or(cmp.Compare(f.kind.time(&a), f.kind.time(&b)), f.kind.order(&a, &b))
	})
	if f.results%SaveIntervals == 0 || len(f.known) > 2*maxKnown {
		f.forget()
	}
	return due
}

// recall marks rows as emitted by an earlier process.
func (f *feed[K, V]) recall(rows []V) {
	for i := range rows {
		f.known[f.kind.key(&rows[i])] = f.about(&rows[i])
	}
}

// forget drops rows that were emitted long ago and can no longer change and,
// beyond maxKnown, the oldest.
func (f *feed[K, V]) forget() {
	for k, was := range f.known {
		if was.result+rememberedResults < f.results && !was.open {
			delete(f.known, k)
		}
	}
	if len(f.known) <= maxKnown {
		return
	}
	ages := make([]int, 0, len(f.known))
	for _, was := range f.known {
		ages = append(ages, was.result)
	}
	slices.Sort(ages)
	oldest := ages[len(ages)-maxKnown]
	for k, was := range f.known {
		if was.result < oldest || was.result == oldest && len(f.known) > maxKnown {
			delete(f.known, k)
		}
	}
}

// feeds are the feeds of a fabric, by kind.
type feeds struct {
	events   *feed[schema.Event, schema.Event]
	jobs     *feed[jobKey, schema.Job]
	failures *feed[schema.Failure, schema.Failure]
	traffic  *feed[jobKey, schema.JobTraffic]
	waiting  uint64 // jobs rejected because they have not started
}

// jobKey identifies a job by its start, or a job's traffic by its interval: ids
// are reused.
type jobKey struct {
	id    string
	start schema.Instant
}

func newFeeds() *feeds {
	return &feeds{
		events: newFeed(kindOfFeed[schema.Event, schema.Event]{
			key:  func(e *schema.Event) schema.Event { return *e },
			time: func(e *schema.Event) int64 { return e.TimeNanos },
			order: func(a, b *schema.Event) int {
				return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Port, b.Port),
					cmp.Compare(a.RegionID, b.RegionID), cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.Detail, b.Detail))
			},
			digest: func(*schema.Event) uint64 { return 0 }, // the key has all fields
		}),
		jobs: newFeed(kindOfFeed[jobKey, schema.Job]{
			key:    func(j *schema.Job) jobKey { return jobKey{j.ID, j.Start} },
			time:   func(j *schema.Job) int64 { return int64(j.Start) },
			order:  func(a, b *schema.Job) int { return cmp.Compare(a.ID, b.ID) },
			digest: digestOfJob,
			open:   func(j *schema.Job) bool { return j.End == 0 },
			nodes:  func(j *schema.Job) int { return len(j.Nodes) },
		}),
		failures: newFeed(kindOfFeed[schema.Failure, schema.Failure]{
			key:  func(f *schema.Failure) schema.Failure { return *f },
			time: func(f *schema.Failure) int64 { return int64(f.Time) },
			order: func(a, b *schema.Failure) int {
				return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Detail, b.Detail))
			},
			digest: func(*schema.Failure) uint64 { return 0 }, // the key has all fields
		}),
		traffic: newFeed(kindOfFeed[jobKey, schema.JobTraffic]{
			key:    func(t *schema.JobTraffic) jobKey { return jobKey{t.JobID, t.Time} },
			time:   func(t *schema.JobTraffic) int64 { return int64(t.Time) },
			order:  func(a, b *schema.JobTraffic) int { return cmp.Compare(a.JobID, b.JobID) },
			digest: digestOfTraffic,
		}),
	}
}

// digestOfJob hashes the fields of a job beyond its key.
func digestOfJob(j *schema.Job) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q%q%q%d;", j.Name, j.User, j.State, j.End)
	for _, node := range j.Nodes {
		io.WriteString(h, node)
		h.Write([]byte{0xFF}) // does not occur in UTF-8
	}
	return h.Sum64()
}

func digestOfTraffic(t *schema.JobTraffic) uint64 {
	h := fnv.New64a()
	for _, v := range []*float64{t.Read, t.Write, t.RDMARead, t.RDMAWrite} {
		if v != nil {
			fmt.Fprintf(h, "%x", math.Float64bits(*v))
		}
		h.Write([]byte{'-'})
	}
	return h.Sum64()
}

// AddEvents adds events that were appended to Kafka at an instant, 0 if unknown. Each
// is emitted once, with the interval in which it happened, or with the next. It
// returns the newest time of those that wait; 0 if none does.
func (c *Core) AddEvents(events []schema.Event, appendedNanos int64) (newestNanos int64) {
	for _, e := range events {
		if c.feeds.events.add(e, appendedNanos) {
			newestNanos = max(newestNanos, e.TimeNanos)
		}
	}
	return newestNanos
}

// AddJobs is like AddEvents for the scheduler's jobs. A job is emitted with the
// interval in which it starts, or with the next, and again when it has changed.
func (c *Core) AddJobs(jobs []schema.Job, appendedNanos int64) (newestNanos int64) {
	for i := range jobs {
		if jobs[i].Start == 0 {
			c.feeds.waiting++
			continue
		}
		if c.feeds.jobs.add(jobs[i], appendedNanos) {
			newestNanos = max(newestNanos, int64(jobs[i].Start))
		}
	}
	return newestNanos
}

// AddFailures is like AddEvents for failures; each is emitted once.
func (c *Core) AddFailures(failures []schema.Failure, appendedNanos int64) (newestNanos int64) {
	for _, f := range failures {
		if c.feeds.failures.add(f, appendedNanos) {
			newestNanos = max(newestNanos, int64(f.Time))
		}
	}
	return newestNanos
}

// AddTraffic is like AddEvents for the traffic of jobs; it is emitted once, and
// again if it is corrected.
func (c *Core) AddTraffic(traffic []schema.JobTraffic, appendedNanos int64) (newestNanos int64) {
	for i := range traffic {
		if c.feeds.traffic.add(traffic[i], appendedNanos) {
			newestNanos = max(newestNanos, int64(traffic[i].Time))
		}
	}
	return newestNanos
}

// take moves the rows before an instant into a result.
func (f *feeds) take(end int64, r *schema.IntervalResult) {
	r.Events, r.Jobs, r.Failures, r.Traffic = f.events.take(end), f.jobs.take(end), f.failures.take(end), f.traffic.take(end)
}

// drops adds the numbers of rejected rows.
func (f *feeds) drops(to map[string]uint64) {
	to["events_full"], to["events_future"] = f.events.full, f.events.future
	to["jobs_full"], to["jobs_future"], to["jobs_not_started"] = f.jobs.full, f.jobs.future, f.waiting
	to["failures_full"], to["failures_future"] = f.failures.full, f.failures.future
	to["traffic_full"], to["traffic_future"] = f.traffic.full, f.traffic.future
}

// Recall tells the core what an earlier process stored: the running jobs, and recent events,
// failures and traffic. None of it is emitted again, but the stages use it. Call it after Load
// and before Resume.
func (c *Core) Recall(f Feeds) {
	c.feeds.events.recall(f.Events)
	c.feeds.jobs.recall(f.Jobs)
	c.feeds.failures.recall(f.Failures)
	c.feeds.traffic.recall(f.Traffic)
	c.recalled = f
	for _, s := range c.stages {
		if d, ok := s.(*diagnoseStage); ok {
			d.recall(f.Jobs)
		}
	}
}
