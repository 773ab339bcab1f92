package dashboards

import (
	"context"
	"errors"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// steps are the possible step lengths for a long span, the shortest first. Steps of whole hours are read from the
// roll-ups, shorter ones from the intervals.
var steps = [...]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// stepOf returns the shortest step that divides a span into at most most. A step below an hour must not
// need more than maxStates intervals.
func stepOf(length, interval time.Duration, most int) time.Duration {
	for _, step := range steps {
		if step < interval || length > time.Duration(most)*step || step < time.Hour && length > maxStates*interval {
			continue
		}
		return step
	}
	return steps[len(steps)-1]
}

type stepParameters struct {
	overSpan
	Most int `query:"most" min:"10" max:"5000" default:"1000" doc:"Maximum number of steps; it determines their length: 1, 5 or 15 minutes, 1, 3, 6, 12 or 24 hours, or a week."`
}

type networkSteps struct {
	inSpan
	// Start of the first stored interval; null if there is none.
	First       *schema.Instant    `json:"first"`
	StepSeconds float64            `json:"step_seconds"`
	Steps       []read.NetworkStep `json:"steps"`
}

// networkSteps returns how long the network was in each state, by steps of a long span, without steps that have no data.
func (d *Dashboards) networkSteps(ctx context.Context, p *stepParameters) (*networkSteps, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	step := stepOf(time.Duration(q.span.To-q.span.From), q.fabric.interval, p.Most)
	out := &networkSteps{StepSeconds: step.Seconds()}
	q.span.From = max(schema.Instant(earliest), q.span.From-q.span.From%schema.Instant(step)) // whole steps
	out.inSpan = spanOf(q)
	first, err := d.model.FirstStored(ctx, q.fabric.name)
	switch {
	case err == nil:
		out.First = &first
	case !errors.Is(err, read.ErrNotFound):
		return nil, err
	}
	if step%time.Hour == 0 {
		out.Steps, err = d.figures(q).NetworkSteps(ctx, int(step/time.Hour))
	} else {
		var states []read.NetworkAt
		states, err = d.model.Network(ctx, q.fabric.name, q.span)
		out.Steps = sumSteps(states, step)
	}
	out.Steps = append([]read.NetworkStep{}, out.Steps...)
	return out, err
}

// sumSteps sums the states of intervals, which are ordered by time, by steps.
func sumSteps(states []read.NetworkAt, step time.Duration) (out []read.NetworkStep) {
	for i := range states {
		s := &states[i]
		if begin := s.Time - s.Time%schema.Instant(step); len(out) == 0 || out[len(out)-1].Begin != begin {
			out = append(out, read.NetworkStep{Begin: begin})
		}
		last := &out[len(out)-1]
		if s.Unknown != "" {
			last.Unknown += s.Length.Seconds()
		} else {
			last.Seconds[s.Severity] += s.Length.Seconds()
		}
	}
	return out
}

type linkHistory struct {
	inSpan
	Metric       schema.Metric   `json:"metric"`
	GraphVersion read.Version    `json:"graph_version"`
	Link         uint32          `json:"link"`
	StepSeconds  float64         `json:"step_seconds"`
	Steps        []read.LinkStep `json:"steps"`
}

// finestLinkSpan is the longest span for which a link's history has five-minute steps while these are kept; longer ones have
// hours.
const finestLinkSpan = 8 * 24 * time.Hour

func (d *Dashboards) linkHistory(ctx context.Context, p *linkSeriesParameters) (*linkHistory, error) {
	q, version, err := d.wantLink(ctx, p)
	if err != nil {
		return nil, err
	}
	var found []read.LinkStep
	step, link := read.ByHours, schema.LinkID(p.Link)
	if time.Duration(q.span.To-q.span.From) > finestLinkSpan {
		found, err = d.figures(q).LinkHistory(ctx, uint64(version), p.Metric, link, step)
	} else {
		found, step, err = d.figures(q).FinestLinkHistory(ctx, uint64(version), p.Metric, link)
	}
	return &linkHistory{spanOf(q), p.Metric, version, p.Link, time.Duration(step).Seconds(), append([]read.LinkStep{}, found...)}, err
}

type causes struct {
	inSpan
	Causes []read.CauseShare `json:"causes"`
}

func (d *Dashboards) causes(ctx context.Context, p *overSpan) (*causes, error) {
	q, err := d.question(ctx, p)
	if err != nil {
		return nil, err
	}
	found, err := d.figures(q).Causes(ctx)
	return &causes{spanOf(q), append([]read.CauseShare{}, found...)}, err
}

type completeness struct {
	inSpan
	Versions []storedOf `json:"versions"`
}

// storedOf says what is stored of a span under one version of the graph.
type storedOf struct {
	GraphVersion read.Version   `json:"graph_version"`
	Intervals    int            `json:"intervals"`
	Known        int            `json:"known"` // with a known state
	Seconds      float64        `json:"seconds"`
	Links        int            `json:"links"`
	First        schema.Instant `json:"first"` // start of the first interval
	Last         schema.Instant `json:"last"`  // start of the last interval
}

func (d *Dashboards) completeness(ctx context.Context, p *overSpan) (*completeness, error) {
	q, err := d.question(ctx, p)
	if err != nil {
		return nil, err
	}
	found, err := d.figures(q).Completeness(ctx)
	out := &completeness{inSpan: spanOf(q), Versions: make([]storedOf, len(found))}
	for i, c := range found {
		out.Versions[i] = storedOf{read.Version(c.GraphVersion), c.Intervals, c.Known, c.Seconds, c.Links, c.First, c.Last}
	}
	return out, err
}
