package dashboards

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// inSpan has the common fields of responses about a span.
type inSpan struct {
	From schema.Instant `json:"from"`
	To   schema.Instant `json:"to"`
}

func spanOf(q question) inSpan { return inSpan{q.span.From, q.span.To} }

// maxStates limits the states in one response: use roll-ups for longer spans.
const maxStates = 100_000

type networkStates struct {
	inSpan
	IntervalSeconds float64          `json:"interval_seconds"`
	States          []read.NetworkAt `json:"states"`
}

// network returns the network's state in the intervals of a span.
func (d *Dashboards) network(ctx context.Context, p *overSpan) (*networkStates, error) {
	q, err := d.question(ctx, p)
	if err != nil {
		return nil, err
	}
	if most := maxStates * q.fabric.interval; time.Duration(q.span.To-q.span.From) > most {
		return nil, problem.BadRequest("from %v to %v: want at most %d intervals, which are %v", q.span.From, q.span.To, maxStates, most)
	}
	states, err := d.model.Network(ctx, q.fabric.name, q.span)
	return &networkStates{spanOf(q), q.fabric.interval.Seconds(), append([]read.NetworkAt{}, states...)}, err
}

type eventParameters struct {
	overSpan
	paged
	Kinds       []eventKind     `query:"kinds" doc:"Kinds of events (see EventKind), separated by commas; default: all."`
	MinSeverity schema.Severity `query:"min_severity" doc:"Omits events of regions that did not reach this severity in the span; a page may then have fewer than n entries."`
}

// eventKind is a kind of event in a query; one that is unknown is refused, as it would find nothing.
type eventKind schema.EventKind

// UnmarshalText parses a kind.
func (k *eventKind) UnmarshalText(text []byte) error {
	*k = eventKind(text)
	if kinds := schema.EventKinds(); !slices.Contains(kinds, schema.EventKind(text)) {
		return fmt.Errorf("unknown kind %q; want some of %v, separated by commas", text, kinds)
	}
	return nil
}

type eventPage struct {
	inSpan
	more
	Events []schema.Event `json:"events"`
}

// events returns the events in a span. Events at the end of the newest interval are later than its start, and are
// included.
func (d *Dashboards) events(ctx context.Context, p *eventParameters) (*eventPage, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	severe, err := d.severe(ctx, q.fabric, q.span, p.MinSeverity)
	if err != nil {
		return nil, err
	}
	kinds := make([]schema.EventKind, len(p.Kinds))
	for i, k := range p.Kinds {
		kinds[i] = schema.EventKind(k)
	}
	asked := q.span
	if p.To == nil {
		asked.To = read.Newest
	}
	found, err := d.model.NewestEvents(ctx, q.fabric.name, p.before(asked), p.limit(), kinds...)
	if err != nil {
		return nil, err
	}
	list, end := cut(&p.paged, found, func(e *schema.Event) schema.Instant { return schema.Instant(e.TimeNanos) })
	list = slices.DeleteFunc(list, func(e schema.Event) bool { return e.RegionID != 0 && severe != nil && !severe[e.RegionID] })
	return &eventPage{spanOf(q), end, list}, nil
}

// beforeEnd is how long before its end event a region may have last been seen, at most.
const beforeEnd = schema.Instant(time.Hour)

// severe returns the regions that had at least a severity in a span or shortly before; nil if any will do.
func (d *Dashboards) severe(ctx context.Context, f *fabric, span read.Span, least schema.Severity) (map[uint64]bool, error) {
	if least <= schema.Negligible {
		return nil, nil
	}
	span.From = max(0, span.From-beforeEnd)
	return d.model.SevereRegions(ctx, f.name, span, least)
}

type regionParameters struct {
	overSpan
	paged
	Metric      schema.Metric   `query:"metric" doc:"Only regions of this stall metric."`
	MinSeverity schema.Severity `query:"min_severity" doc:"Only regions of this severity or higher."`
}

type regionPage struct {
	inSpan
	more
	Regions []read.RegionAt `json:"regions"`

	fabric string
}

// regions returns the regions of the intervals that start in a span.
func (d *Dashboards) regions(ctx context.Context, p *regionParameters) (*regionPage, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	found, err := d.model.NewestRegions(ctx, q.fabric.name, p.before(q.span), p.Metric, p.MinSeverity, p.limit())
	if err != nil {
		return nil, err
	}
	list, end := cut(&p.paged, found, func(r *read.RegionAt) schema.Instant { return r.Time })
	return &regionPage{spanOf(q), end, list, q.fabric.name}, nil
}

type tracksParameters struct {
	overSpan
	N           int             `query:"n" min:"1" max:"10000" default:"1000" doc:"Maximum number of entries."`
	Metric      schema.Metric   `query:"metric" doc:"Only regions of this stall metric."`
	MinSeverity schema.Severity `query:"min_severity" doc:"Only regions that reached this severity or higher."`
}

type trackList struct {
	inSpan
	// There are more than n.
	Truncated bool                `json:"truncated"`
	Tracks    []read.TrackSummary `json:"tracks"`
}

