package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/schema"
)

// ErrNotFound is returned where there is no such interval or graph.
var ErrNotFound = errors.New("not found in the store")

//go:embed sql/query/*.sql
var queryFiles embed.FS

// Span is the half-open stretch [From, To) of event time, nanoseconds UTC.
type Span struct{ FromNanos, ToNanos int64 }

// SpanOf is the span of one interval.
func SpanOf(i schema.Interval) Span { return Span{i.StartNanos, i.EndNanos()} }

// args are the values of a query's {name:Type} parameters.
type args map[string]any

// inSpan are the arguments of a question about intervals that start in a span.
func inSpan(fabric string, s Span) args {
	return args{"fabric": fabric, "from": ceilMillis(s.FromNanos), "to": ceilMillis(s.ToNanos)}
}

// ceilMillis keeps [from, to) exact: starts are whole milliseconds.
func ceilMillis(nanos int64) int64 {
	ms := nanos / 1e6
	if nanos%1e6 > 0 {
		ms++
	}
	return ms
}

func (a args) with(name string, value any) args {
	b := maps.Clone(a)
	b[name] = value
	return b
}

// ask runs sql/query/NAME.sql and scans all its rows into T's fields.
func ask[T any](ctx context.Context, db *DB, name string, a args) ([]T, error) {
	sql, err := queryFiles.ReadFile("sql/query/" + name + ".sql")
	if err != nil {
		panic("store: " + err.Error())
	}
	named := make([]any, 0, len(a))
	for k, v := range a {
		named = append(named, clickhouse.Named(k, v))
	}
	began := db.now()
	defer func() { db.metrics.querySeconds.WithLabelValues(name).Observe(db.now().Sub(began).Seconds()) }()
	var rows []T
	if err := db.conn.Select(ctx, &rows, string(sql), named...); err != nil {
		return nil, fmt.Errorf("query %s of fabric %v: %w", name, a["fabric"], err)
	}
	return rows, nil
}

// Stored describes an interval that is stored in full.
type Stored struct {
	schema.Interval
	GraphVersion uint64
	Links        int
	Measured     map[schema.Metric]int // links with a value
	Samples      int                   // counter readings that went in
	Dropped      map[string]uint64     // readings that came to nothing, by reason
	Regions      int
	Events       int
	Raw          int // readings kept raw
	// FirstReadNanos and LastReadNanos bound the readings; 0 if there were none.
	FirstReadNanos, LastReadNanos int64
	StoredAtNanos                 int64
}

// Coverage is the share of links, 0 to 1, with a value of the metric.
func (s *Stored) Coverage(m schema.Metric) float64 {
	if s.Links == 0 {
		return 0
	}
	return float64(s.Measured[m]) / float64(s.Links)
}

type storedRow struct {
	Time         time.Time         `ch:"time"`
	DurationMs   uint32            `ch:"duration_ms"`
	GraphVersion uint64            `ch:"graph_version"`
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
}

