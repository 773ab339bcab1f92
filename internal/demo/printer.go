package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/giverny/giverny/schema"
)

// Signs explains the mark at the start of each line.
const Signs = "~ story   + new region   > severity changed   - region ended   ! network state   ? cause and action"

// Printer prints the story and the regions as they are found, and a summary.
type Printer struct {
	mu        sync.Mutex // guards the fields below
	out       io.Writer
	start     time.Time
	sums      summary
	seconds   []float64 // latency from counter to store, by interval
	regions   map[uint64]*verdict
	announced map[uint64]bool   // regions whose beginning has been printed but not their end
	names     map[string]string // of jobs, by ID
}

// summary is the JSON of End.
type summary struct {
	Intervals int               `json:"intervals"`
	Links     int               `json:"links"`
	Samples   int               `json:"samples"`
	Regions   map[string]int    `json:"regions"`
	Dropped   map[string]uint64 `json:"dropped"`
	Latency   struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	} `json:"latency_seconds"`
}

// NewPrinter returns a printer for a fabric with a number of links.
func NewPrinter(out io.Writer, links int) *Printer {
	return &Printer{out: out, regions: map[uint64]*verdict{}, announced: map[uint64]bool{}, names: map[string]string{}, sums: summary{Links: links,
		Regions: map[string]int{"Low": 0, "Medium": 0, "High": 0}, Dropped: map[string]uint64{}}}
}

func (p *Printer) begin(start time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start = start
}

func (p *Printer) repeats() {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.out, "\nThe story begins again; Ctrl-C ends it.\n\n")
}

func (p *Printer) line(nanos int64, mark, format string, args ...any) {
	at := time.Duration(nanos - p.start.UnixNano()).Round(time.Second)
	fmt.Fprintf(p.out, "%02d:%02d %s %s\n", int(at.Minutes()), int(at.Seconds())%60, mark, schema.OneLine(fmt.Sprintf(format, args...)))
}

func (p *Printer) happened(events []schema.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		if e.Kind == schema.Story {
			p.line(e.TimeNanos, "~", "%s", e.Detail)
		}
	}
}

// markOf is the mark of an event of a region or the network; empty for events that the
// story itself prints.
func markOf(kind schema.EventKind) string {
	switch kind {
	case schema.RegionBorn, schema.RegionSplit:
		return "+"
	case schema.RegionEnded, schema.RegionMerged:
		return "-"
	case schema.RegionSeverity:
		return ">"
	case schema.CongestionBegan, schema.CongestionEnded:
		return "!"
	}
	return ""
}

// Name of the sink.
func (p *Printer) Name() string { return "demo" }

// Put prints the events of an interval's regions.
func (p *Printer) Put(_ context.Context, r *schema.IntervalResult) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := r.Snapshot
	if s.LastReadNanos > 0 {
		p.seconds = append(p.seconds, time.Since(time.Unix(0, s.LastReadNanos)).Seconds())
	}
	p.sums.Intervals++
	p.sums.Samples += s.Samples
	for reason, n := range r.Dropped {
		p.sums.Dropped[reason] += n
	}
	for i := range r.Regions {
		p.sums.Regions[r.Regions[i].Severity.String()]++
	}
	for _, e := range r.Events {
		switch mark := markOf(e.Kind); {
		case mark != "" && e.RegionID != 0:
			p.line(s.Interval.EndNanos(), mark, "%s [%d]", e.Detail, e.RegionID)
		case mark != "":
			p.line(s.Interval.EndNanos(), mark, "%s", e.Detail)
		}
	}
	p.verdicts(r)
	return nil
}

// End prints the summary.
func (p *Printer) End(w io.Writer, asJSON bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.Sort(p.seconds)
	if n := len(p.seconds); n > 0 {
		p.sums.Latency.P50, p.sums.Latency.P99 = p.seconds[n/2], p.seconds[min(n-1, n*99/100)]
	}
	if asJSON {
		return json.NewEncoder(w).Encode(p.sums)
	}
	s := p.sums
	_, err := fmt.Fprintf(w, "\n%d intervals of %d links analysed, %d counter readings; regions, counted once per interval: %d Low, %d Medium, %d High; counter to store %.2f s (p99 %.2f s)\n",
		s.Intervals, s.Links, s.Samples, s.Regions["Low"], s.Regions["Medium"], s.Regions["High"], s.Latency.P50, s.Latency.P99)
	return err
}
