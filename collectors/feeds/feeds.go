// Package feeds runs sources of jobs, failures and job traffic. Input: the rows that a source reads. Output: rows
// with the device names of a fabric, to an emitter. It limits the rate, rejects implausible rows, counts drops, and
// tracks the state of each feed. Schedulers and log formats are handled by the packages jobs, failures and traffic.
package feeds

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// Rows are the result of one read of a source. Nodes of jobs and devices of failures have the source's names, and
// fabrics are empty.
type Rows struct {
	Jobs     []schema.Job
	Failures []schema.Failure
	Traffic  []schema.JobTraffic
	Drops            // rows the source could not use
	Doubts   []Fault // rows among these with implausible times, up to MaxFaults
	Listed   int     // usable rows of a list of which these are the changed ones
	Held     bool    // the next read covers the time of this one again, because most of it could not be parsed
	More     bool    // more can be read immediately
	Backlog  int     // how many more rows, if known
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Jobs) + len(r.Failures) + len(r.Traffic) }

// Drops are rows that are not used.
type Drops struct {
	Dropped map[string]uint64 // by reason (Reasons)
	Faults  []Fault           // the first of them, up to MaxFaults
	Counted *Counted          // rows that Refuse does not count again; nil: none
}

// Drop counts rows that are not used.
func (d *Drops) Drop(reason string, n uint64) {
	if n == 0 {
		return
	}
	if d.Dropped == nil {
		d.Dropped = map[string]uint64{}
	}
	d.Dropped[reason] += n
}

// maxDetail bounds the description of a dropped row, in bytes.
const maxDetail = 300

// Refuse counts a row that is not used, and records its location and what is wrong with it.
func (d *Drops) Refuse(reason, where, detail string) {
	fault := NewFault(where, reason, detail)
	if d.Counted != nil && d.Counted.again(fault) {
		return
	}
	d.Drop(reason, 1)
	if len(d.Faults) < MaxFaults {
		d.Faults = append(d.Faults, fault)
	}
}

// Counted is the rows of a file that were refused when it was read before, so that they count once however often it is read.
type Counted struct {
	seed maphash.Seed
	seen map[uint64]bool
}

// maxCounted bounds the rows of a file that are remembered as counted.
const maxCounted = 100_000

// NewCounted returns an empty set.
func NewCounted() *Counted { return &Counted{maphash.MakeSeed(), map[uint64]bool{}} }

// again adds a row, and reports whether it was there.
func (c *Counted) again(fault Fault) bool {
	sum := maphash.Comparable(c.seed, fault)
	if c.seen[sum] {
		return true
	}
	if len(c.seen) >= maxCounted {
		clear(c.seen)
	}
	c.seen[sum] = true
	return false
}

// Add adds others, without the descriptions beyond MaxFaults.
func (d *Drops) Add(others Drops) {
	for reason, n := range others.Dropped {
		d.Drop(reason, n)
	}
	d.Faults = append(d.Faults, others.Faults[:min(len(others.Faults), MaxFaults-len(d.Faults))]...)
}

// NewFault returns a fault with its texts on one line and of bounded length.
func NewFault(where, reason, detail string) Fault {
	return Fault{Where: Clean(where, maxDetail), Reason: reason, Detail: Clean(detail, maxDetail)}
}

// Fault describes a dropped row for the operator who has to fix the cause.
type Fault struct {
	Where  string // file and line, or what row it is
	Reason string // of Reasons
	Detail string // what is wrong with it
}

// Ahead describes a time too far in the future. The text is the same at each read, so that it is logged once.
func Ahead(at schema.Instant, tolerance time.Duration) string {
	return fmt.Sprintf("its time %v is ahead of this host's clock by more than clock_tolerance (%v)", at, tolerance)
}

// MaxFaults bounds the faults that a source reports per read; all are counted.
const MaxFaults = 20

// Source is the origin of a feed. Its methods are not called concurrently.
type Source interface {
	// Read returns new rows, at most MaxRows. now is the time of the read. It may return an error along with the
	// rows before the fault.
	Read(ctx context.Context, now time.Time) (Rows, error)
	// Commit is called once all returned rows have been emitted, so that the source can save its position.
	Commit() error
}

// MaxRows is the maximum number of rows a source returns per read.
const MaxRows = 1000

// Env is the environment in which a source is opened.
type Env struct {
	Host     string        // the name of this host
	Interval time.Duration // interval of the fabric
	Store    *Store        // persistent state of the source
	// ClockTolerance is the feed's.
	ClockTolerance time.Duration
	Log            *slog.Logger
}

