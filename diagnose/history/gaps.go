package history

import (
	"math/bits"

	"github.com/giverny/giverny/schema"
)

// gaps fills lost readings. It reuses its memory in the next interval.
type gaps struct {
	filled schema.Snapshot
	series []schema.Series // of filled
	values [schema.NumMetrics][]float32
	valid  [schema.NumMetrics]schema.Bitmap
}

// fill returns a snapshot in which a link without a reading has that of the interval before: otherwise back pressure
// would seem to end at a single lost reading. A link without a reading in two intervals in a row has none.
func (g *gaps) fill(snap *schema.Snapshot, m *memory, now int64, capacity func(link int) float64) *schema.Snapshot {
	g.series = append(g.series[:0], snap.Series...)
	g.filled = *snap
	g.filled.Series = g.series
	for i := range g.series {
		s := &g.series[i]
		if len(s.Values) != m.links || s.Count == m.links {
			continue
		}
		metric, percent := s.Metric, func(int) float32 { return 1 }
		if metric == schema.Throughput {
			metric, percent = schema.BandwidthUsed, func(l int) float32 { return float32(capacity(l) / 100) }
		}
		if before := m.metrics[metric]; before != nil {
			g.fillSeries(s, before.Row(now-1), percent)
		}
	}
	return &g.filled
}

// fillSeries fills a series from the levels of the interval before; unit converts percent to the series' unit, by link.
func (g *gaps) fillSeries(s *schema.Series, before []uint8, unit func(link int) float32) {
	values, valid := append(g.values[s.Metric][:0], s.Values...), append(g.valid[s.Metric][:0], s.Valid...)
	g.values[s.Metric], g.valid[s.Metric] = values, valid
	for i, word := range valid {
		for lost := ^word; lost != 0; lost &= lost - 1 {
			l := i*64 + bits.TrailingZeros64(lost)
			if l < len(before) && before[l] != LevelMissing {
				values[l] = float32(before[l]) / LevelsPerPercent * unit(l)
				valid.Set(l)
			}
		}
	}
	s.Values, s.Valid = values, valid
}
