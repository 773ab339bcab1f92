package read

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

// Stored describes an interval that is completely stored.
type Stored struct {
	schema.Interval
	GraphVersion uint64
	Revision     uint32 // how often it has been stored again
	Links        int
	Measured     map[schema.Metric]int // links with a value
	Samples      int                   // counter readings aggregated
	Dropped      map[string]uint64     // readings that were discarded, by reason
	Regions      int
	Events       int
	Raw          int // readings stored raw
	// FirstReadNanos and LastReadNanos bound the readings; 0 if there were none.
	FirstReadNanos, LastReadNanos int64
	StoredAtNanos                 int64
	Unknown                       *schema.Unknown // why the network's state is unknown; nil if it is known
}

// Coverage is the share of links, 0 to 1, with a value of the metric.
func (s *Stored) Coverage(m schema.Metric) float64 {
	if s.Links == 0 {
		return 0
	}
	return float64(s.Measured[m]) / float64(s.Links)
}

// Latency is the time from the last counter reading until the interval was stored;
// 0 if there was no reading.
func (s *Stored) Latency() time.Duration {
	if s.LastReadNanos == 0 {
		return 0
	}
	return time.Duration(s.StoredAtNanos - s.LastReadNanos)
}

type storedRow struct {
	Time         time.Time         `ch:"time"`
	DurationMs   uint32            `ch:"duration_ms"`
	GraphVersion uint64            `ch:"graph_version"`
	Revision     uint32            `ch:"revision"`
	Links        uint32            `ch:"links"`
	Measured     map[string]uint32 `ch:"measured"`
	Samples      uint64            `ch:"samples"`
	Dropped      map[string]uint64 `ch:"dropped"`
	Regions      uint32            `ch:"regions"`
	Events       uint32            `ch:"events"`
	Raw          uint64            `ch:"raw"`
	FirstRead    time.Time         `ch:"first_read"`
	LastRead     time.Time         `ch:"last_read"`
	StoredAt     time.Time         `ch:"stored_at"`
	Unknown      string            `ch:"unknown"`
	UnknownSince time.Time         `ch:"unknown_since"`
}

func (r *storedRow) toStored() (Stored, error) {
	s := Stored{Interval: schema.Interval{StartNanos: r.Time.UnixNano(), DurationNanos: int64(r.DurationMs) * 1e6}, GraphVersion: r.GraphVersion, Revision: r.Revision,
		Links: int(r.Links), Measured: make(map[schema.Metric]int, len(r.Measured)), Samples: int(r.Samples), Dropped: r.Dropped,
		Regions: int(r.Regions), Events: int(r.Events), Raw: int(r.Raw),
		FirstReadNanos: r.FirstRead.UnixNano(), LastReadNanos: r.LastRead.UnixNano(), StoredAtNanos: r.StoredAt.UnixNano()}
	for name, n := range r.Measured {
		m, err := schema.ParseMetric(name)
		if err != nil {
			return s, err
		}
		s.Measured[m] = int(n)
	}
	s.Unknown = unknownOf(schema.UnknownReason(r.Unknown), r.UnknownSince, &s)
	return s, nil
}

// unknownOf returns why an interval's state is unknown: the stored reason or,
// for intervals older than that column, that nothing was measured.
func unknownOf(reason schema.UnknownReason, since time.Time, s *Stored) *schema.Unknown {
	if reason != "" {
		return &schema.Unknown{Reason: reason, Since: schema.InstantOf(since)}
	}
	for m, n := range s.Measured {
		if m.IsStall() && n > 0 {
			return nil
		}
	}
	return &schema.Unknown{Reason: schema.NothingMeasured, Since: schema.Instant(s.StartNanos)}
}

// Newest is an instant later than every interval.
const Newest = schema.Instant(7258118400e9) // the year 2200

// LastStored returns the last interval of a fabric that is completely stored,
// after which a restart continues, or ErrNotFound.
func (m *Model) LastStored(ctx context.Context, fabric string) (Stored, error) {
	return m.StoredAt(ctx, fabric, Newest)
}

// StoredAt returns the last completely stored interval that starts at an instant
// or earlier, or ErrNotFound.
func (m *Model) StoredAt(ctx context.Context, fabric string, at schema.Instant) (Stored, error) {
	found, err := rows[storedRow](ctx, m, "last_interval", scope{Args: Args{"fabric": fabric, "at": int64(at) / 1e6}}, store.Question{Exact: true})
	if err != nil {
		return Stored{}, err
	}
	if len(found) == 0 {
		return Stored{}, fmt.Errorf("last interval of fabric %q: %w", fabric, ErrNotFound)
	}
	return found[0].toStored()
}

// FirstStored returns the start of a fabric's first interval that is still stored, or ErrNotFound.
func (m *Model) FirstStored(ctx context.Context, fabric string) (schema.Instant, error) {
	found, err := lookup[struct {
		Time time.Time `ch:"time"`
	}](ctx, m, "first_interval", Args{"fabric": fabric})
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, fmt.Errorf("first interval of fabric %q: %w", fabric, ErrNotFound)
	}
	return schema.InstantOf(found[0].Time), nil
}

