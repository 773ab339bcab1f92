package main

import (
	"context"
	"errors"
	"time"

	"github.com/giverny/giverny/dashboards"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/topology"
)

// records lets the dashboards read the store.
type records struct{ db *store.DB }

func (r records) Latest(ctx context.Context, fabric string) (dashboards.Stored, bool, error) {
	s, err := r.db.LastStored(ctx, fabric)
	if errors.Is(err, store.ErrNotFound) {
		return dashboards.Stored{}, false, nil
	}
	return dashboards.Stored{Interval: s.Interval, LatencySeconds: latency(s).Seconds()}, err == nil, err
}

func (r records) Snapshot(ctx context.Context, fabric string, start int64) (*schema.Snapshot, error) {
	return r.db.Snapshot(ctx, fabric, start)
}

func (r records) Regions(ctx context.Context, fabric string, start int64) ([]schema.Region, error) {
	stored, err := r.db.Regions(ctx, fabric, store.Span{FromNanos: start, ToNanos: start + 1})
	regions := make([]schema.Region, len(stored))
	for i := range stored {
		regions[i] = stored[i].Region
	}
	return regions, err
}

// latency is the time from the last counter read of an interval until it was
// stored.
func latency(s store.Stored) time.Duration {
	if s.LastReadNanos == 0 {
		return 0
	}
	return time.Duration(s.StoredAtNanos - s.LastReadNanos)
}

// openEnd is the end of a span without one: the year 2200.
const openEnd = 7258118400e9

func (r records) States(ctx context.Context, fabric string, from int64) ([]dashboards.StateAt, error) {
	states, err := r.db.NetworkStates(ctx, fabric, store.Span{FromNanos: from, ToNanos: openEnd})
	var joined []dashboards.StateAt
	for _, s := range states {
		if n := len(joined); n == 0 || joined[n-1].StartNanos != s.StartNanos {
			joined = append(joined, dashboards.StateAt{StartNanos: s.StartNanos})
		}
		j := &joined[len(joined)-1]
		j.State = max(j.State, s.Severity)
		j.Low += int(s.Regions[schema.Low])
		j.Medium += int(s.Regions[schema.Medium])
		j.High += int(s.Regions[schema.High])
	}
	return joined, err
}

func (r records) Events(ctx context.Context, fabric string, from int64) ([]schema.Event, error) {
	return r.db.Events(ctx, fabric, store.Span{FromNanos: from, ToNanos: openEnd})
}

func (r records) Tracking(ctx context.Context, fabric string, start int64) (dashboards.Tracking, error) {
	t, err := r.db.TrackingAt(ctx, fabric, start)
	return dashboards.Tracking{Network: t.Network, Congestion: t.Congestion, Hot: t.Hot}, err
}

func (r records) Transitions(ctx context.Context, fabric string, metric schema.Metric, span dashboards.Span) (regions, network dashboards.Moves, err error) {
	moves, err := r.db.RegionMoves(ctx, fabric, metric, store.Span(span))
	if err != nil {
		return regions, network, err
	}
	metrics := []schema.Metric{metric}
	if metric == schema.NoMetric {
		metrics = stallMetrics()
	}
	states, err := r.db.NetworkTransitions(ctx, fabric, metrics, store.Span(span))
	for from, row := range states {
		copy(network[from][:], row[:])
	}
	return dashboards.Moves(moves), network, err
}

func stallMetrics() (list []schema.Metric) {
	for m := range schema.Metric(schema.NumMetrics) {
		if m.IsStall() {
			list = append(list, m)
		}
	}
	return list
}

func (r records) Congestion(ctx context.Context, fabric string, span dashboards.Span) ([]schema.CongestionEvent, error) {
	return r.db.Congestion(ctx, fabric, store.Span(span))
}

func (r records) HotDurations(ctx context.Context, fabric string, metric schema.Metric, span dashboards.Span) ([]dashboards.HotDurations, error) {
	spells, err := r.db.HotSpells(ctx, fabric, metric, store.Span(span))
	durations := make([]dashboards.HotDurations, len(spells))
	for i, s := range spells {
		durations[i] = dashboards.HotDurations{ThresholdPercent: s.ThresholdPercent, Spells: s.Hotspots,
			MedianSeconds: s.Median.Seconds(), P99Seconds: s.P99.Seconds(), P999Seconds: s.P99_9.Seconds()}
	}
	return durations, err
}

func (r records) ForecastSkill(ctx context.Context, fabric string, span dashboards.Span) (next, later dashboards.Skill, err error) {
	n, l, err := r.db.ForecastSkill(ctx, fabric, store.Span(span))
	return dashboards.Skill{Forecasts: int(n.Forecasts), Brier: n.Brier, Persistence: n.Persistence}, dashboards.Skill{Forecasts: int(l.Forecasts), Brier: l.Brier, Persistence: l.Persistence}, err
}

// storedGraph is a graph as the store keeps it.
func storedGraph(g *topology.Graph) store.Graph {
	s := store.Graph{Fabric: g.Fabric(), Version: g.Version(), ValidFromNanos: time.Now().UnixNano(), Duplex: g.Duplex()}
	if grid := g.Grid(); grid != nil {
		s.GridDims, s.GridWrap = grid.Dims, grid.Wrap
	}
	for id := range topology.DeviceID(g.NumDevices()) {
		d := g.Device(id)
		s.Devices = append(s.Devices, store.Device{Name: d.Name, Kind: d.Kind.String(), GUID: d.GUID, Label: d.Label, Level: int(d.Level), Group: int(d.Group), Coord: d.Coord})
	}
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		s.Links = append(s.Links, store.Link{FromDevice: g.Device(l.From).Name, FromPort: l.FromPort, ToDevice: g.Device(l.To).Name, ToPort: l.ToPort,
			Class: l.Class.String(), CapacityBytesPerSecond: l.CapacityBytesPerSecond, Dim: int(l.Dim), Coord: g.Device(l.From).Coord, Up: l.Up})
	}
	return s
}
