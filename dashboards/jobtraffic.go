package dashboards

import (
	"context"

	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
)

type trafficParameters struct {
	overSpan
	Job string `path:"job" doc:"Id of a job, as the scheduler knows it."`
}

// trafficSeries is a job's traffic, interval by interval.
type trafficSeries struct {
	inSpan
	JobID   string              `json:"job_id"`
	Traffic []schema.JobTraffic `json:"traffic"`
}

// traffic returns one job's traffic over time, without bytes that were not measured. A job that is unknown in the
// span is not found: an empty response would mean that it moved nothing.
func (d *Dashboards) traffic(ctx context.Context, p *trafficParameters) (*trafficSeries, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	found, err := d.model.JobTraffic(ctx, q.fabric.name, q.span, p.Job)
	if len(found) == 0 && err == nil {
		err = d.checkJob(ctx, q, p.Job)
	}
	return &trafficSeries{spanOf(q), p.Job, append([]schema.JobTraffic{}, found...)}, err
}

// checkJob rejects a job that did not run in a span.
func (d *Dashboards) checkJob(ctx context.Context, q question, id string) error {
	jobs, err := d.model.NewestJobs(ctx, q.fabric.name, q.span, 1, id)
	if err == nil && len(jobs) == 0 {
		err = problem.NotFound("no job %q ran between %v and %v; GET %s/fabrics/%s/jobs lists those of a span", id, q.span.From, q.span.To, Prefix, q.fabric.name)
	}
	return err
}