// Intervals lists the stored intervals that start in a span, in order.
func (m *Model) Intervals(ctx context.Context, fabric string, span Span) ([]Stored, error) {
	found, err := lookup[storedRow](ctx, m, "intervals", inSpan(fabric, span))
	return convert(found, err, (*storedRow).toStored)
}

// Snapshot returns what was stored of an interval, with the given metrics, or with
// all if none is given. Percentages are rounded to a hundredth, other quantities
// to 12 significant bits.
func (m *Model) Snapshot(ctx context.Context, fabric string, s Stored, metrics ...schema.Metric) (*schema.Snapshot, error) {
	if len(metrics) == 0 {
		metrics = slices.Collect(maps.Keys(s.Measured))
	}
	found, err := m.Snapshots(ctx, fabric, []Stored{s}, metrics...)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Snapshots is Snapshot for several intervals of one graph version, in order, with the
// given metrics, in one query: in small fabrics the overhead per query dominates.
func (m *Model) Snapshots(ctx context.Context, fabric string, intervals []Stored, metrics ...schema.Metric) ([]*schema.Snapshot, error) {
	if len(intervals) == 0 {
		return nil, nil
	}
	slices.Sort(metrics)
	names := make([]string, len(metrics))
	for i, metric := range metrics {
		names[i] = metric.String()
	}
	type place struct {
		start  int64 // milliseconds since 1970
		metric string
	}
	snaps, series := make([]*schema.Snapshot, len(intervals)), map[place]*schema.Series{}
	starts, revisions := make([]int64, len(intervals)), make([]uint32, len(intervals))
	for i, s := range intervals {
		starts[i], revisions[i] = s.StartNanos/1e6, s.Revision
		snaps[i] = bare(fabric, s)
		snaps[i].Series = make([]schema.Series, 0, len(metrics))
		for _, metric := range metrics {
			if _, measured := s.Measured[metric]; measured {
				snaps[i].Series = append(snaps[i].Series, schema.Series{Metric: metric, Values: make([]float32, s.Links), Valid: schema.NewBitmap(s.Links)})
				series[place{starts[i], metric.String()}] = &snaps[i].Series[len(snaps[i].Series)-1]
			}
		}
	}
	blocks, err := lookup[struct {
		At     int64           `ch:"at"`
		Metric string          `ch:"metric"`
		Block  uint32          `ch:"block"`
		Values packed[float32] `ch:"packed_values"`
	}](ctx, m, "snapshot", Args{"fabric": fabric, "metrics": names, "first": slices.Min(starts), "last": slices.Max(starts), "version": intervals[0].GraphVersion, "starts": starts, "revisions": revisions})
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		first := int(b.Block) * store.LinksPerBlock
		to := series[place{b.At, b.Metric}]
		if to == nil || first+len(b.Values) > len(to.Values) {
			return nil, fmt.Errorf("interval %v of fabric %q: block %d of %s does not belong there", schema.Instant(b.At*1e6), fabric, b.Block, b.Metric)
		}
		fill(to, first, b.Values)
	}
	return snaps, nil
}

func fill(s *schema.Series, first int, values []float32) {
	for i, v := range values {
		if !math.IsNaN(float64(v)) {
			s.Values[first+i] = v
			s.Valid.Set(first + i)
			s.Count++
		}
	}
}

// Result returns an interval's analysis result, with the values of its stall
// metrics, without its events and the counts that only serve statistics over time.
func (m *Model) Result(ctx context.Context, fabric string, s Stored) (*schema.IntervalResult, error) {
	r, err := m.Findings(ctx, fabric, s)
	if err != nil {
		return nil, err
	}
	r.Snapshot, err = m.stalls(ctx, fabric, s)
	return r, err
}

// Findings is Result without the Snapshot of link values, which dominate the read in large
// fabrics.
func (m *Model) Findings(ctx context.Context, fabric string, s Stored) (*schema.IntervalResult, error) {
	r := &schema.IntervalResult{}
	if err := m.tracking(ctx, fabric, s, r); err != nil {
		return nil, err
	}
	regions, err := m.Regions(ctx, fabric, SpanOf(s.Interval))
	if err != nil {
		return nil, err
	}
	r.Regions = make([]schema.Region, len(regions))
	for i := range regions {
		r.Regions[i] = regions[i].Region
	}
	states, err := m.NetworkStates(ctx, fabric, SpanOf(s.Interval))
	if err != nil {
		return nil, err
	}
	for _, state := range states {
		r.States = append(r.States, state.NetworkState)
		r.Network.Severity = max(r.Network.Severity, state.Severity)
	}
	r.Network.Unknown = s.Unknown
	r.Diagnoses, err = m.Diagnoses(ctx, fabric, SpanOf(s.Interval), 0)
	return r, err
}

// stalls returns the snapshot of an interval with only its stall metrics.
func (m *Model) stalls(ctx context.Context, fabric string, s Stored) (*schema.Snapshot, error) {
	return m.only(ctx, fabric, s, schema.Metric.IsStall)
}

