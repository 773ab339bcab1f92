package dashboards

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// fields is an object of JSON.
type fields map[string]any

// question is what is asked about a fabric over time.
type question struct {
	ctx    context.Context
	fabric *fabric
	span   read.Span
	metric schema.Metric // NoMetric: none was given
	r      *http.Request
}

func (q *question) wantStall() error {
	if !q.metric.IsStall() {
		return badRequest("metric: want a stall metric, such as credit_stall")
	}
	return nil
}

// defaultSpan is how far back a question reaches that says nothing else.
const defaultSpan = schema.Instant(24 * time.Hour)

// parseQuestion reads the parameters that all questions about a span have.
func (d *Dashboards) parseQuestion(f *fabric, r *http.Request) (q question, err error) {
	q = question{ctx: r.Context(), fabric: f, r: r}
	if name := r.FormValue("metric"); name != "" {
		if q.metric, err = schema.ParseMetric(name); err != nil {
			return q, badRequest("metric: %v", err)
		}
	}
	q.span, err = d.parseRange(f, r)
	return q, err
}

// parseRange reads from and to. Without from it begins a day before to, without to
// it ends with the newest interval.
func (d *Dashboards) parseRange(f *fabric, r *http.Request) (span read.Span, err error) {
	if text := r.FormValue("to"); text != "" {
		span.To, err = parseTime("to", text)
	} else {
		var newest read.Stored
		newest, err = d.model.LastStored(r.Context(), f.name)
		span.To = schema.Instant(newest.EndNanos())
		if errors.Is(err, read.ErrNotFound) {
			span.To, err = schema.Instant(time.Now().UnixNano()), nil
		}
	}
	if err != nil {
		return span, err
	}
	span.From = span.To - defaultSpan
	if text := r.FormValue("from"); text != "" {
		if span.From, err = parseTime("from", text); err != nil {
			return span, err
		}
	}
	return span, d.checkSpan(span)
}

func (d *Dashboards) checkSpan(span read.Span) error {
	if span.From > span.To {
		return badRequest("from: %v is later than to, %v", span.From, span.To)
	}
	if length := time.Duration(span.To - span.From); length > d.cfg.MaxSpan {
		return badRequest("from %v to %v is %v: want at most %v, or raise dashboards.max_span", span.From, span.To, length, d.cfg.MaxSpan)
	}
	return nil
}

// latestMillis bounds a time in milliseconds to what nanoseconds can hold: the year
// 2200.
const latestMillis = int64(read.Newest) / 1e6

// parseTime reads a time: RFC 3339, or milliseconds since 1970.
func parseTime(name, text string) (i schema.Instant, err error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		if ms < 0 || ms > latestMillis {
			return 0, badRequest("%s: %d: want milliseconds since 1970, up to the year 2200", name, ms)
		}
		return schema.Instant(ms * 1e6), nil
	}
	if err := i.UnmarshalText([]byte(text)); err != nil {
		return 0, badRequest("%s: %v, or milliseconds since 1970", name, err)
	}
	return i, nil
}

func (d *Dashboards) transitions(q question) (fields, error) {
	regions, err := d.model.RegionTransitions(q.ctx, q.fabric.name, q.metric, q.span)
	if err != nil {
		return nil, err
	}
	network, err := d.model.NetworkTransitions(q.ctx, q.fabric.name, q.metric, q.span)
	var states [schema.NumStates]string // of the rows and columns
	for s := range states {
		states[s] = schema.RegionState(s).String()
	}
	return fields{"states": states, "regions": regions, "network": network}, err
}

func (d *Dashboards) congestion(q question) (fields, error) {
	events, err := d.model.Congestion(q.ctx, q.fabric.name, q.span)
	return fields{"events": append([]schema.CongestionEvent{}, events...)}, err
}

