package store

import (
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/giverny/giverny/schema"
)

// linksPerBlock is the number of links in a row of link_samples. It is part of
// the tables' meaning: sql/0002_samples.sql says it too.
const linksPerBlock = 512

// stamp is what every row of an interval carries.
type stamp struct {
	key
	at time.Time // when it was stored
}

// table is one table of an interval's results.
type table struct {
	name      string
	keyColumn string // the start of the interval
	columns   string // as rows gives them
	rows      func(r *schema.IntervalResult, s stamp, m *metrics) rowSet
}

// tables are written in this order, before the marker.
var tables = []table{
	{"link_samples", "time", "fabric, metric, block, time, graph_version, percents, rates, stored_at", sampleRows},
	{"regions", "time", "fabric, time, graph_version, rank, metric, region_id, severity, size, mean, max, name, box_min, box_max, birth, age_intervals, links, odds_next, odds_later, growth_links, trend, stored_at", regionRows},
	{"network_states", "time", "fabric, time, graph_version, metric, state, regions, region_links, coverage, stored_at", stateRows},
	{"events", "interval_start", "fabric, time, interval_start, graph_version, rank, kind, device, port, region_id, job_id, detail, stored_at", eventRows},
	{"raw_counters", "interval_start", "fabric, counter, device, port, time, value, interval_start, graph_version, stored_at", rawRows},
}

const (
	markerTable   = "intervals"
	markerColumns = "fabric, time, graph_version, duration_ms, links, measured, samples, dropped, regions, events, raw, first_read, last_read, stored_at, " + trackingColumns
)

// rowSet is n rows, column by column.
type rowSet struct {
	n       int
	columns []column
}

func (rs rowSet) slice(from, to int) rowSet {
	if from == 0 && to == rs.n {
		return rs
	}
	part := rowSet{n: to - from, columns: make([]column, len(rs.columns))}
	for i, c := range rs.columns {
		part.columns[i] = c.slice(from, to)
	}
	return part
}

type column interface {
	appendTo(driver.BatchColumn) error
	slice(from, to int) column
}

// plain is a column of scalars.
type plain[T any] []T

func (p plain[T]) appendTo(c driver.BatchColumn) error { return c.Append([]T(p)) }
func (p plain[T]) slice(from, to int) column           { return p[from:to] }

// nested is a column of arrays or maps, which clickhouse-go takes faster one by
// one.
type nested[T any] []T

func (v nested[T]) appendTo(c driver.BatchColumn) error {
	for _, row := range v {
		if err := c.AppendRow(row); err != nil {
			return err
		}
	}
	return nil
}
func (v nested[T]) slice(from, to int) column { return v[from:to] }

// repeat is a column of n times the same.
func repeat[T any](v T, n int) column {
	col := make(plain[T], n)
	for i := range col {
		col[i] = v
	}
	return col
}

// each is a column of one value per row of rows.
func each[R, T any](rows []R, value func(*R) T) plain[T] {
	col := make(plain[T], len(rows))
	for i := range rows {
		col[i] = value(&rows[i])
	}
	return col
}

func eachNested[R, T any](rows []R, value func(*R) T) nested[T] {
	return nested[T](each(rows, value))
}

func ranks(n int) column {
	col := make(plain[uint32], n)
	for i := range col {
		col[i] = uint32(i)
	}
	return col
}

func sampleRows(r *schema.IntervalResult, s stamp, m *metrics) rowSet {
	snap := r.Snapshot
	perSeries := (snap.Links + linksPerBlock - 1) / linksPerBlock
	n := perSeries * len(snap.Series)
	metric, block := make(plain[string], 0, n), make(plain[uint32], 0, n)
	percents, rates := make(nested[[]*uint16], 0, n), make(nested[[]*float32], 0, n)
	for i := range snap.Series {
		series := &snap.Series[i]
		var hundredths []*uint16
		var quantities []*float32
		if series.Metric.Unit() == schema.Percent {
			hundredths = encodePercents(series, m)
		} else {
			quantities = encodeRates(series, m)
		}
		for b := range perSeries {
			metric, block = append(metric, series.Metric.String()), append(block, uint32(b))
			percents, rates = append(percents, blockOf(hundredths, b)), append(rates, blockOf(quantities, b))
		}
	}
	return rowSet{n, []column{repeat(s.fabric, n), metric, block, repeat(s.start, n), repeat(s.version, n), percents, rates, repeat(s.at, n)}}
}

