package store

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/schema"
)

// RegionAt is a region as it was in one interval.
type RegionAt struct {
	StartNanos int64
	schema.Region
}

type regionRow struct {
	Time         time.Time `ch:"time"`
	Metric       string    `ch:"metric"`
	ID           uint64    `ch:"region_id"`
	Severity     string    `ch:"severity"`
	Size         uint32    `ch:"size"`
	Mean         float64   `ch:"mean"`
	Max          float64   `ch:"max"`
	Name         string    `ch:"name"`
	BoxMin       []int32   `ch:"box_min"`
	BoxMax       []int32   `ch:"box_max"`
	Birth        time.Time `ch:"birth"`
	AgeIntervals uint32    `ch:"age_intervals"`
	Links        []uint32  `ch:"links"`
	OddsNext     []uint8   `ch:"odds_next"`
	OddsLater    []uint8   `ch:"odds_later"`
	GrowthLinks  int32     `ch:"growth_links"`
	Trend        float32   `ch:"trend"`
}

func (r *regionRow) region() (RegionAt, error) {
	at := RegionAt{StartNanos: r.Time.UnixNano(), Region: schema.Region{ID: r.ID, Size: int(r.Size), Mean: r.Mean, Max: r.Max, Name: r.Name,
		Links: convert[schema.LinkID](r.Links), AgeIntervals: int(r.AgeIntervals), BirthNanos: r.Birth.UnixNano()}}
	if len(r.BoxMin) > 0 {
		at.Box = &schema.Box{Min: convert[int](r.BoxMin), Max: convert[int](r.BoxMax)}
	}
	if len(r.OddsNext) > 0 {
		at.Forecast = &schema.Forecast{GrowthLinks: int(r.GrowthLinks), TrendPercent: float64(r.Trend), Next: decodeOdds(r.OddsNext), Later: decodeOdds(r.OddsLater)}
	}
	var err error
	if at.Metric, err = schema.ParseMetric(r.Metric); err != nil {
		return at, fmt.Errorf("region %d at %s: %w", r.ID, r.Time, err)
	}
	return at, at.Severity.UnmarshalText([]byte(r.Severity))
}

// Regions are those of the intervals that start in a span, in the order of the
// intervals and, within one, in that of the Result they came with.
func (db *DB) Regions(ctx context.Context, fabric string, span Span) ([]RegionAt, error) {
	rows, err := ask[regionRow](ctx, db, "regions", inSpan(fabric, span))
	if err != nil {
		return nil, err
	}
	return convertRows(rows, (*regionRow).region)
}

// RegionHistory is one region from birth to end, interval by interval.
func (db *DB) RegionHistory(ctx context.Context, fabric string, id uint64) ([]RegionAt, error) {
	rows, err := ask[regionRow](ctx, db, "region_history", args{"fabric": fabric, "id": id})
	if err != nil {
		return nil, err
	}
	return convertRows(rows, (*regionRow).region)
}

// Events are what happened in a span, of the given kinds, or of all if none is
// given.
func (db *DB) Events(ctx context.Context, fabric string, span Span, kinds ...schema.EventKind) ([]schema.Event, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	rows, err := ask[struct {
		Fabric   string    `ch:"fabric"`
		Time     time.Time `ch:"time"`
		Kind     string    `ch:"kind"`
		Device   string    `ch:"device"`
		Port     string    `ch:"port"`
		RegionID uint64    `ch:"region_id"`
		JobID    string    `ch:"job_id"`
		Detail   string    `ch:"detail"`
	}](ctx, db, "events", args{"fabric": fabric, "kinds": names, "from": span.FromNanos, "to": span.ToNanos})
	if err != nil {
		return nil, err
	}
	events := make([]schema.Event, len(rows))
	for i, r := range rows {
		events[i] = schema.Event{TimeNanos: r.Time.UnixNano(), Fabric: r.Fabric, Kind: schema.EventKind(r.Kind), Device: r.Device, Port: r.Port,
			RegionID: r.RegionID, JobID: r.JobID, Detail: r.Detail}
	}
	return events, nil
}

// StateAt is a network state in one interval.
type StateAt struct {
	StartNanos int64
	schema.NetworkState
}

// NetworkStates are those of the intervals that start in a span, by interval and
// metric.
func (db *DB) NetworkStates(ctx context.Context, fabric string, span Span) ([]StateAt, error) {
	type row struct {
		Time        time.Time `ch:"time"`
		Metric      string    `ch:"metric"`
		State       string    `ch:"state"`
		Regions     []uint32  `ch:"regions"`
		RegionLinks []uint32  `ch:"region_links"`
		Coverage    float32   `ch:"coverage"`
	}
	rows, err := ask[row](ctx, db, "network_states", inSpan(fabric, span))
	if err != nil {
		return nil, err
	}
	return convertRows(rows, func(r *row) (StateAt, error) {
		at := StateAt{StartNanos: r.Time.UnixNano(), NetworkState: schema.NetworkState{Coverage: float64(r.Coverage)}}
		copy(at.Regions[:], r.Regions)
		copy(at.RegionLinks[:], r.RegionLinks)
		var err error
		if at.Metric, err = schema.ParseMetric(r.Metric); err != nil {
			return at, fmt.Errorf("network state at %s: %w", r.Time, err)
		}
		return at, at.Severity.UnmarshalText([]byte(r.State))
	})
}
