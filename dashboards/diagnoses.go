package dashboards

import (
	"context"
	"errors"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
)

type diagnosisParameters struct {
	overSpan
	paged
	At     *moment `query:"at" doc:"The last interval that starts at this time or earlier, instead of a span."`
	Region uint64  `query:"region" min:"1" max:"9007199254740991" doc:"Id of a region; default: all regions."`
}

type diagnosisPage struct {
	inSpan
	more
	Diagnoses []diagnosed `json:"diagnoses"`
}

// diagnoses returns the diagnoses of a span or, with at, of the interval then; of one region or of
// all.
func (d *Dashboards) diagnoses(ctx context.Context, p *diagnosisParameters) (*diagnosisPage, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	if p.At != nil {
		stored, err := d.model.StoredAt(ctx, q.fabric.name, schema.Instant(*p.At))
		if errors.Is(err, read.ErrNotFound) {
			return &diagnosisPage{inSpan: spanOf(q), Diagnoses: []diagnosed{}}, nil
		}
		if err != nil {
			return nil, err
		}
		q.span = read.SpanOf(stored.Interval)
	}
	found, err := d.model.NewestDiagnoses(ctx, q.fabric.name, p.before(q.span), p.Region, p.limit())
	if err != nil {
		return nil, err
	}
	list, end := cut(&p.paged, found, func(d *schema.Diagnosis) schema.Instant { return d.Time })
	joined, err := d.slowHosts.join(ctx, q.fabric.name, list)
	return &diagnosisPage{spanOf(q), end, joined}, err
}

// job is a job with the regions that it was accused of or suffered from in a span.
type job struct {
	schema.Job
	NodeCount int             `json:"node_count"` // a host with several adapters counts once
	Regions   []read.Exposure `json:"regions"`
}

type jobParameters struct {
	overSpan
	paged
	At    *moment `query:"at" doc:"The jobs that ran at this time, instead of a span; their regions go back as far as dashboards.history."`
	Nodes bool    `query:"nodes" default:"true" doc:"false omits the node names."`
	// Of a flood of jobs the newest say nothing about congestion that older ones cause.
	Accused bool `query:"accused" doc:"true: only the jobs that diagnoses accuse, of more than n those with the most blame."`
}

type jobPage struct {
	inSpan
	more
	Jobs []job `json:"jobs"`
}

// jobs returns the jobs that ran in a span or, with at, at an instant.
func (d *Dashboards) jobs(ctx context.Context, p *jobParameters) (*jobPage, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	running, length := q.span, schema.Instant(q.fabric.interval)
	if p.At != nil {
		at := schema.Instant(*p.At)
		running, q.span = read.Span{From: at, To: at + 1}, read.Span{From: max(schema.Instant(earliest), at-schema.Instant(d.cfg.History)*length), To: at + length}
	}
	var accused []string
	if p.Accused {
		list, err := d.figures(q).AccusedJobs(ctx, p.N)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return &jobPage{inSpan: inSpan{running.From, running.To}, Jobs: []job{}}, nil
		}
		for _, a := range list {
			accused = append(accused, a.JobID)
		}
	}
	found, err := d.model.NewestJobs(ctx, q.fabric.name, startedBefore(running, p.Cursor), p.limit(), accused...)
	if err != nil {
		return nil, err
	}
	jobs, end := cut(&p.paged, found, func(j *schema.Job) schema.Instant { return j.Start })
	exposures, err := d.model.Exposures(ctx, q.fabric.name, q.span, idsOf(jobs))
	if err != nil {
		return nil, err
	}
	list := make([]job, len(jobs))
	for i, j := range jobs {
		list[i] = job{Job: j, NodeCount: topology.CountHosts(j.Nodes), Regions: []read.Exposure{}}
		if !p.Nodes {
			list[i].Nodes = []string{}
		}
		for _, e := range exposures {
			if e.JobID == j.ID && (j.End == 0 || e.From < j.End) && e.To+length > j.Start {
				list[i].Regions = append(list[i].Regions, e)
			}
		}
	}
	return &jobPage{inSpan{running.From, running.To}, end, list}, nil
}

// startedBefore limits only the end of a span: a job may have started long before it.
func startedBefore(s read.Span, c cursor) read.Span {
	if c.time > 0 {
		s.To = min(s.To, c.time+1)
	}
	return s
}

func idsOf(jobs []schema.Job) []string {
	ids := make([]string, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

type failureParameters struct {
	overSpan
	paged
}

type failurePage struct {
	inSpan
	more
	Failures []schema.Failure `json:"failures"`
}

// failures returns the failures that logs report and those that counters show.
func (d *Dashboards) failures(ctx context.Context, p *failureParameters) (*failurePage, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	found, err := d.model.NewestEvents(ctx, q.fabric.name, p.before(q.span), p.limit(), schema.FailureKinds()...)
	if err != nil {
		return nil, err
	}
	events, end := cut(&p.paged, found, func(e *schema.Event) schema.Instant { return schema.Instant(e.TimeNanos) })
	list := make([]schema.Failure, len(events))
	for i, e := range events {
		list[i] = schema.Failure{Time: schema.Instant(e.TimeNanos), Kind: e.Kind, Device: e.Device, Port: e.Port, Detail: e.Detail}
	}
	return &failurePage{spanOf(q), end, list}, nil
}
