package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/collectors/jobline"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/schema"
)

// jobTable holds the jobs of a file.
type jobTable struct {
	jobs  []schema.Job   // by start, once sorted
	at    map[jobKey]int // the place of each in jobs, until they are sorted
	ids   map[string]bool
	begun int          // how many of jobs have been passed to the analysis
	ended []schema.Job // by end
	over  int          // how many of ended have been passed to the analysis
}

type jobKey struct {
	id    string
	start schema.Instant
}

// readJobs reads a jobs file.
func (r *reading) readJobs(f *File) error {
	return f.lines(func(line string) error {
		job, err := jobline.Parse([]byte(line), r.cfg.Zone)
		if err != nil {
			return err
		}
		return r.addJob(job)
	})
}

// addJob adds a job with the names of its nodes. The last row of a job wins.
func (r *reading) addJob(job schema.Job) error {
	if job.End != 0 && job.End < job.Start {
		return fmt.Errorf("job %q ends at %s, before it starts at %s", job.ID, job.End, job.Start)
	}
	missing := nodes.Missing{}
	job.Fabric, job.Nodes = r.graph.Fabric(), r.resolver.Devices(job.Nodes, missing)[0]
	if err := r.unknownNodes(job.ID, missing); err != nil || job.Start == 0 { // or the job is still queued
		return err
	}
	t := &r.jobs
	key := jobKey{job.ID, job.Start}
	if i, known := t.at[key]; known {
		if len(job.Nodes) == 0 {
			job.Nodes = t.jobs[i].Nodes // the row of an ended job may lack them
		}
		t.jobs[i] = job
		return nil
	}
	t.at[key] = len(t.jobs)
	t.jobs = append(t.jobs, job)
	t.ids[job.ID] = true
	return nil
}

// sort is called when all jobs have been added.
func (t *jobTable) sort() {
	t.at = nil
	slices.SortStableFunc(t.jobs, func(a, b schema.Job) int { return cmp.Compare(a.Start, b.Start) })
	t.endEarlierRuns()
	for i := range t.jobs {
		if t.jobs[i].End != 0 {
			t.ended = append(t.ended, t.jobs[i])
		}
	}
	slices.SortStableFunc(t.ended, func(a, b schema.Job) int { return cmp.Compare(a.End, b.End) })
}

// endEarlierRuns ends runs of requeued jobs whose end is missing when their job starts again, as the tracker of the job
// feeds does.
func (t *jobTable) endEarlierRuns() {
	next := map[string]schema.Instant{}
	for i := len(t.jobs) - 1; i >= 0; i-- {
		job := &t.jobs[i]
		if again, requeued := next[job.ID]; requeued && job.End == 0 {
			job.End = again
		}
		next[job.ID] = job.Start
	}
}

// unknownNodes is the error for nodes that the topology lacks; with SkipUnknown it is a note.
func (r *reading) unknownNodes(job string, missing nodes.Missing) error {
	for reason, names := range missing {
		first, more := "", names[""]-1 // "" counts the names that Missing did not keep
		for name := range names {
			if name == "" {
				continue
			}
			if more++; first == "" || name < first {
				first = name
			}
		}
		what := "is no device of the topology"
		if reason == nodes.NoSuch {
			what = "is in the node map, but its device is not in the topology"
		}
		others := ""
		switch {
		case more == 1:
			others = " (nor is 1 more)"
		case more > 1:
			others = fmt.Sprintf(" (nor are %d more)", more)
		}
		fault := fmt.Errorf("job %q: node %q %s%s", job, first, what, others)
		if !r.cfg.SkipUnknown {
			return fmt.Errorf("%w; %s give --node-map, or --skip-unknown to go on without", fault, r.hint(first))
		}
		r.note("unknown nodes", "%w: left out", fault)
	}
	return nil
}

// hint is the topology's hint at the device that a name may mean, as the beginning of an advice.
func (r *reading) hint(name string) string {
	hint := r.graph.Hint(name)
	if !strings.HasSuffix(hint, "?") {
		hint += ":"
	}
	return hint
}

// until returns the job records that became known before end and were not returned before, as a scheduler would send
// them: first at the start, without an end that lies ahead, and again when the job has ended.
func (t *jobTable) until(end schema.Instant) (said []schema.Job) {
	for ; t.begun < len(t.jobs) && t.jobs[t.begun].Start < end; t.begun++ {
		job := t.jobs[t.begun]
		if job.End >= end {
			job.End = 0
		}
		said = append(said, job)
	}
	for ; t.over < len(t.ended) && t.ended[t.over].End < end; t.over++ {
		said = append(said, t.ended[t.over])
	}
	return said
}
