package traffic

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// JobBytes is what one Lustre target has counted for one job since it first saw it or its counters were cleared.
type JobBytes struct {
	Target, Job string
	Start       string // of the counters, as printed: a change means a reset; empty in old versions
	Read, Write uint64 // bytes
}

// Lines of job_stats: YAML in a fixed layout, to which only fields are added.
var (
	lustreTarget = regexp.MustCompile(`^(?:\S+:\s+)?((?:obdfilter|mdt)\.[^=\s]+)\.job_stats=`)
	lustreJob    = regexp.MustCompile(`^(?:\S+:\s+)?- job_id:\s*"?([^"]*?)"?\s*$`)
	lustreStart  = regexp.MustCompile(`^(?:\S+:\s+)?start_time:\s*(\S+)`)
	lustreBytes  = regexp.MustCompile(`^(?:\S+:\s+)?(read_bytes|write_bytes):\s*\{(.*)\}`)
	lustreSum    = regexp.MustCompile(`\bsum:\s*([0-9]+)`)
)

// maxLineBytes bounds a line.
const maxLineBytes = 64 << 10

// ReadLustre parses the output of `lctl get_param obdfilter.*.job_stats mdt.*.job_stats` of one server or, with each
// line prefixed by a host (clush, pdsh), of several. name is its name in errors.
func ReadLustre(r io.Reader, name string) (stats []JobBytes, dropped uint64, err error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLineBytes)
	target, open, number := "", false, 0
	for scan.Scan() {
		number++
		line := strings.TrimSpace(scan.Text())
		if m := lustreTarget.FindStringSubmatch(line); m != nil {
			target, open = m[1], false
			continue
		}
		if m := lustreJob.FindStringSubmatch(line); m != nil {
			open = m[1] != ""
			if open {
				stats = append(stats, JobBytes{Target: target, Job: strings.ToValidUTF8(m[1], "\uFFFD")})
			}
			continue
		}
		if !open {
			continue
		}
		now := &stats[len(stats)-1]
		if m := lustreStart.FindStringSubmatch(line); m != nil {
			now.Start = m[1]
			continue
		}
		m := lustreBytes.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		sum := lustreSum.FindStringSubmatch(m[2])
		if sum == nil {
			continue // Lustre omits the sum if there are no samples
		}
		n, err := strconv.ParseUint(sum[1], 10, 64)
		if err != nil {
			dropped++
			continue
		}
		if m[1] == "read_bytes" {
			now.Read = n
		} else {
			now.Write = n
		}
	}
	if err := scan.Err(); err != nil {
		return stats, dropped, fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	return stats, dropped, nil
}

// LustreConfig is how to query Lustre's servers.
type LustreConfig struct {
	// The argument vector that prints job_stats of all servers; no shell. Only one agent may do this: two agents' sums for a job would overwrite each other.
	Command []string `yaml:"command,flow"`
	// A regular expression for Lustre's job ids (jobid_var): its first group is the job; ids that do not match are ignored.
	JobPattern string `yaml:"job_pattern"`
}

// LustreKind is the entry in the registry.
func LustreKind() feeds.Kind {
	return feeds.Kind{Name: "lustre", Description: "Bytes read and written by jobs, from job_stats of Lustre's servers.", Interval: 60 * time.Second, NewConfig: func() feeds.SourceConfig {
		return &LustreConfig{Command: []string{"lctl", "get_param", "obdfilter.*.job_stats", "mdt.*.job_stats"}, JobPattern: `^(\d+)$`}
	}}
}

// Validate joins all errors.
func (c *LustreConfig) Validate() error {
	var f faults.List
	f.Check(len(c.Command) > 0 && c.Command[0] != "", "command", "empty; want a program and its arguments")
	pattern, err := regexp.Compile(c.JobPattern)
	f.Check(err == nil && pattern.NumSubexp() >= 1, "job_pattern", "%q: want a regular expression with a group, such as ^(\\d+)$", c.JobPattern)
	return f.Err()
}

// Open creates the source. Nothing is run yet.
func (c *LustreConfig) Open(env feeds.Env) (feeds.Source, error) {
	if env.Interval <= 0 {
		return nil, errors.New("lustre: no interval of the fabric")
	}
	pattern, err := regexp.Compile(c.JobPattern)
	if err != nil {
		return nil, err
	}
	return &lustre{command: c.Command, meter: NewMeter(pattern, env.Interval)}, nil
}

// lustre queries the counters and converts their increases to traffic.
type lustre struct {
	command []string
	meter   *Meter
	pending []schema.JobTraffic
}

// Read returns the remaining rows, or queries again.
func (l *lustre) Read(ctx context.Context, now time.Time) (rows feeds.Rows, err error) {
	if len(l.pending) == 0 {
		var stats []JobBytes
		err = feeds.Run(ctx, l.command, nil, func(out io.Reader) (err error) {
			var dropped uint64
			stats, dropped, err = ReadLustre(out, l.command[0])
			rows.Drop(feeds.Malformed, dropped)
			return err
		})
		if err != nil {
			return rows, err
		}
		var noJob uint64
		l.pending, noJob = l.meter.Step(stats, now)
		rows.Drop(feeds.NotAJob, noJob)
	}
	n := min(len(l.pending), feeds.MaxRows)
	rows.Traffic, l.pending = l.pending[:n:n], l.pending[n:]
	rows.More, rows.Backlog = len(l.pending) > 0, len(l.pending)
	return rows, nil
}

