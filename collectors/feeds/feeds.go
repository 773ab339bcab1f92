// Package feeds runs sources of jobs, failures and the traffic of jobs: what a source reads goes in, rows under the
// names of a fabric's devices come out, to an emitter. It holds back floods, refuses what cannot be true, counts
// what it drops, and says of every feed in what state it is. It knows no scheduler and no log; those are the
// packages jobs, failures and traffic.
package feeds

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// Rows are what one read of a source gave. Nodes of jobs and devices of failures are as the source names them, and
// fabrics are empty.
type Rows struct {
	Jobs     []schema.Job
	Failures []schema.Failure
	Traffic  []schema.JobTraffic
	Dropped  map[string]uint64 // what the source could not use, by reason (Reasons)
	Faults   []Fault           // the first of what is in Dropped, up to MaxFaults
	Doubts   []Fault           // rows among these whose times cannot be right, up to MaxFaults
	More     bool              // there is more to read at once
	Backlog  int               // how many rows more, as far as that is known
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Jobs) + len(r.Failures) + len(r.Traffic) }

// Drop counts something that is not used.
func (r *Rows) Drop(reason string, n uint64) {
	if n == 0 {
		return
	}
	if r.Dropped == nil {
		r.Dropped = map[string]uint64{}
	}
	r.Dropped[reason] += n
}

// maxDetail bounds what is said of a row that was dropped, in bytes.
const maxDetail = 300

// Refuse counts a row that is not used, and says where it is and what is wrong with it.
func (r *Rows) Refuse(reason, where, detail string) {
	r.Drop(reason, 1)
	if len(r.Faults) < MaxFaults {
		r.Faults = append(r.Faults, NewFault(where, reason, detail))
	}
}

// NewFault makes a fault, on one line and of bounded length.
func NewFault(where, reason, detail string) Fault {
	return Fault{Where: Clean(where, maxDetail), Reason: reason, Detail: Clean(detail, maxDetail)}
}

// Fault is a row that was dropped: what an operator must know to mend it.
type Fault struct {
	Where  string // file and line, or what row it is
	Reason string // of Reasons
	Detail string // what is wrong with it
}

// Ahead says of a time that it is too far in the future. The text is the same at each read, so that the log has it once.
func Ahead(at schema.Instant, tolerance time.Duration) string {
	return fmt.Sprintf("its time %v is ahead of this host's clock by more than clock_tolerance (%v)", at, tolerance)
}

// MaxFaults is how many faults a source reports at most in one read; all are counted.
const MaxFaults = 20

// Source is where a feed comes from. Its methods are called one at a time.
type Source interface {
	// Read returns what is new. now is the time of the read. It gives a bounded number of rows and says if there
	// are more. An error may come with rows: those that stand before the fault.
	Read(ctx context.Context, now time.Time) (Rows, error)
	// Commit says that all rows that were returned are handed on, so that the source can note how far it is.
	Commit() error
}

// MaxRows is how many rows a source returns at most in one read.
const MaxRows = 1000

// Env is what a source is opened with.
type Env struct {
	Host     string        // the name of this host
	Interval time.Duration // of the fabric's intervals
	Store    *Store        // keeps what the source must know after a restart
	// ClockTolerance is that of the feed.
	ClockTolerance time.Duration
	Log            *slog.Logger
}

// SourceConfig is the configuration of one kind of source.
type SourceConfig interface {
	// Validate joins all faults; each begins with its key.
	Validate() error
	// Open makes the source. It reads nothing but what its configuration names.
	Open(env Env) (Source, error)
}

// Kind is a kind of source: what is known of it before it is configured.
type Kind struct {
	Name        string
	Description string
	// Interval is how often it is read, unless its section says otherwise.
	Interval time.Duration
	// NewConfig makes its configuration with its defaults: a pointer to a struct.
	NewConfig func() SourceConfig
}

// Config is how one feed is run.
type Config struct {
	// How often to read.
	Interval time.Duration `yaml:"interval"`
	// The longest time for one read.
	Timeout time.Duration `yaml:"timeout"`
	// The fabrics in which its nodes are searched for; empty: collect.fabric.
	Fabrics []string `yaml:"fabrics,flow"`
	// A file of lines "node<TAB>device" for nodes whose names differ from those of their devices in the topology.
	NodeMap string `yaml:"node_map"`
	// How far ahead of this host's clock a time may be.
	ClockTolerance time.Duration `yaml:"clock_tolerance"`
	// After this many failed reads in a row the feed counts as stopped.
	StoppedAfter int `yaml:"stopped_after"`
	// Maximum number of rows in a minute; a feed with more is slowed down to it.
	FloodPerMinute int `yaml:"flood_per_minute"`
}

// DefaultConfig is for a feed that is read every so often.
func DefaultConfig(interval time.Duration) Config {
	return Config{Interval: interval, Timeout: 30 * time.Second, ClockTolerance: 5 * time.Minute, StoppedAfter: 3, FloodPerMinute: 5000}
}

// Validate joins all faults.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Interval >= 100*time.Millisecond, "interval", "%v: want 100ms or more", c.Interval)
	f.Check(c.Timeout > 0, "timeout", "%v: want more than 0", c.Timeout)
	f.Check(c.ClockTolerance >= 0, "clock_tolerance", "%v: want 0 or more", c.ClockTolerance)
	f.Check(c.StoppedAfter >= 1, "stopped_after", "%d: want 1 or more", c.StoppedAfter)
	f.Check(c.FloodPerMinute >= 60, "flood_per_minute", "%d: want 60 or more", c.FloodPerMinute)
	return f.Err()
}

// State is how a feed does.
type State string

// States. A feed has one, the first of these that holds.
const (
	Stopped     State = "stopped"     // several reads in a row have failed
	Implausible State = "implausible" // rows of the last minute cannot be true: in the future, or ended before they began
	Unmatched   State = "unmatched"   // no row of late has a device of the feed's fabrics
	Flood       State = "flood"       // more rows come than are passed on
	Behind      State = "behind"      // what was read cannot be handed on
	Waiting     State = "waiting"     // nothing was read yet
	OK          State = "ok"
)

// States lists them.
func States() []State { return []State{Stopped, Implausible, Unmatched, Flood, Behind, Waiting, OK} }

// Reasons for which rows are dropped.
const (
	Malformed   = "malformed"        // cannot be parsed
	TooLong     = "too_long"         // a line, a list of nodes or a file above its bound
	Future      = "future"           // further ahead than clock_tolerance
	Backwards   = "end_before_start" // ends before it starts
	NoDevice    = "no_device"        // none of its nodes is a device of the feed's fabrics
	NoPort      = "no_port"          // its port is none of its node's, or may be of several adapters
	TooMany     = "too_many"         // more than is kept
	NotAJob     = "not_a_job"        // counters of something else than a job
	Unsendable  = "unsendable"       // a name that is empty, too long or has control characters
	NotTaken    = "not_taken"        // the emitter refused it for good
	UnknownKind = "unknown_kind"     // a failure of a kind that there is none of
	NoTime      = "no_time"          // no time, or none that can be read
	UnknownForm = "unknown_form"     // a line of a log of no form that is known
	NotAFailure = "not_a_failure"    // a line of a log that speaks of something else, as most do
)

// Late is the reason of a doubt: a job that began before a list that did not have it.
const Late = "late"

// Reasons lists those for which rows are dropped.
func Reasons() []string {
	return []string{Malformed, TooLong, Future, Backwards, NoDevice, NoPort, TooMany, NotAJob, Unsendable, NotTaken, UnknownKind, NoTime, UnknownForm, NotAFailure}
}
