package dashboards

import (
	"errors"
	"slices"
	"strconv"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Diagnoses and jobs in one answer: the newest so many, unless n says how many.
const (
	defaultRows = 1000
	maxRows     = 10_000
)

// rows reads n.
func (q *question) rows() (n int, err error) {
	text := q.r.FormValue("n")
	if text == "" {
		return defaultRows, nil
	}
	if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxRows {
		return 0, badRequest("n: %q: want 1 to %d", text, maxRows)
	}
	return n, nil
}

// diagnoses are those of a span or, with at, of the interval then; of one region or of
// all.
func (d *Dashboards) diagnoses(q question) (fields, error) {
	region := uint64(0)
	n, err := q.rows()
	if text := q.r.FormValue("region"); text != "" && err == nil {
		if region, err = strconv.ParseUint(text, 10, 64); err != nil || region == 0 {
			return nil, badRequest("region: %q: want the id of a region, a number", text)
		}
	}
	if err != nil {
		return nil, err
	}
	if at, given, err := q.at(); err != nil {
		return nil, err
	} else if given {
		stored, err := d.model.StoredAt(q.ctx, q.fabric.name, at)
		if errors.Is(err, read.ErrNotFound) {
			return fields{"diagnoses": []schema.Diagnosis{}, "truncated": false}, nil
		}
		if err != nil {
			return nil, err
		}
		q.span = read.SpanOf(stored.Interval)
	}
	found, err := d.model.NewestDiagnoses(q.ctx, q.fabric.name, q.span, region, n+1)
	truncated := len(found) > n
	if truncated {
		found = found[len(found)-n:]
	}
	return fields{"from": q.span.From, "to": q.span.To, "diagnoses": append([]schema.Diagnosis{}, found...), "truncated": truncated}, err
}

// at is the instant that a question is about instead of a span.
func (q *question) at() (at schema.Instant, given bool, err error) {
	text := q.r.FormValue("at")
	if text == "" {
		return 0, false, nil
	}
	at, err = parseTime("at", text)
	return at, true, err
}

// jobJSON is a job and the regions that it had to do with in a span.
type jobJSON struct {
	schema.Job
	NodeCount int             `json:"node_count"`
	Regions   []read.Exposure `json:"regions"`
}

// jobs are those that ran in a span or, with at, at an instant.
func (d *Dashboards) jobs(q question) (fields, error) {
	n, err := q.rows()
	if err != nil {
		return nil, err
	}
	running := q.span
	if at, given, err := q.at(); err != nil {
		return nil, err
	} else if given {
		running, q.span = read.Span{From: at, To: at + 1}, read.Span{From: at - schema.Instant(d.cfg.History)*schema.Instant(q.fabric.interval), To: at + schema.Instant(q.fabric.interval)}
	}
	jobs, err := d.model.NewestJobs(q.ctx, q.fabric.name, running, n+1)
	if err != nil {
		return nil, err
	}
	truncated := len(jobs) > n
	if truncated {
		jobs = jobs[len(jobs)-n:]
	}
	exposures, err := d.model.Exposures(q.ctx, q.fabric.name, q.span, idsOf(jobs))
	if err != nil {
		return nil, err
	}
	list := make([]jobJSON, len(jobs))
	for i, j := range jobs {
		list[i] = jobJSON{Job: j, NodeCount: len(j.Nodes), Regions: []read.Exposure{}}
		if q.r.FormValue("nodes") == "0" {
			list[i].Nodes = []string{}
		}
		for _, e := range exposures {
			if e.JobID == j.ID && (j.End == 0 || e.From < j.End) && e.To+schema.Instant(q.fabric.interval) > j.Start {
				list[i].Regions = append(list[i].Regions, e)
			}
		}
	}
	return fields{"from": running.From, "to": running.To, "jobs": list, "truncated": truncated}, nil
}

func idsOf(jobs []schema.Job) []string {
	ids := make([]string, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// failures are what logs say and what the counters show.
func (d *Dashboards) failures(q question) (fields, error) {
	events, err := d.model.Events(q.ctx, q.fabric.name, q.span, schema.FailureKinds()...)
	list := make([]schema.Failure, len(events))
	for i, e := range events {
		list[i] = schema.Failure{Time: schema.Instant(e.TimeNanos), Kind: e.Kind, Device: e.Device, Port: e.Port, Detail: e.Detail}
	}
	return fields{"failures": list}, err
}