func blockOf[T any](values []T, b int) []T {
	return values[min(b*linksPerBlock, len(values)):min((b+1)*linksPerBlock, len(values))]
}

// encodePercents gives hundredths of a percent, nil where missing.
func encodePercents(s *schema.Series, m *metrics) []*uint16 {
	codes, out := make([]uint16, len(s.Values)), make([]*uint16, len(s.Values))
	for i, v := range s.Values {
		if !s.Valid.Has(i) {
			continue
		}
		hundredths := math.Round(float64(v) * 100)
		switch {
		case math.IsNaN(hundredths) || math.IsInf(hundredths, 0):
			m.valuesDropped.WithLabelValues(reasonNotFinite).Inc()
		case hundredths < 0 || hundredths > math.MaxUint16:
			m.valuesDropped.WithLabelValues(reasonOutOfRange).Inc()
		default:
			codes[i] = uint16(hundredths)
			out[i] = &codes[i]
		}
	}
	return out
}

// encodeRates rounds to 12 significant bits, a relative error of at most 2^-12,
// so that the low bits compress away; nil where missing.
func encodeRates(s *schema.Series, m *metrics) []*float32 {
	rounded, out := make([]float32, len(s.Values)), make([]*float32, len(s.Values))
	for i, v := range s.Values {
		if !s.Valid.Has(i) {
			continue
		}
		rounded[i] = math.Float32frombits((math.Float32bits(v) + 1<<11) &^ (1<<12 - 1))
		if f := float64(rounded[i]); math.IsNaN(f) || math.IsInf(f, 0) {
			m.valuesDropped.WithLabelValues(reasonNotFinite).Inc()
			continue
		}
		out[i] = &rounded[i]
	}
	return out
}

func regionRows(r *schema.IntervalResult, s stamp, _ *metrics) rowSet {
	rs, n := r.Regions, len(r.Regions)
	box := func(corner func(*schema.Box) []int) column {
		return eachNested(rs, func(r *schema.Region) []int32 {
			if r.Box == nil {
				return nil
			}
			return convert[int32](corner(r.Box))
		})
	}
	columns := []column{repeat(s.fabric, n), repeat(s.start, n), repeat(s.version, n), ranks(n),
		each(rs, func(r *schema.Region) string { return r.Metric.String() }),
		each(rs, func(r *schema.Region) uint64 { return r.ID }),
		each(rs, func(r *schema.Region) int8 { return int8(r.Severity) }),
		each(rs, func(r *schema.Region) uint32 { return uint32(r.Size) }),
		each(rs, func(r *schema.Region) float64 { return r.Mean }),
		each(rs, func(r *schema.Region) float64 { return r.Max }),
		each(rs, func(r *schema.Region) string { return r.Name }),
		box(func(b *schema.Box) []int { return b.Min }),
		box(func(b *schema.Box) []int { return b.Max }),
		each(rs, func(r *schema.Region) time.Time { return instant(r.BirthNanos) }),
		each(rs, func(r *schema.Region) uint32 { return uint32(r.AgeIntervals) }),
		eachNested(rs, func(r *schema.Region) []uint32 { return convert[uint32](r.Links) })}
	return rowSet{n, append(append(columns, forecastColumns(rs)...), repeat(s.at, n))}
}

func stateRows(r *schema.IntervalResult, s stamp, _ *metrics) rowSet {
	st, n := r.States, len(r.States)
	return rowSet{n, []column{repeat(s.fabric, n), repeat(s.start, n), repeat(s.version, n),
		each(st, func(s *schema.NetworkState) string { return s.Metric.String() }),
		each(st, func(s *schema.NetworkState) int8 { return int8(s.Severity) }),
		eachNested(st, func(s *schema.NetworkState) []uint32 { return s.Regions[:] }),
		eachNested(st, func(s *schema.NetworkState) []uint32 { return s.RegionLinks[:] }),
		each(st, func(s *schema.NetworkState) float32 { return float32(s.Coverage) }),
		repeat(s.at, n)}}
}

