package offline

import (
	"fmt"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkscsv"
	"github.com/giverny/giverny/topology"
)

// Config says how files are read and analysed.
type Config struct {
	Interval time.Duration // between the times in the table of links
	Analysis analysis.Config
	// SkipUnknown leaves out nodes, devices and ports that the topology does not have, with a note.
	SkipUnknown bool
	// Zone is that of times without one in the tables of jobs and failures; nil: they are refused.
	Zone *time.Location
}

// Files are the input tables. Links is required, the others may be nil.
type Files struct {
	Links, Jobs, Traffic, Failures, NodeMap *File
	// JobRows and FailureRows are the jobs and failures if another parser has read them.
	JobRows     *Rows[schema.Job]
	FailureRows *Rows[schema.Failure]
}

// maxNotes limits the notes of each kind.
const maxNotes = 5

// reading is the state of one run.
type reading struct {
	cfg      Config
	graph    *topology.Graph
	resolver *nodes.Resolver
	jobs     jobTable
	traffic  trafficTable
	failures failureTable
	notes    map[string]int // count by kind
	report   func(line string)
}

// note reports an input fault, the first maxNotes times of each kind.
func (r *reading) note(kind, format string, args ...any) {
	r.notes[kind]++
	switch n := r.notes[kind]; {
	case n <= maxNotes:
		r.report(fmt.Errorf(format, args...).Error())
	case n == maxNotes+1:
		r.report("more " + kind + " are not listed")
	}
}

// Run analyses the files of a fabric and calls yield with the result of each interval; an error of yield ends it.
// report gets a line for each input fault that the run continues after.
func Run(g *topology.Graph, cfg Config, files Files, report func(line string),
	yield func(*schema.IntervalResult) error) error {
	cfg.Analysis.Window.Interval = cfg.Interval
	if err := cfg.Analysis.Validate(); err != nil {
		return err
	}
	core, err := analysis.New(g, cfg.Analysis)
	if err != nil {
		return err
	}
	r := &reading{cfg: cfg, graph: g, jobs: jobTable{at: map[jobKey]int{}, ids: map[string]bool{}}, notes: map[string]int{}, report: report}
	if err := r.readTables(files); err != nil {
		return err
	}
	first, before := int64(0), int64(0)
	for snap, err := range linkscsv.Intervals(files.Links.Name, files.Links.Reader, g, report) {
		if err != nil {
			return err
		}
		snap.Interval.DurationNanos = int64(cfg.Interval)
		if err := r.follows(files.Links.Name, snap.Interval, before); err != nil {
			return err
		}
		if before = snap.Interval.StartNanos; first == 0 {
			first = before
		}
		r.feed(core, schema.Instant(snap.Interval.EndNanos()))
		result, err := core.Analyse(snap)
		if err != nil {
			return fmt.Errorf("%s: %w", files.Links.Name, err)
		}
		if err := yield(result); err != nil {
			return err
		}
	}
	if before == 0 {
		return fmt.Errorf("%s: links table has no rows", files.Links.Name)
	}
	r.times(files, schema.Instant(first), schema.Instant(before+int64(cfg.Interval)))
	return nil
}

// readTables reads every table but the links.
func (r *reading) readTables(files Files) error {
	var nodeMap nodes.Map
	if files.NodeMap != nil {
		var err error
		if nodeMap, err = readNodeMap(files.NodeMap); err != nil {
			return err
		}
	}
	r.resolver = nodes.New([]*topology.Graph{r.graph}, nodeMap)
	for _, t := range []struct {
		file *File
		read func(*File) error
		rows func() error
	}{
		{files.Jobs, r.readJobs, func() error { return files.JobRows.each(r.addJob) }},
		{files.Traffic, r.readTraffic, nil},
		{files.Failures, r.readFailures, func() error { return files.FailureRows.each(r.addFailure) }},
	} {
		if t.file != nil {
			if err := t.read(t.file); err != nil {
				return err
			}
		}
		if t.rows != nil {
			if err := t.rows(); err != nil {
				return err
			}
		}
	}
	r.jobs.sort()
	r.failures.sort()
	return nil
}

// follows checks that an interval follows the one that started at before; 0 if there is none.
func (r *reading) follows(name string, in schema.Interval, before int64) error {
	at := schema.Instant(in.StartNanos)
	switch step := in.StartNanos - before; {
	case in.StartNanos == 0:
		return fmt.Errorf("%s:1: links table: no column time; want the header time,link,... and in each row when its "+
			"interval begins", name)
	case before == 0:
	case step < in.DurationNanos || step%in.DurationNanos != 0:
		err := fmt.Errorf("%s: links table: time %s comes %v after the one before, and intervals are of %v", name, at,
			time.Duration(step), time.Duration(in.DurationNanos))
		if time.Duration(step)%time.Second != 0 { // no interval can have such a length
			return fmt.Errorf("%w: intervals begin whole seconds apart", err)
		}
		return fmt.Errorf("%w: give --interval %v if that is their length", err, time.Duration(step))
	case step > in.DurationNanos:
		r.note("gaps between intervals", "%s: no links from %s to %s (%s)", name,
			schema.Instant(before+in.DurationNanos), at,
			plural.Count(int(step/in.DurationNanos-1), "interval", "intervals"))
	}
	return nil
}

// feed passes to the core the jobs, traffic and failures that were known by the end of an interval.
func (r *reading) feed(core *analysis.Core, end schema.Instant) {
	core.AddJobs(r.jobs.until(end), 0)
	core.AddTraffic(r.traffic.until(end), 0)
	core.AddFailures(r.failures.until(end), 0)
}
