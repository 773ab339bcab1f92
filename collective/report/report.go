// Package report builds the published form of a diagnosed collective: the job, its
// time, the diagnosis, a timeline of ranks by steps, and which flows lost how much time
// when. From a collective.Run and its Diagnosis it makes a Report that fits into one
// message; from a Report, a graph of the fabric and its regions of congestion it
// computes which regions the flows crossed and their cost. It sends and stores nothing.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/schema"
)

// Kind is the result kind of reports.
const Kind = "collective"

// Report is one diagnosed run of a job's collectives.
type Report struct {
	Job        string               `json:"job_id"`
	Format     string               `json:"format"`     // of the records
	Begin      schema.Instant       `json:"begin"`      // of the first step
	Iterations int                  `json:"iterations"` // collectives in the records
	Devices    [][]string           `json:"devices"`    // by rank: its host's devices in the fabric, in rail order
	Diagnosis  collective.Diagnosis `json:"diagnosis"`  // its critical path is limited to the timeline if the whole was too long
	Segments   int                  `json:"segments"`   // of the whole critical path
	Timeline   Timeline             `json:"timeline"`
	Ways       []Way                `json:"ways"`              // flows of the collective between hosts, largest loss first
	Losses     []Loss               `json:"losses"`            // what the culprits cost flows, by time
	Omitted    int                  `json:"omitted,omitempty"` // flows that did not fit; if they lost time, a note of the diagnosis says how much
}

// Way is a flow of the collective: all transfers from one rank to another. Times are
// nanoseconds from the report's begin.
type Way struct {
	From       int      `json:"from"` // ranks
	To         int      `json:"to"`
	BeginNanos int64    `json:"begin_ns"`
	EndNanos   int64    `json:"end_ns"`
	Via        []string `json:"via,omitempty"` // the nodes on its path, with both hosts, if recorded
}

// Loss is what a culprit cost one flow in a time range, which counts from the report's
// begin.
type Loss struct {
	Way        int   `json:"way"`     // index in Ways
	Culprit    int   `json:"culprit"` // index in the diagnosis' culprits
	BeginNanos int64 `json:"begin_ns"`
	EndNanos   int64 `json:"end_ns"`
	Nanos      int64 `json:"cost_ns"`
}

// Meta supplies what the records do not contain.
type Meta struct {
	Job     string
	Format  string
	Begin   schema.Instant // of the first step, UTC; 0: use the records' own clock
	Devices [][]string     // by rank; see Report
}

// Limits of a report, so that it fits into a message.
const (
	maxWays     = 384
	maxLosses   = 640
	maxSegments = 320
	maxRanks    = 4096
	maxTextLen  = 400
)

// New makes the report of a diagnosed run.
func New(run collective.Run, d collective.Diagnosis, m Meta) (Report, error) {
	if m.Job == "" {
		return Report{}, fmt.Errorf("collective report: no job")
	}
	if len(run.Ranks) > maxRanks {
		return Report{}, fmt.Errorf("collective report: %d ranks: at most %d fit", len(run.Ranks), maxRanks)
	}
	begin := cmp.Or(m.Begin, schema.Instant(d.FirstNanos))
	r := Report{Job: m.Job, Format: m.Format, Begin: begin, Iterations: max(d.Iterations, 1), Devices: m.Devices, Segments: len(d.CriticalPath), Diagnosis: shortened(d)}
	r.Timeline = newTimeline(run, d)
	if len(d.CriticalPath) > maxSegments {
		r.Diagnosis.CriticalPath = r.Timeline.path(d.CriticalPath)
	}
	r.flows(run, d)
	return r, nil
}

// shortened truncates the texts and lists of a diagnosis.
func shortened(d collective.Diagnosis) collective.Diagnosis {
	cut := func(text string) string {
		if len(text) > maxTextLen {
			text = strings.ToValidUTF8(text[:maxTextLen], "") + "..."
		}
		return text
	}
	d.Culprits = append([]collective.Culprit{}, d.Culprits...)
	for i := range d.Culprits {
		c := &d.Culprits[i]
		c.Flow, c.Object, c.Evidence = cut(c.Flow), cut(c.Object), cut(c.Evidence)
	}
	const lines = 32 // of detail: a report is one Kafka message and one row of the store
	short := func(list []string) (out []string) {
		for _, text := range list[:min(len(list), lines)] {
			out = append(out, cut(text))
		}
		return out
	}
	d.Notes, d.Disagreement = short(d.Notes), short(d.Disagreement)
	if d.ClockOffsets = d.ClockOffsets[:min(len(d.ClockOffsets), 256)]; len(d.Text) > 8*maxTextLen {
		d.Text = strings.ToValidUTF8(d.Text[:8*maxTextLen], "") + "..."
	}
	return d
}

// prefix begins the ids of reports, which do not answer a command.
const prefix = Kind + "."

// ID is derived from the job and its begin, so that publishing a run again replaces the
// earlier report.
func (r *Report) ID() string {
	clean := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '_'
	}, r.Job)
	const longest = 28 // so that the ID has at most 64 bytes, as those of commands
	return prefix + clean[:min(len(clean), longest)] + "." + r.Begin.Time().UTC().Format("20060102T150405.000")
}

// End is when the last step ended.
func (r *Report) End() schema.Instant { return r.Begin + schema.Instant(r.Diagnosis.MakespanNanos) }

// Published is a report received over the bus.
type Published struct {
	RunID string
	Agent string         // who published it
	Time  schema.Instant // when
	Report
}

// Reports extracts the reports among results, ignoring those with an invalid id or
// content.
func Reports(results []schema.CommandResult) (out []Published) {
	for i := range results {
		c := &results[i]
		if c.Kind != Kind || c.Status != schema.CommandDone || !strings.HasPrefix(c.CommandID, prefix) {
			continue
		}
		p := Published{RunID: c.CommandID, Agent: c.Agent, Time: c.Time}
		if json.Unmarshal(c.Output, &p.Report) != nil || p.Report.check() != nil {
			continue
		}
		out = append(out, p)
	}
	return out
}

// check validates that the parts of a report are consistent: others can write to the
// bus too.
func (r *Report) check() error {
	ranks := len(r.Devices)
	if r.Job == "" || r.Iterations < 1 || r.Begin <= 0 || r.Diagnosis.MakespanNanos < 0 || ranks > maxRanks {
		return fmt.Errorf("collective report: job %q, %d iterations, begin %d, %d ranks", r.Job, r.Iterations, r.Begin, ranks)
	}
	for i, w := range r.Ways {
		if min(w.From, w.To) < 0 || max(w.From, w.To) >= ranks {
			return fmt.Errorf("collective report: path %d from rank %d to %d of %d", i, w.From, w.To, ranks)
		}
	}
	for i, l := range r.Losses {
		if l.Way < 0 || l.Way >= len(r.Ways) || l.Culprit < 0 || l.Culprit >= len(r.Diagnosis.Culprits) || l.Nanos < 0 {
			return fmt.Errorf("collective report: loss %d of path %d by culprit %d", i, l.Way, l.Culprit)
		}
	}
	return nil
}
