package dashboards

import (
	"context"

	"github.com/giverny/giverny/schema"
)

type trafficParameters struct {
	overSpan
	Job string `path:"job" doc:"Id of a job, as the scheduler knows it."`
}

// trafficSeries is what a job moved, interval by interval.
type trafficSeries struct {
	inSpan
	JobID   string              `json:"job_id"`
	Traffic []schema.JobTraffic `json:"traffic"`
}

// traffic is what one job moved over time; bytes that were not measured are left out.
func (d *Dashboards) traffic(ctx context.Context, p *trafficParameters) (*trafficSeries, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	found, err := d.model.JobTraffic(ctx, q.fabric.name, q.span, p.Job)
	return &trafficSeries{spanOf(q), p.Job, append([]schema.JobTraffic{}, found...)}, err
}
