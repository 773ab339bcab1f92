package read

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

// RegionAt is a region as it was in one interval; its links are numbered as in
// that version of the graph.
type RegionAt struct {
	Time         schema.Instant `json:"time"` // start of the interval
	GraphVersion Version        `json:"graph_version"`
	Region       schema.Region  `json:"region"`
}

type regionRow struct {
	Time         time.Time      `ch:"time"`
	GraphVersion uint64         `ch:"graph_version"`
	Metric       string         `ch:"metric"`
	ID           uint64         `ch:"region_id"`
	Severity     string         `ch:"severity"`
	Size         uint32         `ch:"size"`
	Mean         float64        `ch:"mean"`
	Max          float64        `ch:"max"`
	Name         string         `ch:"name"`
	BoxMin       []int32        `ch:"box_min"`
	BoxMax       []int32        `ch:"box_max"`
	Birth        time.Time      `ch:"birth"`
	AgeIntervals uint32         `ch:"age_intervals"`
	Unread       uint32         `ch:"unread"`
	Links        packed[uint32] `ch:"packed_links"`
	OddsNext     []uint8        `ch:"odds_next"`
	OddsLater    []uint8        `ch:"odds_later"`
	GrowthLinks  int32          `ch:"growth_links"`
	Trend        float32        `ch:"trend"`
	RootDevice   string         `ch:"root_device"`
	RootPort     string         `ch:"root_port"`
	RootLink     uint32         `ch:"root_link"`
	RootPeer     string         `ch:"root_peer"`
	RootKind     string         `ch:"root_kind"`
}

func (r *regionRow) toRegion() (RegionAt, error) {
	at := RegionAt{Time: schema.InstantOf(r.Time), GraphVersion: Version(r.GraphVersion), Region: schema.Region{ID: r.ID, Size: int(r.Size), Mean: r.Mean, Max: r.Max,
		Name: r.Name, Links: numbers[schema.LinkID]([]uint32(r.Links)), AgeIntervals: int(r.AgeIntervals), Unread: int(r.Unread), BirthNanos: r.Birth.UnixNano()}}
	to := &at.Region
	if len(r.BoxMin) > 0 {
		to.Box = &schema.Box{Min: numbers[int](r.BoxMin), Max: numbers[int](r.BoxMax)}
	}
	if len(r.OddsNext) > 0 {
		to.Forecast = &schema.Forecast{GrowthLinks: int(r.GrowthLinks), TrendPercent: decimal(r.Trend), Next: store.DecodeOdds(r.OddsNext), Later: store.DecodeOdds(r.OddsLater)}
	}
	if r.RootDevice != "" {
		to.Root = &schema.Root{Device: r.RootDevice, Port: r.RootPort, Peer: r.RootPeer, Kind: r.RootKind, Link: schema.LinkID(r.RootLink)}
	}
	var err error
	if to.Metric, err = schema.ParseMetric(r.Metric); err != nil {
		return at, fmt.Errorf("region %d at %s: %w", r.ID, r.Time, err)
	}
	return at, to.Severity.UnmarshalText([]byte(r.Severity))
}

// Regions returns the regions of the intervals that start in a span, by
// interval and, within one, in the order of the stored result.
func (m *Model) Regions(ctx context.Context, fabric string, span Span) ([]RegionAt, error) {
	return m.NewestRegions(ctx, fabric, span, schema.NoMetric, schema.Negligible, allRows)
}

// allRows is more rows than any query returns.
const allRows = 1 << 40

// NewestRegions is Regions for the n newest of a metric (NoMetric: any) and at least a severity.
func (m *Model) NewestRegions(ctx context.Context, fabric string, span Span, metric schema.Metric, least schema.Severity, n int) ([]RegionAt, error) {
	found, err := limited[regionRow](ctx, m, "regions", inSpan(fabric, span).with("metric", metric.String()).with("least", uint8(least)).with("limit", n))
	slices.Reverse(found)
	return convert(found, err, (*regionRow).toRegion)
}

// BirthOf is the second of a region's birth, which its id contains.
func BirthOf(id uint64) schema.Instant { return schema.Instant(id>>20) * 1e9 }

// RegionHistory returns one region interval by interval, within a span.
func (m *Model) RegionHistory(ctx context.Context, fabric string, id uint64, span Span) ([]RegionAt, error) {
	span.From = max(span.From, BirthOf(id))
	found, err := limited[regionRow](ctx, m, "region_history", inSpan(fabric, span).with("id", id))
	return convert(found, err, (*regionRow).toRegion)
}