func (d *Dashboards) mitigations(q question) (fields, error) {
	window := read.MitigationWindow
	if text := q.r.FormValue("window_seconds"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 1 || seconds > 86_400 {
			return nil, badRequest("window_seconds: %q: want 1 to 86400", text)
		}
		window = time.Duration(seconds) * time.Second
	}
	events, err := d.model.Mitigations(q.ctx, q.fabric.name, q.span, window)
	return fields{"window_seconds": window.Seconds(), "events": append([]read.Mitigation{}, events...)}, err
}

func (d *Dashboards) forecasts(q question) (fields, error) {
	skills, err := d.model.ForecastSkill(q.ctx, q.fabric.name, q.span)
	return fields{"next": skills.Next, "later": skills.Later}, err
}

func (d *Dashboards) linkTime(q question) (fields, error) {
	if err := q.wantStall(); err != nil {
		return nil, err
	}
	share, err := d.model.LinkTime(q.ctx, q.fabric.name, q.metric, q.span)
	byName := fields{}
	for _, s := range schema.Severities {
		byName[s.String()] = share[s]
	}
	return fields{"metric": q.metric, "share": byName}, err
}

// region is one region from its birth on, by default for a day.
func (d *Dashboards) region(f *fabric, r *http.Request) (any, error) {
	id, err := strconv.ParseUint(r.PathValue("region"), 10, 53)
	if err != nil {
		return nil, badRequest("region: %q: want the id of a region, a number", r.PathValue("region"))
	}
	span := read.Span{From: read.BirthOf(id)}
	span.To = span.From + defaultSpan
	for name, to := range map[string]*schema.Instant{"from": &span.From, "to": &span.To} {
		if text := r.FormValue(name); text != "" {
			if *to, err = parseTime(name, text); err != nil {
				return nil, err
			}
		}
	}
	if err := d.checkSpan(span); err != nil {
		return nil, err
	}
	history, err := d.model.RegionHistory(r.Context(), f.name, id, span)
	if err != nil {
		return nil, err
	}
	last, err := d.model.NewestDiagnoses(r.Context(), f.name, span, id, 1)
	out := fields{"from": span.From, "to": span.To, "intervals": append([]read.RegionAt{}, history...), "diagnosis": nil}
	if len(last) > 0 {
		out["diagnosis"] = last[0]
	}
	return out, err
}

// wantLinks checks what a question about links by number needs: a metric, and the
// version of the graph that numbers them, by default that of the newest interval.
func (d *Dashboards) wantLinks(q question) (read.Version, error) {
	if q.metric == schema.NoMetric {
		return 0, badRequest("metric: want one, such as credit_stall")
	}
	return d.parseVersion(q.fabric, q.r)
}

// maxTopLinks bounds a ranking.
const maxTopLinks = 1000

func (d *Dashboards) topLinks(q question) (fields, error) {
	version, err := d.wantLinks(q)
	if err != nil {
		return nil, err
	}
	n := 20
	if text := q.r.FormValue("n"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxTopLinks {
			return nil, badRequest("n: %q: want 1 to %d links", text, maxTopLinks)
		}
	}
	links, err := d.model.TopLinks(q.ctx, q.fabric.name, uint64(version), q.metric, q.span, n)
	return fields{"metric": q.metric, "graph_version": version, "links": append([]read.LinkRank{}, links...)}, err
}

func (d *Dashboards) linkSeries(q question) (fields, error) {
	version, err := d.wantLinks(q)
	if err != nil {
		return nil, err
	}
	link, err := strconv.ParseUint(q.r.PathValue("link"), 10, 32)
	if err != nil {
		return nil, badRequest("link: %q: want the number of a link", q.r.PathValue("link"))
	}
	points, err := d.model.LinkSeries(q.ctx, q.fabric.name, uint64(version), q.metric, schema.LinkID(link), q.span)
	return fields{"metric": q.metric, "graph_version": version, "link": link, "points": append([]read.Point{}, points...)}, err
}