func (r *storedRow) stored() (Stored, error) {
	s := Stored{Interval: schema.Interval{StartNanos: r.Time.UnixNano(), DurationNanos: int64(r.DurationMs) * 1e6}, GraphVersion: r.GraphVersion,
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
	return s, nil
}

// LastStored is the last interval of a fabric that is stored in full, where a
// restart goes on. ErrNotFound: there is none.
func (db *DB) LastStored(ctx context.Context, fabric string) (Stored, error) {
	rows, err := ask[storedRow](db.exact(ctx), db, "last_interval", args{"fabric": fabric})
	if err != nil {
		return Stored{}, err
	}
	if len(rows) == 0 {
		return Stored{}, fmt.Errorf("last interval of fabric %q: %w", fabric, ErrNotFound)
	}
	return rows[0].stored()
}

// Intervals lists the stored intervals that start in a span, in order. An
// interval in which the graph changed can be there once per version.
func (db *DB) Intervals(ctx context.Context, fabric string, span Span) ([]Stored, error) {
	rows, err := ask[storedRow](ctx, db, "intervals", inSpan(fabric, span))
	if err != nil {
		return nil, err
	}
	return convertRows(rows, (*storedRow).stored)
}

func convertRows[R, T any](rows []R, one func(*R) (T, error)) ([]T, error) {
	out := make([]T, len(rows))
	for i := range rows {
		var err error
		if out[i], err = one(&rows[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Snapshot is what was stored of the interval that starts at startNanos, with
// the given metrics, or with all if none is given. Percentages come back rounded
// to a hundredth, other quantities to 12 significant bits. ErrNotFound: the
// interval is not stored.
func (db *DB) Snapshot(ctx context.Context, fabric string, startNanos int64, metrics ...schema.Metric) (*schema.Snapshot, error) {
	stored, err := db.Intervals(ctx, fabric, Span{startNanos, startNanos + 1})
	if err != nil {
		return nil, err
	}
	if len(stored) == 0 {
		return nil, fmt.Errorf("interval %s of fabric %q: %w", instant(startNanos).Format(time.RFC3339Nano), fabric, ErrNotFound)
	}
	return db.snapshot(ctx, fabric, stored[len(stored)-1], metrics)
}

// LatestSnapshot is the snapshot of the last stored interval.
func (db *DB) LatestSnapshot(ctx context.Context, fabric string, metrics ...schema.Metric) (*schema.Snapshot, error) {
	stored, err := db.LastStored(ctx, fabric)
	if err != nil {
		return nil, err
	}
	return db.snapshot(ctx, fabric, stored, metrics)
}

func (db *DB) snapshot(ctx context.Context, fabric string, s Stored, metrics []schema.Metric) (*schema.Snapshot, error) {
	if len(metrics) == 0 {
		metrics = slices.Collect(maps.Keys(s.Measured))
	}
	slices.Sort(metrics)
	snap := &schema.Snapshot{Fabric: fabric, GraphVersion: s.GraphVersion, Interval: s.Interval, Links: s.Links,
		FirstReadNanos: s.FirstReadNanos, LastReadNanos: s.LastReadNanos, Samples: s.Samples}
	blocks, err := ask[struct {
		Metric string    `ch:"metric"`
		Block  uint32    `ch:"block"`
		Values []float32 `ch:"values"`
	}](ctx, db, "snapshot", args{"fabric": fabric, "metrics": metricNames(metrics), "start": s.StartNanos / 1e6, "version": s.GraphVersion})
	if err != nil {
		return nil, err
	}
	series := make(map[string]*schema.Series, len(metrics))
	snap.Series = make([]schema.Series, 0, len(metrics))
	for _, m := range metrics {
		if _, measured := s.Measured[m]; measured {
			snap.Series = append(snap.Series, schema.Series{Metric: m, Values: make([]float32, s.Links), Valid: schema.NewBitmap(s.Links)})
			series[m.String()] = &snap.Series[len(snap.Series)-1]
		}
	}
	for _, b := range blocks {
		first := int(b.Block) * linksPerBlock
		to := series[b.Metric]
		if to == nil || first+len(b.Values) > s.Links {
			return nil, fmt.Errorf("interval %s of fabric %q: block %d of %s does not belong there", s.Interval, fabric, b.Block, b.Metric)
		}
		fill(to, first, b.Values)
	}
	return snap, nil
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

func metricNames(metrics []schema.Metric) []string {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.String()
	}
	return names
}

// Point is a value at the start of an interval.
type Point struct {
	StartNanos int64
	Value      float64
}

// LinkSeries is one metric of one link over a span, without the intervals in
// which it was not measured.
func (db *DB) LinkSeries(ctx context.Context, fabric string, m schema.Metric, link schema.LinkID, span Span) ([]Point, error) {
	a := inSpan(fabric, span).with("metric", m.String()).with("block", uint32(link)/linksPerBlock).with("element", uint32(link)%linksPerBlock+1)
	rows, err := ask[struct {
		Time  time.Time `ch:"time"`
		Value *float64  `ch:"value"`
	}](ctx, db, "link_series", a)
	if err != nil {
		return nil, err
	}
	points := make([]Point, len(rows))
	for i, r := range rows {
		points[i] = Point{r.Time.UnixNano(), *r.Value}
	}
	return points, nil
}

// LinkRank is how a link fared over a span, in the metric's unit.
type LinkRank struct {
	Link schema.LinkID
	Mean float64 // over the intervals in which it was measured
	Max  float64
}

// TopLinks are the n links with the highest mean of a metric over a span.
func (db *DB) TopLinks(ctx context.Context, fabric string, m schema.Metric, span Span, n int) ([]LinkRank, error) {
	rows, err := ask[struct {
		Link uint32  `ch:"link"`
		Mean float64 `ch:"mean"`
		Max  float64 `ch:"max"`
	}](ctx, db, "top_links", inSpan(fabric, span).with("metric", m.String()).with("n", uint32(n)))
	if err != nil {
		return nil, err
	}
	ranks := make([]LinkRank, len(rows))
	for i, r := range rows {
		ranks[i] = LinkRank{schema.LinkID(r.Link), r.Mean, r.Max}
	}
	return ranks, nil
}
