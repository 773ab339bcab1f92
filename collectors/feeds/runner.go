package feeds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/schema"
)

// Emitter accepts rows of one fabric.
type Emitter interface {
	EmitJobs(ctx context.Context, fabric string, jobs []schema.Job) error
	EmitFailures(ctx context.Context, fabric string, failures []schema.Failure) error
	EmitTraffic(ctx context.Context, fabric string, traffic []schema.JobTraffic) error
}

// FinalError is an emitter's permanent error: retrying does not help.
type FinalError struct{ Err error }

// Error returns the emitter's error text.
func (e *FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the emitter's error.
func (e *FinalError) Unwrap() error { return e.Err }

// Deps are the dependencies of a runner. All are required.
type Deps struct {
	Source   Source
	Emitter  Emitter
	Resolver *nodes.Resolver
	Metrics  *Metrics
	Log      *slog.Logger
}

// Runner reads one feed and emits its rows.
type Runner struct {
	cfg         Config
	name        string
	source      Source
	emitter     Emitter
	resolver    atomic.Pointer[nodes.Resolver]
	metrics     *feedMetrics
	log         *slog.Logger
	pause       retry.Backoff
	unknown     map[string]bool // names already logged; bounded
	faulty      map[Fault]bool  // faults already logged; bounded
	implausible string          // the last implausible row
	stranger    string          // a recent node that matches no device
	broken      string          // a recent row that could not be parsed

	mu     sync.Mutex
	health Health // guarded by mu
}

// Health describes the condition of a feed.
type Health struct {
	Feed     string    `json:"feed"`
	State    State     `json:"state"`
	LastRead time.Time `json:"last_read"` // the last successful one; zero before the first
	Rows     uint64    `json:"rows"`      // emitted
	Failures int       `json:"failures"`  // failed reads since
	Err      error     `json:"-"`         // of the last read

	minute        time.Time // in which the rows below arrived
	arrived       int
	full          int       // consecutive reads that returned the maximum
	implausibleAt time.Time // when implausible rows last arrived
	implausible   string    // the last of them

	held      int       // consecutive reads that are repeated because most of their rows could not be parsed
	since     time.Time // the first of them
	unparsed  int       // consecutive rows that could not be parsed
	broken    string    // one of them
	strangers int       // consecutive rows without a device
	stranger  string    // one of their nodes
	flooded   time.Time // time of the last flood

	lost     time.Time // the last read with rows that could not be parsed
	lostRows int       // of that read
}

// New returns a runner. name is the name of the feed, such as jobs/slurm. Nothing is read yet.
func New(name string, cfg Config, deps Deps) (*Runner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("feed %s: %w", name, err)
	}
	r := &Runner{cfg: cfg, name: name, source: deps.Source, emitter: deps.Emitter, log: deps.Log.With("feed", name),
		pause: retry.Backoff{Min: time.Second, Max: time.Minute}, unknown: map[string]bool{}, faulty: map[Fault]bool{}, health: Health{Feed: name, State: Waiting}}
	r.resolver.Store(deps.Resolver)
	r.metrics = deps.Metrics.of(name, r.age)
	r.metrics.show(Waiting)
	return r, nil
}

// SetResolver replaces the resolver from the next read on. It is safe for concurrent use.
func (r *Runner) SetResolver(to *nodes.Resolver) { r.resolver.Store(to) }

// Name of the feed.
func (r *Runner) Name() string { return r.name }

// Health is how the feed does.
func (r *Runner) Health() Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.health
}

// State describes the feed's state and the time of the last read, for people.
func (r *Runner) State() string {
	h := r.Health()
	text := string(h.State)
	switch {
	case h.Err != nil:
		text += fmt.Sprintf(" (%d reads failed: %v)", h.Failures, h.Err)
	case h.State == Implausible && h.implausible != "":
		text += fmt.Sprintf(" (%s)", h.implausible)
	case h.State == Unusable && h.held > 0:
		text += fmt.Sprintf(" (most rows cannot be parsed, for example %s; rows since %s are queried again until they can)", h.broken, h.since.UTC().Format(time.RFC3339))
	case h.State == Unusable:
		text += fmt.Sprintf(" (none of the last %d rows can be parsed, for example %s)", h.unparsed, h.broken)
	case h.State == Incomplete:
		text += fmt.Sprintf(" (rows that cannot be parsed in the read at %s: %d, for example %s)", h.lost.UTC().Format(time.RFC3339), h.lostRows, h.broken)
	case h.State == Unmatched:
		text += fmt.Sprintf(" (none of the last %d rows has a device of its fabrics, for example %s; map them in node_map or import the topology again)", h.strangers, h.stranger)
	}
	return text
}

