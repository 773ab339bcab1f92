package dashboards

import (
	"context"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// figure has the common fields of responses about a stall metric over a span.
type figure struct {
	inSpan
	Metric schema.Metric `json:"metric"`
}

// figures are the statistics that answer a question.
func (d *Dashboards) figures(q question) *read.Figures { return d.model.Figures(q.fabric.name, q.span) }

// ofMetric runs a query about a stall metric.
func ofMetric[T any](d *Dashboards, ctx context.Context, p *ofStall, query func(*read.Figures, context.Context, schema.Metric) (T, error)) (f figure, found T, err error) {
	if err = p.check(); err != nil {
		return f, found, err
	}
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return f, found, err
	}
	found, err = query(d.figures(q), ctx, p.Metric)
	return figure{spanOf(q), p.Metric}, found, err
}

type hotspots struct {
	figure
	Durations []read.HotDurations `json:"durations"`
}

func (d *Dashboards) hotspots(ctx context.Context, p *ofStall) (*hotspots, error) {
	f, found, err := ofMetric(d, ctx, p, (*read.Figures).HotEpisodes)
	return &hotspots{f, append([]read.HotDurations{}, found...)}, err
}

// histogram of regions: a bucket covers [From, 2*From).
type histogram struct {
	figure
	Buckets []read.Bucket `json:"buckets"`
}

func (d *Dashboards) regionSizes(ctx context.Context, p *ofStall) (*histogram, error) {
	f, found, err := ofMetric(d, ctx, p, (*read.Figures).RegionSizes)
	return &histogram{f, append([]read.Bucket{}, found...)}, err
}

func (d *Dashboards) regionDurations(ctx context.Context, p *ofStall) (*histogram, error) {
	f, found, err := ofMetric(d, ctx, p, (*read.Figures).RegionDurations)
	return &histogram{f, append([]read.Bucket{}, found...)}, err
}

// linkTime is the share of link time by severity.
type linkTime struct {
	figure
	Share map[string]*float64 `json:"share"` // by severity, 0 to 1; null: no link was measured
}

func (d *Dashboards) linkTime(ctx context.Context, p *ofStall) (*linkTime, error) {
	f, found, err := ofMetric(d, ctx, p, (*read.Figures).LinkTime)
	share := map[string]*float64{}
	for _, s := range schema.Severities {
		share[s.String()] = nil
		if found != nil {
			share[s.String()] = &found[s]
		}
	}
	return &linkTime{f, share}, err
}

type ofAnyMetric struct {
	overSpan
	Metric schema.Metric `query:"metric" doc:"A stall metric; default: all together."`
}

type stateTransitions struct {
	inSpan
	States  []string         `json:"states"` // names of the rows and columns
	Regions read.Transitions `json:"regions"`
	Network read.Transitions `json:"network"` // never gone
}

func (d *Dashboards) transitions(ctx context.Context, p *ofAnyMetric) (*stateTransitions, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	out := &stateTransitions{inSpan: spanOf(q)}
	for s := range schema.NumStates {
		out.States = append(out.States, schema.RegionState(s).String())
	}
	if out.Regions, err = d.figures(q).RegionTransitions(ctx, p.Metric); err != nil {
		return nil, err
	}
	out.Network, err = d.figures(q).NetworkTransitions(ctx, p.Metric)
	return out, err
}

type congestion struct {
	inSpan
	Events []schema.CongestionEvent `json:"events"`
}

func (d *Dashboards) congestion(ctx context.Context, p *overSpan) (*congestion, error) {
	q, err := d.question(ctx, p)
	if err != nil {
		return nil, err
	}
	events, err := d.figures(q).Congestion(ctx)
	return &congestion{spanOf(q), append([]schema.CongestionEvent{}, events...)}, err
}

type mitigationParameters struct {
	overSpan
	WindowSeconds int `query:"window_seconds" min:"1" max:"86400" default:"210" doc:"Throttling events within this time of each other count as one; outcomes are known with the default only."`
}

type mitigations struct {
	inSpan
	WindowSeconds float64           `json:"window_seconds"`
	Events        []read.Mitigation `json:"events"`
}

func (d *Dashboards) mitigations(ctx context.Context, p *mitigationParameters) (*mitigations, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	events, err := d.figures(q).Mitigations(ctx, time.Duration(p.WindowSeconds)*time.Second)
	return &mitigations{spanOf(q), float64(p.WindowSeconds), append([]read.Mitigation{}, events...)}, err
}

type forecastReport struct {
	inSpan
	schema.ForecastSkills
}

func (d *Dashboards) forecasts(ctx context.Context, p *overSpan) (*forecastReport, error) {
	q, err := d.question(ctx, p)
	if err != nil {
		return nil, err
	}
	skills, err := d.figures(q).ForecastSkill(ctx)
	return &forecastReport{spanOf(q), skills}, err
}
