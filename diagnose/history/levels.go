package history

import (
	"math"

	"github.com/giverny/giverny/schema"
)

// levels hold a metric of every link over the last slots, quantised to a byte: 0.4 points are enough for
// means over a region.
type levels struct {
	links     int
	length    int
	bytes     []uint8 // by slot in the ring, then by link
	quotients quotients
	between   []int64 // scratch of average
}

const (
	LevelsPerPercent = 2.5           // of a percentage point
	LevelMissing     = math.MaxUint8 // not measured
	levelMost        = 100 * LevelsPerPercent
)

// newLevels returns levels that are missing for all links in all slots.
func newLevels(links, length int) *levels {
	l := &levels{links: links, length: length, bytes: make([]uint8, links*length)}
	for i := range l.bytes {
		l.bytes[i] = LevelMissing
	}
	return l
}

// Row is a slot's levels.
func (l *levels) Row(slot int64) []uint8 {
	at := ring(slot, l.length) * l.links
	return l.bytes[at : at+l.links]
}

// at is a link's value in a slot, percent; 0 if it was not measured.
func (l *levels) at(slot int64, link schema.LinkID) float64 {
	if v := l.Row(slot)[link]; v != LevelMissing {
		return float64(v) / LevelsPerPercent
	}
	return 0
}

// over is a link's mean in the slots from one to another, percent, of those in which it was measured; -1 if in none.
func (l *levels) over(from, to int64, link schema.LinkID) float64 {
	if from > to {
		return -1
	}
	sum, n := 0, 0
	at := ring(from, l.length)*l.links + int(link)
	for range to - from + 1 {
		if v := l.bytes[at]; v != LevelMissing {
			sum += int(v)
			n++
		}
		if at += l.links; at >= len(l.bytes) {
			at -= len(l.bytes)
		}
	}
	if n == 0 {
		return -1
	}
	return float64(sum) / float64(n) / LevelsPerPercent
}

// oldest is the first slot that levels still hold.
func (h *History) oldest(l *levels) int64 { return max(h.Clock.First, h.Clock.Now-int64(l.length)+1) }

// clear makes a slot missing.
func (l *levels) clear(slot int64) {
	row := l.Row(slot)
	for i := range row {
		row[i] = LevelMissing
	}
}

// put fills a slot; percentOf converts the series' values to percent, by link; nil: they are.
func (l *levels) put(slot int64, s *schema.Series, percentOf func(link int, v float32) float32) {
	row := l.Row(slot)
	for i := range row {
		if !s.Valid.Has(i) {
			row[i] = LevelMissing
			continue
		}
		v := s.Values[i]
		if percentOf != nil {
			v = percentOf(i, v)
		}
		row[i] = LevelOf(v)
	}
}

// LevelOf is the level of a percentage.
func LevelOf(percent float32) uint8 {
	switch v := percent*LevelsPerPercent + .5; {
	case v >= levelMost:
		return levelMost
	case v > 0:
		return uint8(v)
	}
	return 0
}

// Mean of links in a slot, percent; missing if fewer than half of them were measured.
func (l *levels) Mean(slot int64, links []schema.LinkID) float32 {
	row := l.Row(slot)
	sum, n := 0, 0
	for _, link := range links {
		if v := row[link]; v != LevelMissing {
			sum += int(v)
			n++
		}
	}
	if n == 0 || 2*n < len(links) {
		return missing
	}
	return float32(sum) / float32(n) / LevelsPerPercent
}

// memory holds the levels of each remembered metric: stalls, and the use of links.
type memory struct {
	length  int
	links   int
	metrics [schema.NumMetrics]*levels
}

// follow adds the slot's snapshot; the slots skipped since the last one are missing.
func (m *memory) follow(last, now int64, snap *schema.Snapshot, capacity func(link int) float64) {
	for _, l := range m.metrics {
		if l == nil {
			continue
		}
		for s := max(last+1, now-int64(m.length)+1); s <= now; s++ {
			l.clear(s)
		}
	}
	for i := range snap.Series {
		s := &snap.Series[i]
		switch {
		case len(s.Values) != m.links:
		case s.Metric.IsStall() || s.Metric == schema.BandwidthUsed:
			m.of(s.Metric).put(now, s, nil)
		case s.Metric == schema.Throughput && snap.Find(schema.BandwidthUsed) == nil:
			m.of(schema.BandwidthUsed).put(now, s, func(link int, v float32) float32 {
				if c := capacity(link); c > 0 {
					return float32(100 * float64(v) / c)
				}
				return 0
			})
		}
	}
}

// of is the levels of a metric, remembered from now on if they were not yet.
func (m *memory) of(metric schema.Metric) *levels {
	if m.metrics[metric] == nil {
		m.metrics[metric] = newLevels(m.links, m.length)
	}
	return m.metrics[metric]
}