// SevereRegions returns the ids of the regions that had at least a severity in an interval of a span.
func (m *Model) SevereRegions(ctx context.Context, fabric string, span Span, least schema.Severity) (map[uint64]bool, error) {
	type row struct {
		ID uint64 `ch:"region_id"`
	}
	found, err := limited[row](ctx, m, "severe_regions", inSpan(fabric, span).with("least", uint8(least)))
	ids := make(map[uint64]bool, len(found))
	for _, r := range found {
		ids[r.ID] = true
	}
	return ids, err
}

// Events returns the events in a span, of the given kinds, or of all if none is
// given.
func (m *Model) Events(ctx context.Context, fabric string, span Span, kinds ...schema.EventKind) ([]schema.Event, error) {
	return m.NewestEvents(ctx, fabric, span, allRows, kinds...)
}

// NewestEvents is Events for the n newest.
func (m *Model) NewestEvents(ctx context.Context, fabric string, span Span, n int, kinds ...schema.EventKind) ([]schema.Event, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	type row struct {
		Fabric   string    `ch:"fabric"`
		Time     time.Time `ch:"time"`
		Kind     string    `ch:"kind"`
		Device   string    `ch:"device"`
		Port     string    `ch:"port"`
		RegionID uint64    `ch:"region_id"`
		JobID    string    `ch:"job_id"`
		Detail   string    `ch:"detail"`
	}
	found, err := lookup[row](ctx, m, "events", inNanos(fabric, span).with("kinds", names).with("limit", n))
	slices.Reverse(found)
	return convert(found, err, func(r *row) (schema.Event, error) {
		return schema.Event{TimeNanos: r.Time.UnixNano(), Fabric: r.Fabric, Kind: schema.EventKind(r.Kind), Device: r.Device, Port: r.Port,
			RegionID: r.RegionID, JobID: r.JobID, Detail: r.Detail}, nil
	})
}

// StateAt is a network state in one interval.
type StateAt struct {
	Time schema.Instant `json:"time"` // start of the interval
	schema.NetworkState
}

// NetworkStates returns the states of the intervals that start in a span, by
// interval and metric.
func (m *Model) NetworkStates(ctx context.Context, fabric string, span Span) ([]StateAt, error) {
	type row struct {
		Time        time.Time `ch:"time"`
		Metric      string    `ch:"metric"`
		State       string    `ch:"state"`
		Regions     []uint32  `ch:"regions"`
		RegionLinks []uint32  `ch:"region_links"`
		Coverage    float32   `ch:"coverage"`
	}
	found, err := lookup[row](ctx, m, "network_states", inSpan(fabric, span))
	return convert(found, err, func(r *row) (StateAt, error) {
		at := StateAt{Time: schema.InstantOf(r.Time), NetworkState: schema.NetworkState{Coverage: decimal(r.Coverage)}}
		copy(at.Regions[:], r.Regions)
		copy(at.RegionLinks[:], r.RegionLinks)
		var err error
		if at.Metric, err = schema.ParseMetric(r.Metric); err != nil {
			return at, fmt.Errorf("network state at %s: %w", r.Time, err)
		}
		return at, at.Severity.UnmarshalText([]byte(r.State))
	})
}

// NetworkAt is the network's state over all metrics in one interval.
type NetworkAt struct {
	Time     schema.Instant       `json:"time"`              // start of the interval
	Length   time.Duration        `json:"-"`                 // of the interval
	State    string               `json:"state"`             // a severity, or Unknown
	Severity schema.Severity      `json:"-"`                 // by what was measured
	Unknown  schema.UnknownReason `json:"unknown,omitempty"` // why the state is unknown
	Low      int                  `json:"low"`               // regions
	Medium   int                  `json:"medium"`
	High     int                  `json:"high"`
}

// Network returns the network's state in the intervals that start in a span.
func (m *Model) Network(ctx context.Context, fabric string, span Span) ([]NetworkAt, error) {
	type row struct {
		Time     time.Time `ch:"time"`
		LengthMs uint32    `ch:"length_ms"`
		Reason   string    `ch:"reason"`
		Severity uint8     `ch:"severity"`
		Regions  []uint64  `ch:"regions"`
	}
	found, err := limited[row](ctx, m, "network", inSpan(fabric, span))
	return convert(found, err, func(r *row) (NetworkAt, error) {
		at := NetworkAt{Time: schema.InstantOf(r.Time), Length: time.Duration(r.LengthMs) * time.Millisecond, Severity: schema.Severity(r.Severity), Unknown: schema.UnknownReason(r.Reason)}
		network := schema.NetworkForecast{Severity: at.Severity}
		if at.Unknown != "" {
			network.Unknown = &schema.Unknown{Reason: at.Unknown}
		}
		at.State = network.StateName()
		if len(r.Regions) == len(schema.Severities) {
			at.Low, at.Medium, at.High = int(r.Regions[schema.Low]), int(r.Regions[schema.Medium]), int(r.Regions[schema.High])
		}
		return at, nil
	})
}