// Commit saves nothing: bytes counted while the agent is down belong to no interval.
func (l *lustre) Commit() error { return nil }

// Meter converts cumulative counters to bytes per interval.
type Meter struct {
	pattern  *regexp.Regexp
	interval time.Duration
	targets  map[string]*answer
	at       time.Time              // time of the previous answer; zero before the first
	open     map[string]*[2]float64 // read and write bytes of the current interval, by job
}

// answer is the last answer of a target: a server that is down is missing from later ones.
type answer struct {
	at   time.Time
	last map[string]JobBytes // by job
}

// NewMeter returns a meter for intervals of a length.
func NewMeter(pattern *regexp.Regexp, interval time.Duration) *Meter {
	return &Meter{pattern: pattern, interval: interval, targets: map[string]*answer{}, open: map[string]*[2]float64{}}
}

// maxGapIntervals is the longest gap, in intervals, after which the increase of a target's counters is still used.
const maxGapIntervals = 10

// isGap reports whether there was no earlier answer or it is too long ago.
func (m *Meter) isGap(since, now time.Time) bool {
	return since.IsZero() || now.Sub(since) > maxGapIntervals*m.interval || !now.After(since)
}

// Step processes the counters at the instant now, and returns the traffic of completed intervals. Bytes between two
// answers are distributed evenly over the time between them, including those a target counted while it did not answer,
// unless the gap exceeds ten intervals. A counter that decreased or was reset counts from zero, and so does a job that
// is new on a target. The initial counts of a new target are ignored, unless they started after the previous answer.
func (m *Meter) Step(stats []JobBytes, now time.Time) (traffic []schema.JobTraffic, noJob uint64) {
	first := m.isGap(m.at, now)
	moved := map[string]*[2]float64{}
	answered := map[string]*answer{}
	for _, s := range stats {
		match := m.pattern.FindStringSubmatch(s.Job)
		if match == nil || match[1] == "" {
			noJob++
			continue
		}
		if answered[s.Target] == nil {
			answered[s.Target] = &answer{now, map[string]JobBytes{}}
		}
		answered[s.Target].last[s.Job] = s
		before, known := m.before(&s, now)
		if first || !known {
			continue
		}
		if moved[match[1]] == nil {
			moved[match[1]] = &[2]float64{}
		}
		moved[match[1]][0] += float64(s.Read - before.Read)
		moved[match[1]][1] += float64(s.Write - before.Write)
	}
	if first {
		m.open = map[string]*[2]float64{}
	} else {
		traffic = m.spread(moved, now)
	}
	maps.Copy(m.targets, answered)
	maps.DeleteFunc(m.targets, func(_ string, t *answer) bool { return now.Sub(t.at) > maxGapIntervals*m.interval })
	m.at = now
	return traffic, noJob
}

// before is the previous value of a counter; known is false if it cannot be determined.
func (m *Meter) before(s *JobBytes, now time.Time) (before JobBytes, known bool) {
	t := m.targets[s.Target]
	if t == nil || m.isGap(t.at, now) {
		seconds, err := strconv.ParseFloat(s.Start, 64)
		return JobBytes{}, err == nil && seconds >= float64(m.at.Unix())
	}
	before = t.last[s.Job] // zero for a new job
	if s.Start != before.Start || s.Read < before.Read || s.Write < before.Write {
		before = JobBytes{}
	}
	return before, true
}

// spread distributes the bytes over the intervals between the two answers.
func (m *Meter) spread(moved map[string]*[2]float64, now time.Time) (traffic []schema.JobTraffic) {
	total := float64(now.Sub(m.at))
	for from := m.at; from.Before(now); {
		begin := schema.Instant(schema.IntervalAt(from.UnixNano(), int64(m.interval)).StartNanos).Time() // Truncate counts from the year 1
		until := begin.Add(m.interval)
		over := !until.After(now)
		if !over {
			until = now
		}
		share := float64(until.Sub(from)) / total
		for job, bytes := range moved {
			if m.open[job] == nil {
				m.open[job] = &[2]float64{}
			}
			m.open[job][0] += share * bytes[0]
			m.open[job][1] += share * bytes[1]
		}
		if over {
			for job, bytes := range m.open {
				traffic = append(traffic, schema.JobTraffic{JobID: job, Time: schema.InstantOf(begin), Read: &bytes[0], Write: &bytes[1]})
			}
			m.open = map[string]*[2]float64{}
		}
		from = until
	}
	slices.SortFunc(traffic, func(a, b schema.JobTraffic) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), strings.Compare(a.JobID, b.JobID))
	})
	return traffic
}
