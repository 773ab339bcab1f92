package store

import (
	"math"
	"time"

	"github.com/giverny/giverny/schema"
)

// LinksPerBlock is the number of links in a row of link_samples. It is part of
// the table format: sql/0002_samples.sql repeats it.
const LinksPerBlock = 512

// rowMeta holds the columns that every row of an interval has.
type rowMeta struct {
	key
	storedAt time.Time
}

// complete puts the columns of m before a table's own. keyColumn names the
// column for the start of the interval.
func (m rowMeta) complete(rows rowSet, keyColumn string) rowSet {
	n := rows.n
	common := []field{{"fabric", repeat(m.fabric, n)}, {keyColumn, repeat(m.start, n)}, {"graph_version", repeat(m.version, n)}, {"revision", repeat(m.revision, n)},
		{"stored_at", repeat(m.storedAt, n)}}
	return rowSet{n, append(common, rows.fields...)}
}

// table is one table of an interval's results: a migration creates it, rows
// fills all columns except those of rowMeta, and no other code depends on it.
type table struct {
	name      string
	keyColumn string // the start of the interval
	rows      func(r *schema.IntervalResult, m *metrics) rowSet
}

// tables are written in this order, before the marker.
var tables = []table{
	{"link_samples", "time", sampleRows},
	{"regions", "time", regionRows},
	{"network_states", "time", stateRows},
	{"events", "interval_start", eventRows},
	{"port_readings", "interval_start", readingRows},
	{"diagnoses", "time", diagnosisRows},
	{"mitigations", "time", mitigationRows},
}

// marker is written last and makes an interval visible. It counts the rows of the
// tables; results of a stage belong in a table of their own.
var marker = table{"intervals", "time", markerRow}

func (t *table) rowsOf(r *schema.IntervalResult, meta rowMeta, m *metrics) rowSet {
	return meta.complete(t.rows(r, m), t.keyColumn)
}

func sampleRows(r *schema.IntervalResult, m *metrics) rowSet {
	snap := r.Snapshot
	perSeries := (snap.Links + LinksPerBlock - 1) / LinksPerBlock
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
	return rowSet{n, []field{{"metric", metric}, {"block", block}, {"percents", percents}, {"rates", rates}}}
}

func blockOf[T any](values []T, b int) []T {
	return values[min(b*LinksPerBlock, len(values)):min((b+1)*LinksPerBlock, len(values))]
}

// encodePercents returns hundredths of a percent, nil where missing.
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

// encodeRates rounds to 12 significant bits (relative error at most 2^-12), so
// that the low bits compress well; nil where missing.
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

func regionRows(r *schema.IntervalResult, _ *metrics) rowSet {
	rs := r.Regions
	box := func(corner func(*schema.Box) []int) column {
		return eachNested(rs, func(r *schema.Region) []int32 {
			if r.Box == nil {
				return nil
			}
			return convert[int32](corner(r.Box))
		})
	}
	fields := []field{
		{"rank", ranks(len(rs))},
		{"metric", each(rs, func(r *schema.Region) string { return r.Metric.String() })},
		{"region_id", each(rs, func(r *schema.Region) uint64 { return r.ID })},
		{"severity", each(rs, func(r *schema.Region) int8 { return int8(r.Severity) })},
		{"size", each(rs, func(r *schema.Region) uint32 { return uint32(r.Size) })},
		{"mean", each(rs, func(r *schema.Region) float64 { return r.Mean })},
		{"max", each(rs, func(r *schema.Region) float64 { return r.Max })},
		{"name", each(rs, func(r *schema.Region) string { return r.Name })},
		{"box_min", box(func(b *schema.Box) []int { return b.Min })},
		{"box_max", box(func(b *schema.Box) []int { return b.Max })},
		{"birth", each(rs, func(r *schema.Region) time.Time { return instant(r.BirthNanos) })},
		{"age_intervals", each(rs, func(r *schema.Region) uint32 { return uint32(r.AgeIntervals) })},
		{"unread", each(rs, func(r *schema.Region) uint32 { return uint32(r.Unread) })},
		{"links", eachNested(rs, func(r *schema.Region) []uint32 { return convert[uint32](r.Links) })}}
	return rowSet{len(rs), append(append(fields, forecastFields(rs)...), rootFields(rs)...)}
}

// rootFields describe the roots of regions; they are empty for a region without a root.
func rootFields(rs []schema.Region) []field {
	root := func(r *schema.Region) schema.Root {
		if r.Root == nil {
			return schema.Root{}
		}
		return *r.Root
	}
	return []field{
		{"root_device", each(rs, func(r *schema.Region) string { return root(r).Device })},
		{"root_port", each(rs, func(r *schema.Region) string { return root(r).Port })},
		{"root_link", each(rs, func(r *schema.Region) uint32 { return uint32(root(r).Link) })},
		{"root_peer", each(rs, func(r *schema.Region) string { return root(r).Peer })},
		{"root_kind", each(rs, func(r *schema.Region) string { return root(r).Kind })}}
}

func stateRows(r *schema.IntervalResult, _ *metrics) rowSet {
	st := r.States
	return rowSet{len(st), []field{
		{"metric", each(st, func(s *schema.NetworkState) string { return s.Metric.String() })},
		{"state", each(st, func(s *schema.NetworkState) int8 { return int8(s.Severity) })},
		{"regions", eachNested(st, func(s *schema.NetworkState) []uint32 { return s.Regions[:] })},
		{"region_links", eachNested(st, func(s *schema.NetworkState) []uint32 { return s.RegionLinks[:] })},
		{"coverage", each(st, func(s *schema.NetworkState) float32 { return float32(s.Coverage) })}}}
}

func eventRows(r *schema.IntervalResult, _ *metrics) rowSet {
	ev := r.Events
	return rowSet{len(ev), []field{
		{"time", each(ev, func(e *schema.Event) time.Time { return instant(e.TimeNanos) })},
		{"rank", ranks(len(ev))},
		{"kind", each(ev, func(e *schema.Event) string { return string(e.Kind) })},
		{"device", each(ev, func(e *schema.Event) string { return e.Device })},
		{"port", each(ev, func(e *schema.Event) string { return e.Port })},
		{"region_id", each(ev, func(e *schema.Event) uint64 { return e.RegionID })},
		{"job_id", each(ev, func(e *schema.Event) string { return e.JobID })},
		{"detail", each(ev, func(e *schema.Event) string { return e.Detail })}}}
}

func markerRow(r *schema.IntervalResult, _ *metrics) rowSet {
	snap := r.Snapshot
	measured := make(map[string]uint32, len(snap.Series))
	for i := range snap.Series {
		measured[snap.Series[i].Metric.String()] = uint32(snap.Series[i].Count)
	}
	dropped := r.Dropped
	if dropped == nil {
		dropped = map[string]uint64{}
	}
	fields := []field{
		{"duration_ms", repeat(uint32(snap.Interval.DurationNanos/1e6), 1)},
		{"links", repeat(uint32(snap.Links), 1)},
		{"measured", nested[map[string]uint32]{measured}},
		{"samples", repeat(uint64(snap.Samples), 1)},
		{"dropped", nested[map[string]uint64]{dropped}},
		{"regions", repeat(uint32(len(r.Regions)), 1)},
		{"events", repeat(uint32(len(r.Events)), 1)},
		{"raw", repeat(uint64(readingCount(r)), 1)},
		{"first_read", repeat(instant(snap.FirstReadNanos), 1)},
		{"last_read", repeat(instant(snap.LastReadNanos), 1)}}
	return rowSet{1, append(fields, trackingFields(r)...)}
}
