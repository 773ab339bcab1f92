package dashboards

import (
	"context"
	"net/http"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// endpoint is one row of the API: a path below /api/v1/ and what answers it. Its
// description is a row of docs/reference/http-api.md.
type endpoint struct {
	path   string
	answer func(*Dashboards, *http.Request) (any, error)
}

// endpoints are all that answer with JSON. A new one is a row here, with a handler
// or, where the rows of one SQL file are the answer, with read.Figure.
var endpoints = []endpoint{
	{"fabrics", (*Dashboards).listFabrics},
	{"fabrics/{fabric}/links", ofFabric((*Dashboards).links)},
	{"fabrics/{fabric}/status", ofFabric((*Dashboards).status)},
	{"fabrics/{fabric}/now", ofFabric((*Dashboards).now)},
	{"fabrics/{fabric}/history", ofFabric((*Dashboards).history)},
	{"fabrics/{fabric}/transitions", overTime((*Dashboards).transitions)},
	{"fabrics/{fabric}/congestion", overTime((*Dashboards).congestion)},
	{"fabrics/{fabric}/mitigations", overTime((*Dashboards).mitigations)},
	{"fabrics/{fabric}/forecasts", overTime((*Dashboards).forecasts)},
	{"fabrics/{fabric}/hotspots", ofStall("durations", (*read.Model).HotEpisodes)},
	{"fabrics/{fabric}/region-sizes", ofStall("buckets", (*read.Model).RegionSizes)},
	{"fabrics/{fabric}/region-durations", ofStall("buckets", (*read.Model).RegionDurations)},
	{"fabrics/{fabric}/regions/{region}", ofFabric((*Dashboards).region)},
	{"fabrics/{fabric}/feedback/actions", overTime((*Dashboards).feedbackActions)},
	{"fabrics/{fabric}/diagnoses", overTime((*Dashboards).diagnoses)},
	{"fabrics/{fabric}/jobs", overTime((*Dashboards).jobs)},
	{"fabrics/{fabric}/failures", overTime((*Dashboards).failures)},
	{"fabrics/{fabric}/link-time", overTime((*Dashboards).linkTime)},
	{"fabrics/{fabric}/top-links", overTime((*Dashboards).topLinks)},
	{"fabrics/{fabric}/links/{link}", overTime((*Dashboards).linkSeries)},
}

// ofFabric answers for a fabric that is known.
func ofFabric(answer func(*Dashboards, *fabric, *http.Request) (any, error)) func(*Dashboards, *http.Request) (any, error) {
	return func(d *Dashboards, r *http.Request) (any, error) {
		f, err := d.fabricOf(r)
		if err != nil {
			return nil, err
		}
		return answer(d, f, r)
	}
}

// overTime answers a question about a span; from and to are added to an answer that
// has none of its own.
func overTime(answer func(*Dashboards, question) (fields, error)) func(*Dashboards, *http.Request) (any, error) {
	return ofFabric(func(d *Dashboards, f *fabric, r *http.Request) (any, error) {
		q, err := d.parseQuestion(f, r)
		if err != nil {
			return nil, err
		}
		out, err := answer(d, q)
		if err != nil {
			return nil, err
		}
		if _, other := out["from"]; !other {
			out["from"], out["to"] = q.span.From, q.span.To
		}
		return out, nil
	})
}

// ofStall answers a question about one stall metric with a list under a name.
func ofStall[T any](name string, query func(*read.Model, context.Context, string, schema.Metric, read.Span) ([]T, error)) func(*Dashboards, *http.Request) (any, error) {
	return overTime(func(d *Dashboards, q question) (fields, error) {
		if err := q.wantStall(); err != nil {
			return nil, err
		}
		list, err := query(d.model, q.ctx, q.fabric.name, q.metric, q.span)
		return fields{"metric": q.metric, name: append([]T{}, list...)}, err
	})
}