func eventRows(r *schema.IntervalResult, s stamp, _ *metrics) rowSet {
	ev, n := r.Events, len(r.Events)
	return rowSet{n, []column{repeat(s.fabric, n),
		each(ev, func(e *schema.Event) time.Time { return instant(e.TimeNanos) }),
		repeat(s.start, n), repeat(s.version, n), ranks(n),
		each(ev, func(e *schema.Event) string { return string(e.Kind) }),
		each(ev, func(e *schema.Event) string { return e.Device }),
		each(ev, func(e *schema.Event) string { return e.Port }),
		each(ev, func(e *schema.Event) uint64 { return e.RegionID }),
		each(ev, func(e *schema.Event) string { return e.JobID }),
		each(ev, func(e *schema.Event) string { return e.Detail }),
		repeat(s.at, n)}}
}

// keptRaw lists the columns of a batch from which no metric is made.
func keptRaw(b *schema.CounterBatch) []*schema.CounterColumn {
	var kept []*schema.CounterColumn
	for i := range b.Columns {
		c := &b.Columns[i]
		if schema.KeptRaw(c.Name) {
			kept = append(kept, c)
		}
	}
	return kept
}

// rawCount is the number of readings kept raw.
func rawCount(r *schema.IntervalResult) (n int) {
	for _, b := range r.Raw {
		for _, c := range keptRaw(b) {
			if c.Valid != nil {
				n += c.Valid.Count()
			} else {
				n += b.Rows()
			}
		}
	}
	return n
}

func rawRows(r *schema.IntervalResult, s stamp, _ *metrics) rowSet {
	room := rawCount(r)
	counter, device, port := make(plain[string], 0, room), make(plain[string], 0, room), make(plain[string], 0, room)
	at, value := make(plain[time.Time], 0, room), make(plain[uint64], 0, room)
	for _, b := range r.Raw {
		for _, c := range keptRaw(b) {
			for row, v := range c.Values {
				if c.Valid != nil && !c.Valid.Has(row) {
					continue
				}
				p := b.Ports[b.PortIndex[row]]
				counter, device, port = append(counter, c.Name), append(device, p.Device), append(port, p.Port)
				at, value = append(at, instant(b.TimeNanos[row])), append(value, v)
			}
		}
	}
	n := len(value)
	return rowSet{n, []column{repeat(s.fabric, n), counter, device, port, at, value, repeat(s.start, n), repeat(s.version, n), repeat(s.at, n)}}
}

// markerRow makes an interval visible.
func markerRow(r *schema.IntervalResult, s stamp) rowSet {
	snap := r.Snapshot
	measured := make(map[string]uint32, len(snap.Series))
	for i := range snap.Series {
		measured[snap.Series[i].Metric.String()] = uint32(snap.Series[i].Count)
	}
	dropped := r.Dropped
	if dropped == nil {
		dropped = map[string]uint64{}
	}
	columns := []column{plain[string]{s.fabric}, plain[time.Time]{s.start}, plain[uint64]{s.version},
		plain[uint32]{uint32(snap.Interval.DurationNanos / 1e6)}, plain[uint32]{uint32(snap.Links)},
		nested[map[string]uint32]{measured}, plain[uint64]{uint64(snap.Samples)}, nested[map[string]uint64]{dropped},
		plain[uint32]{uint32(len(r.Regions))}, plain[uint32]{uint32(len(r.Events))}, plain[uint64]{uint64(rawCount(r))},
		plain[time.Time]{instant(snap.FirstReadNanos)}, plain[time.Time]{instant(snap.LastReadNanos)}, plain[time.Time]{s.at}}
	return rowSet{1, append(columns, trackingRow(r)...)}
}

// convert copies numbers to another type, which must be able to hold them.
func convert[To, From ~int | ~int32 | ~uint32](in []From) []To {
	out := make([]To, len(in))
	for i, v := range in {
		out[i] = To(v)
	}
	return out
}