// tracks returns the regions of a span, each once.
func (d *Dashboards) tracks(ctx context.Context, p *tracksParameters) (*trackList, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return nil, err
	}
	found, err := d.model.Tracks(ctx, q.fabric.name, q.span, p.Metric, p.MinSeverity, p.N+1)
	if err != nil {
		return nil, err
	}
	return &trackList{spanOf(q), len(found) > p.N, append([]read.TrackSummary{}, found[:min(len(found), p.N)]...)}, nil
}

type trackParameters struct {
	ofFabric
	Region uint64  `path:"region" min:"1" max:"9007199254740991" doc:"Id of a region."`
	From   *moment `query:"from" doc:"Start of the span; default: the birth of the region."`
	To     *moment `query:"to" doc:"End of the span, exclusive; default: a day after its start."`
}

type track struct {
	inSpan
	Intervals []read.RegionAt   `json:"intervals"`
	Diagnosis *schema.Diagnosis `json:"diagnosis"` // the newest of the span
}

// track returns one region over time. If from is not given, a region that never existed is not found.
func (d *Dashboards) track(ctx context.Context, p *trackParameters) (*track, error) {
	out, err := d.trackOf(ctx, p)
	if err == nil && len(out.Intervals) == 0 && p.From == nil {
		return nil, problem.NotFound("no region %d; GET %s/fabrics/%s/tracks lists those of a span", p.Region, Prefix, p.Fabric)
	}
	return out, err
}

func (d *Dashboards) trackOf(ctx context.Context, p *trackParameters) (*track, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	span := read.Span{From: max(schema.Instant(earliest), read.BirthOf(p.Region))}
	if p.From != nil {
		span.From = schema.Instant(*p.From)
	}
	span.To = span.From + defaultSpan
	if p.To != nil {
		span.To = schema.Instant(*p.To)
	}
	if err := d.checkSpan(span, d.cfg.MaxSpan); err != nil {
		return nil, err
	}
	history, err := d.model.RegionHistory(ctx, f.name, p.Region, span)
	if err != nil {
		return nil, err
	}
	last, err := d.model.NewestDiagnoses(ctx, f.name, span, p.Region, 1)
	out := &track{inSpan: inSpan{span.From, span.To}, Intervals: append([]read.RegionAt{}, history...)}
	if len(last) > 0 {
		out.Diagnosis = &last[0]
	}
	return out, err
}

// linkSpan are the parameters for links over time.
type linkSpan struct {
	overSpan
	inVersion
	Metric schema.Metric `query:"metric" required:"true" doc:"one, such as credit_stall"`
}

// wantLinks determines the span, and the version of the graph that numbers the links.
func (d *Dashboards) wantLinks(ctx context.Context, p *linkSpan) (question, read.Version, error) {
	q, err := d.question(ctx, &p.overSpan)
	if err != nil {
		return q, 0, err
	}
	version, err := d.versionOf(ctx, q.fabric, p.inVersion)
	return q, version, err
}

type topLinksParameters struct {
	linkSpan
	N int `query:"n" min:"1" max:"1000" default:"20" doc:"Maximum number of entries."`
}

type topLinks struct {
	inSpan
	Metric       schema.Metric   `json:"metric"`
	GraphVersion read.Version    `json:"graph_version"`
	Links        []read.LinkRank `json:"links"`
}

func (d *Dashboards) topLinks(ctx context.Context, p *topLinksParameters) (*topLinks, error) {
	q, version, err := d.wantLinks(ctx, &p.linkSpan)
	if err != nil {
		return nil, err
	}
	links, err := d.figures(q).TopLinks(ctx, uint64(version), p.Metric, p.N)
	return &topLinks{spanOf(q), p.Metric, version, append([]read.LinkRank{}, links...)}, err
}

type linkSeriesParameters struct {
	linkSpan
	Link uint32 `path:"link" doc:"Number of a link in the version of the graph."`
}

type linkSeries struct {
	inSpan
	Metric       schema.Metric `json:"metric"`
	GraphVersion read.Version  `json:"graph_version"`
	Link         uint32        `json:"link"`
	Points       []read.Point  `json:"points"`
}

// wantLink is wantLinks for one link, which must exist in that version.
func (d *Dashboards) wantLink(ctx context.Context, p *linkSeriesParameters) (question, read.Version, error) {
	q, version, err := d.wantLinks(ctx, &p.linkSpan)
	if err != nil {
		return q, version, err
	}
	g, err := q.fabric.graphs.of(ctx, version)
	if err == nil && p.Link >= uint32(g.NumLinks()) {
		err = problem.NotFound("no link %d: version %v of fabric %q has links 0 to %d; GET %s/fabrics/%s/graph?version=%v lists them",
			p.Link, version, q.fabric.name, g.NumLinks()-1, Prefix, q.fabric.name, version)
	}
	return q, version, err
}

func (d *Dashboards) linkSeries(ctx context.Context, p *linkSeriesParameters) (*linkSeries, error) {
	q, version, err := d.wantLink(ctx, p)
	if err != nil {
		return nil, err
	}
	points, err := d.figures(q).LinkSeries(ctx, uint64(version), p.Metric, schema.LinkID(p.Link))
	return &linkSeries{spanOf(q), p.Metric, version, p.Link, append([]read.Point{}, points...)}, err
}