// age is the time since the last successful read; false before the first.
func (r *Runner) age() (time.Duration, bool) {
	h := r.Health()
	return time.Since(h.LastRead), !h.LastRead.IsZero()
}

// Run reads every interval until ctx ends, and returns nil. A failed read is repeated at the next interval. If the
// emitter fails, emitting is retried and nothing is read meanwhile, which bounds memory.
func (r *Runner) Run(ctx context.Context) error {
	for {
		n, more := r.Once(ctx)
		pause := r.cfg.Interval
		if more {
			pause = r.pacing(n)
		}
		if !retry.Sleep(ctx, pause) {
			return nil
		}
	}
}

// pacing is the pause after rows when the source has more, to stay within flood_per_minute.
func (r *Runner) pacing(rows int) time.Duration {
	return time.Minute * time.Duration(rows) / time.Duration(r.cfg.FloodPerMinute)
}

// Once reads and emits once. It returns how many rows were read, and whether the source has more.
func (r *Runner) Once(ctx context.Context) (n int, more bool) {
	reading, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	now := time.Now()
	rows, err := r.source.Read(reading, now)
	timedOut := errors.Is(reading.Err(), context.DeadlineExceeded)
	cancel()
	if timedOut && err != nil {
		err = fmt.Errorf("timed out after %v: %w", r.cfg.Timeout, err)
	}
	if ctx.Err() != nil {
		return 0, false // stopping: uncommitted rows are read again
	}
	r.metrics.reads.Inc()
	if err != nil {
		r.metrics.failures(timedOut).Inc()
	}
	took := r.take(ctx, now, &rows)
	if ctx.Err() == nil {
		if commit := r.source.Commit(); commit != nil {
			err = errors.Join(err, fmt.Errorf("save its position: %w", commit))
		}
	}
	r.note(now, &rows, took, err)
	return rows.Len(), rows.More && err == nil
}

// taken counts the implausible rows of a read, those that could be parsed and those that could not, those with a device and
// those without.
type taken struct{ lies, parsed, unparsed, matched, strangers int }

// take checks the rows and emits them, to each fabric its own.
func (r *Runner) take(ctx context.Context, now time.Time, rows *Rows) taken {
	r.metrics.read.Add(float64(rows.Len()))
	checked := check(rows, now, r.cfg.ClockTolerance)
	missing := nodes.Missing{}
	resolver := r.resolver.Load()
	for i, part := range resolve(resolver, checked, missing) {
		r.send(ctx, resolver.Fabrics()[i], part)
	}
	r.noteMissing(resolver, missing)
	if dropped := r.freshFaults(checked.Faults); dropped != "" {
		r.log.Warn("feeds: rows dropped", "rows", dropped)
	}
	if doubted := r.freshFaults(rows.Doubts); doubted != "" {
		r.log.Warn("feeds: rows used despite implausible times", "rows", doubted)
	}
	for reason, n := range checked.Dropped {
		r.metrics.dropped(reason).Add(float64(n))
	}
	strangers, unparsed := int(checked.Dropped[NoDevice]), 0
	for _, reason := range Unparsable() {
		unparsed += int(checked.Dropped[reason])
	}
	return taken{lies: int(checked.Dropped[Future]+checked.Dropped[Backwards]) + len(rows.Doubts),
		parsed: rows.Len() + rows.Listed, unparsed: unparsed, matched: len(checked.Jobs) + len(checked.Failures) - strangers, strangers: strangers}
}

