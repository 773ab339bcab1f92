package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/schema"
)

// jobLine is a line of a jobs file.
type jobLine struct {
	ID    jobID          `json:"job_id"`
	Name  string         `json:"name"`
	User  string         `json:"user"`
	Nodes nodeList       `json:"nodes"`
	Start schema.Instant `json:"start"`
	End   schema.Instant `json:"end"`
	State string         `json:"state"`
}

// jobID is text, or the number that some schedulers write.
type jobID string

func (id *jobID) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err == nil {
		*id = jobID(text)
		return nil
	}
	var number json.Number
	if err := json.Unmarshal(b, &number); err != nil {
		return fmt.Errorf("job_id %.40s: want text, as in \"17\"", b)
	}
	*id = jobID(number)
	return nil
}

// nodeList is a list of names, or one text.
type nodeList []string

func (l *nodeList) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*l = make([]string, 1)
		return json.Unmarshal(b, &(*l)[0])
	}
	if err := json.Unmarshal(b, (*[]string)(l)); err != nil {
		return fmt.Errorf("nodes %.40s: want a list of names, as in [\"9,1,1\"] or [\"nid[00012-00095]\"]", b)
	}
	return nil
}

// jobTable is what a jobs file says.
type jobTable struct {
	jobs  []schema.Job // by start
	ids   map[string]bool
	begun int          // how many the analysis has been given
	ended []schema.Job // by end
	over  int          // how many of them the analysis has been given
}

type jobKey struct {
	id    string
	start schema.Instant
}

// readJobs reads a jobs file. Where a job has several lines the last one holds.
func (r *reading) readJobs(f *File) error {
	at := map[jobKey]int{}
	err := f.lines(func(line string) error {
		job, err := r.parseJob(line)
		if err != nil || job.Start == 0 { // it waits
			return err
		}
		key := jobKey{job.ID, job.Start}
		if i, known := at[key]; known {
			r.jobs.jobs[i] = job
			return nil
		}
		at[key] = len(r.jobs.jobs)
		r.jobs.jobs = append(r.jobs.jobs, job)
		r.jobs.ids[job.ID] = true
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(r.jobs.jobs, func(a, b schema.Job) int { return cmp.Compare(a.Start, b.Start) })
	for i := range r.jobs.jobs {
		if r.jobs.jobs[i].End != 0 {
			r.jobs.ended = append(r.jobs.ended, r.jobs.jobs[i])
		}
	}
	slices.SortStableFunc(r.jobs.ended, func(a, b schema.Job) int { return cmp.Compare(a.End, b.End) })
	return nil
}

func (r *reading) parseJob(line string) (schema.Job, error) {
	var in jobLine
	d := json.NewDecoder(bytes.NewReader([]byte(line)))
	if err := d.Decode(&in); err != nil {
		return schema.Job{}, asJSONError(err)
	}
	if d.More() {
		return schema.Job{}, errors.New("more than one JSON value; want one job per line")
	}
	job := schema.Job{Fabric: r.graph.Fabric(), ID: string(in.ID), Name: in.Name, User: in.User, Start: in.Start, End: in.End, State: in.State}
	switch {
	case job.ID == "":
		return job, errors.New(`no job_id; want a job such as {"job_id":"17","nodes":["9,1,1"],"start":"2026-01-05T00:30:00Z"}`)
	case in.Nodes == nil:
		return job, fmt.Errorf("job %q has no nodes; want a list of names, empty if it waits", job.ID)
	case job.End != 0 && job.End < job.Start:
		return job, fmt.Errorf("job %q ends at %s, before it starts at %s", job.ID, job.End, job.Start)
	}
	names, err := nodes.Expand(in.Nodes)
	if err != nil {
		return job, fmt.Errorf("job %q: nodes: %w", job.ID, err)
	}
	missing := nodes.Missing{}
	job.Nodes = r.resolver.Devices(names, missing)[0]
	return job, r.unknownNodes(job.ID, missing)
}

// unknownNodes is the fault of nodes that are no devices, or a note where such are left out.
func (r *reading) unknownNodes(job string, missing nodes.Missing) error {
	for reason, names := range missing {
		first := slices.Sorted(func(yield func(string) bool) {
			for n := range names {
				if !yield(n) {
					return
				}
			}
		})
		what := "is no device of the topology"
		if reason == nodes.NoSuch {
			what = "is in the node map, but its device is not in the topology"
		}
		more := ""
		if len(first) > 1 {
			more = fmt.Sprintf(" (nor are %d more)", len(first)-1)
		}
		fault := fmt.Errorf("job %q: node %q %s%s", job, first[0], what, more)
		if !r.cfg.SkipUnknown {
			return fmt.Errorf("%w; its devices are named like %q: give --node-map, or --skip-unknown to go on without", fault, r.exampleNode())
		}
		r.note("unknown nodes", "%w: left out", fault)
	}
	return nil
}

// exampleNode is the name of a device that runs jobs.
func (r *reading) exampleNode() string {
	if hosts := r.graph.Hosts(); len(hosts) > 0 {
		return r.graph.Device(hosts[0]).Name
	}
	return "?"
}

// asJSONError words a decoder's error for a person.
func asJSONError(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("field %s is a %s; want it as in {\"job_id\":\"17\",\"name\":\"PSDNS\",\"user\":\"flow\",\"nodes\":[\"9,1,1\"],\"start\":\"2026-01-05T00:30:00Z\"}", kind.Field, kind.Value)
	}
	if text := err.Error(); strings.HasPrefix(text, "time ") || strings.HasPrefix(text, "nodes ") || strings.HasPrefix(text, "job_id ") {
		return err
	}
	return fmt.Errorf("no JSON object: %w; want one job per line", err)
}

// until gives what has come up to an instant, as a scheduler says it: a job without its end where that is still to
// come, and again when it has ended.
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