// SourceConfig is the configuration of a kind of source.
type SourceConfig interface {
	// Validate joins all errors; each begins with its key.
	Validate() error
	// Open creates the source. It reads only files named in the configuration.
	Open(env Env) (Source, error)
}

// Kind describes a kind of source, independent of its configuration.
type Kind struct {
	Name        string
	Description string
	// Interval is the default read interval.
	Interval time.Duration
	// NewConfig returns its configuration with defaults: a pointer to a struct.
	NewConfig func() SourceConfig
}

// Config is how a feed is run.
type Config struct {
	// How often to read.
	Interval time.Duration `yaml:"interval"`
	// Time limit of one read.
	Timeout time.Duration `yaml:"timeout"`
	// The fabrics to whose devices its nodes are mapped; empty: collect.fabric.
	Fabrics []string `yaml:"fabrics,flow"`
	// A file of lines "node<TAB>device" for nodes whose names differ from those of their devices in the topology.
	NodeMap string `yaml:"node_map"`
	// How far a time may be ahead of this host's clock.
	ClockTolerance time.Duration `yaml:"clock_tolerance"`
	// After this many consecutive failed reads the feed counts as stopped.
	StoppedAfter int `yaml:"stopped_after"`
	// Maximum number of rows per minute; a feed with more is throttled to it.
	FloodPerMinute int `yaml:"flood_per_minute"`
}

// DefaultConfig is for a feed read at the given interval.
func DefaultConfig(interval time.Duration) Config {
	return Config{Interval: interval, Timeout: 30 * time.Second, ClockTolerance: 5 * time.Minute, StoppedAfter: 3, FloodPerMinute: 5000}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Interval >= 100*time.Millisecond, "interval", "%v: want 100ms or more", c.Interval)
	f.Check(c.Timeout > 0, "timeout", "%v: want more than 0", c.Timeout)
	f.Check(c.ClockTolerance >= 0, "clock_tolerance", "%v: want 0 or more", c.ClockTolerance)
	f.Check(c.StoppedAfter >= 1, "stopped_after", "%d: want 1 or more", c.StoppedAfter)
	f.Check(c.FloodPerMinute >= 60, "flood_per_minute", "%d: want 60 or more", c.FloodPerMinute)
	return f.Err()
}

// State is the health of a feed.
type State string

// States. A feed has the first of these that applies.
const (
	Stopped     State = "stopped"     // several reads in a row failed
	Implausible State = "implausible" // impossible rows in the last minute: in the future, or ended before they began
	Unusable    State = "unusable"    // none of the recent rows could be parsed
	Unmatched   State = "unmatched"   // none of the recent rows has a device of the feed's fabrics
	Incomplete  State = "incomplete"  // some rows of the last hour could not be parsed
	Flood       State = "flood"       // rows arrive faster than they are passed on
	Behind      State = "behind"      // rows cannot be emitted
	Waiting     State = "waiting"     // nothing has been read yet
	OK          State = "ok"
)

// States lists all states, for metrics.
func States() []State {
	return []State{Stopped, Implausible, Unusable, Unmatched, Incomplete, Flood, Behind, Waiting, OK}
}

// Drop reasons.
const (
	Malformed   = "malformed"        // cannot be parsed
	TooLong     = "too_long"         // a line, node list or file above its limit
	Future      = "future"           // further ahead than clock_tolerance
	Backwards   = "end_before_start" // ends before it starts
	NoDevice    = "no_device"        // none of its nodes is a device of the feed's fabrics
	NoPort      = "no_port"          // its port is none of its node's, or may be of several adapters
	TooMany     = "too_many"         // more than the limit
	NotAJob     = "not_a_job"        // counters that belong to no job
	Unsendable  = "unsendable"       // a name that is empty, too long or has control characters
	NotTaken    = "not_taken"        // permanently rejected by the emitter
	UnknownKind = "unknown_kind"     // a failure of an unknown kind
	NoTime      = "no_time"          // no readable time
	UnknownForm = "unknown_form"     // a log line in no known format
	NotAFailure = "not_a_failure"    // a log line about something else, as most are
	Rotated     = "rotated"          // a log that was rotated away before its end was read: counts logs, as their lines are unknown
)

// Late is the reason of a doubt: a job that began before an earlier list, which did not contain it.
const Late = "late"

// Reasons lists the drop reasons.
func Reasons() []string {
	return []string{Malformed, TooLong, Future, Backwards, NoDevice, NoPort, TooMany, NotAJob, Unsendable, NotTaken, UnknownKind, NoTime, UnknownForm, NotAFailure, Rotated}
}