// learned returns the snapshot of an interval with the metrics that the analysis
// learns from: stalls, and traffic of links.
func (m *Model) learned(ctx context.Context, fabric string, s Stored) (*schema.Snapshot, error) {
	return m.only(ctx, fabric, s, func(metric schema.Metric) bool {
		return metric.IsStall() || metric == schema.BandwidthUsed || metric == schema.Throughput
	})
}

// only returns the snapshot of an interval with some of its metrics.
func (m *Model) only(ctx context.Context, fabric string, s Stored, wanted func(schema.Metric) bool) (*schema.Snapshot, error) {
	s.Measured = maps.Clone(s.Measured)
	maps.DeleteFunc(s.Measured, func(metric schema.Metric, _ int) bool { return !wanted(metric) })
	return m.Snapshot(ctx, fabric, s)
}

// bare returns the snapshot of an interval without values.
func bare(fabric string, s Stored) *schema.Snapshot {
	return &schema.Snapshot{Fabric: fabric, GraphVersion: s.GraphVersion, Interval: s.Interval, Links: s.Links,
		FirstReadNanos: s.FirstReadNanos, LastReadNanos: s.LastReadNanos, Samples: s.Samples}
}

// Results returns the intervals that start in a span, with their regions, their diagnoses and the values of their
// stall metrics and traffic: what a restarted analysis continues from.
func (m *Model) Results(ctx context.Context, fabric string, span Span) ([]*schema.IntervalResult, error) {
	stored, err := m.Intervals(ctx, fabric, span)
	if err != nil {
		return nil, err
	}
	results, err := m.found(ctx, fabric, span, stored)
	if err != nil {
		return nil, err
	}
	for i, s := range stored {
		if results[i].Snapshot, err = m.learned(ctx, fabric, s); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// Found is Results without the values, which take most of the time: what notifications need.
func (m *Model) Found(ctx context.Context, fabric string, span Span) ([]*schema.IntervalResult, error) {
	stored, err := m.Intervals(ctx, fabric, span)
	if err != nil {
		return nil, err
	}
	return m.found(ctx, fabric, span, stored)
}

// found is Found for the given stored intervals of a span.
func (m *Model) found(ctx context.Context, fabric string, span Span, stored []Stored) ([]*schema.IntervalResult, error) {
	regions, err := m.Regions(ctx, fabric, span)
	if err != nil {
		return nil, err
	}
	diagnoses, err := m.Diagnoses(ctx, fabric, span, 0)
	if err != nil {
		return nil, err
	}
	byStart, why := map[schema.Instant][]schema.Region{}, map[schema.Instant][]schema.Diagnosis{}
	for _, r := range regions {
		byStart[r.Time] = append(byStart[r.Time], r.Region)
	}
	for _, d := range diagnoses {
		why[d.Time] = append(why[d.Time], d)
	}
	results := make([]*schema.IntervalResult, len(stored))
	for i, s := range stored {
		start := schema.Instant(s.StartNanos)
		results[i] = &schema.IntervalResult{Snapshot: bare(fabric, s), Regions: byStart[start], Diagnoses: why[start], Revision: s.Revision}
		results[i].Network.Unknown = s.Unknown
	}
	return results, nil
}

// tracking fills in the results of tracking over time.
func (m *Model) tracking(ctx context.Context, fabric string, s Stored, to *schema.IntervalResult) error {
	found, err := lookup[struct {
		Next       []uint8     `ch:"network_next"`
		Later      []uint8     `ch:"network_later"`
		Begin      time.Time   `ch:"rce_begin"`
		End        time.Time   `ch:"rce_end"`
		Peak       float32     `ch:"rce_peak"`
		HotMetrics []string    `ch:"hot_metrics"`
		HotLinks   []uint32    `ch:"hot_links"`
		HotSince   []time.Time `ch:"hot_since"`
	}](ctx, m, "tracking", Args{"fabric": fabric, "start": s.StartNanos / 1e6, "version": s.GraphVersion, "revision": s.Revision})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("interval %s of fabric %q: %w", s.Interval, fabric, ErrNotFound)
	}
	r := &found[0]
	to.Network = schema.NetworkForecast{Next: store.DecodeOdds(r.Next), Later: store.DecodeOdds(r.Later)}
	if begin := r.Begin.UnixNano(); begin != 0 {
		to.Congestion = &schema.CongestionEvent{BeginNanos: begin, EndNanos: r.End.UnixNano(), PeakMeanPercent: decimal(r.Peak)}
	}
	for i, name := range r.HotMetrics {
		metric, err := schema.ParseMetric(name)
		if err != nil {
			return fmt.Errorf("hot links of interval %s: %w", s.Interval, err)
		}
		to.Hot = append(to.Hot, schema.HotLink{Metric: metric, Link: schema.LinkID(r.HotLinks[i]), SinceNanos: r.HotSince[i].UnixNano()})
	}
	return nil
}

// LastStates returns the states of the analysis after the last interval that
// starts at startNanos or earlier and has any, or ErrNotFound.
func (m *Model) LastStates(ctx context.Context, fabric string, startNanos int64) (store.SavedStates, error) {
	return m.db.LastStates(ctx, fabric, startNanos)
}