// send emits rows, retrying until they are accepted. Rows that are permanently rejected are dropped.
func (r *Runner) send(ctx context.Context, fabric string, rows *Rows) {
	sendRows(ctx, r, fabric, rows.Jobs, r.emitter.EmitJobs)
	sendRows(ctx, r, fabric, rows.Failures, r.emitter.EmitFailures)
	sendRows(ctx, r, fabric, rows.Traffic, r.emitter.EmitTraffic)
}

// sendRows bisects permanently rejected rows to find the one that causes the rejection, so that the others are
// accepted.
func sendRows[T any](ctx context.Context, r *Runner, fabric string, rows []T, emit func(context.Context, string, []T) error) {
	if len(rows) == 0 {
		return
	}
	err := r.pause.Do(ctx, func() error {
		err := emit(ctx, fabric, rows)
		if _, final := errors.AsType[*FinalError](err); final {
			return retry.Permanent(err)
		}
		return err
	}, func(err error, failures int, _ time.Duration) {
		r.metrics.retries.Inc()
		r.setBehind()
		if failures == 1 {
			r.log.Warn("feeds: rows not accepted, retrying", "fabric", fabric, "rows", len(rows), "error", err)
		}
	})
	switch {
	case err == nil:
		r.metrics.rows.Add(float64(len(rows)))
		r.addRows(len(rows))
	case ctx.Err() != nil: // stopping: they are read again
	case len(rows) > 1:
		half := len(rows) / 2
		sendRows(ctx, r, fabric, rows[:half], emit)
		sendRows(ctx, r, fabric, rows[half:], emit)
	default:
		r.metrics.dropped(NotTaken).Inc()
		r.log.Error("feeds: row dropped, the emitter refused it", "fabric", fabric, "error", err)
	}
}

// setBehind records that rows are waiting to be emitted; note resets it after the read.
func (r *Runner) setBehind() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.health.State == OK || r.health.State == Waiting {
		r.health.State = Behind
		r.metrics.show(Behind)
	}
}

func (r *Runner) addRows(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health.Rows += uint64(n)
}

// maxLogged bounds the names, and the faults, that are remembered as logged.
const maxLogged = 10_000

func (r *Runner) noteMissing(resolver *nodes.Resolver, missing nodes.Missing) {
	for reason, names := range missing {
		var fresh []string
		for name, n := range names {
			r.stranger = name
			r.metrics.unknownNodes(string(reason)).Add(float64(n))
			if !r.unknown[name] && len(r.unknown) < maxLogged {
				r.unknown[name] = true
				fresh = append(fresh, name)
			}
		}
		if len(fresh) > 0 {
			r.log.Warn("feeds: nodes are not devices of the fabric, ignored; map them in node_map or import the topology again",
				"reason", reason, "nodes", len(fresh), "examples", fresh[:min(3, len(fresh))], "similar_device", resolver.Similar(fresh[0]))
		}
	}
}

// freshFaults returns the faults that have not been logged yet, so that rereading a file does not repeat them: at most
// MaxFaults per read, in one text because log records of one cause are limited.
func (r *Runner) freshFaults(faults []Fault) string {
	var fresh []string
	for _, f := range faults[:min(len(faults), MaxFaults)] {
		switch text := f.Where + ": " + f.Detail; {
		case f.Reason == Future || f.Reason == Backwards || f.Reason == Late:
			r.implausible = text
		case slices.Contains(Unparsable(), f.Reason):
			r.broken = text
		}
		if !r.faulty[f] && len(r.faulty) < maxLogged {
			r.faulty[f] = true
			fresh = append(fresh, fmt.Sprintf("%s: %s: %s", f.Where, f.Reason, f.Detail))
		}
	}
	return strings.Join(fresh, "; ")
}

// fullReads is how many full reads in a row count as a flood, for a source that does not know its backlog.
const fullReads = 5

// keptLoss is how long a feed is Incomplete after a lost row: long enough for people, and for alerts that wait for minutes.
const keptLoss = time.Hour

// Consecutive rows without a device that make a feed Unmatched, or that cannot be parsed and make it Unusable: fewer if it has
// emitted none yet, since jobs may run elsewhere, and users name jobs.
const manyStrangers, firstStrangers = 20, 3

// Unparsable lists the reasons of rows that could not be parsed.
func Unparsable() []string { return []string{Malformed, TooLong, NoTime} }
