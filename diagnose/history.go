package diagnose

import (
	"math"

	"github.com/giverny/giverny/schema"
)

// clock numbers intervals: slot s is the interval that begins at s times the interval's length.
type clock struct {
	duration int64 // of an interval, nanoseconds; 0: none seen yet
	first    int64 // slot of the first interval
	now      int64 // slot of the last
}

// slotOf is the slot that contains an instant.
func (c *clock) slotOf(nanos int64) int64 {
	return schema.IntervalAt(nanos, c.duration).StartNanos / c.duration
}

// missing is a value that was not measured.
var missing = float32(math.NaN())

func isMissing(v float32) bool { return v != v }

// traffic holds a job's features in ring buffers over the last slots: slot s is at s modulo the length.
type traffic struct {
	length int
	values []float32         // bytes; feature f begins at f*length
	last   int64             // slot up to which the rings are valid
	listed [numMeasured]bool // the traffic table has values of it
}

func newTraffic(length int, now int64) *traffic {
	t := &traffic{length: length, values: make([]float32, int(numFeatures)*length), last: now}
	for f := range numFeatures {
		t.forget(f)
	}
	return t
}

// forget makes a feature missing in all slots.
func (t *traffic) forget(f feature) {
	values := t.values[int(f)*t.length:]
	for i := range values[:t.length] {
		values[i] = missing
	}
}

// advance extends the rings to now; new slots are missing.
func (t *traffic) advance(now int64) {
	for s := max(t.last+1, now-int64(t.length)+1); s <= now; s++ {
		for f := range int(numFeatures) {
			t.values[f*t.length+ring(s, t.length)] = missing
		}
	}
	t.last = max(t.last, now)
}

// at is a feature in a slot.
func (t *traffic) at(f feature, slot int64) float32 {
	if slot > t.last || slot <= t.last-int64(t.length) {
		return missing
	}
	return t.values[int(f)*t.length+ring(slot, t.length)]
}

// set stores a feature in a slot, if it is within the ring.
func (t *traffic) set(f feature, slot int64, bytes float64) {
	if slot > t.last || slot <= t.last-int64(t.length) || math.IsNaN(bytes) || math.IsInf(bytes, 0) || bytes < 0 {
		return
	}
	t.values[int(f)*t.length+ring(slot, t.length)] = float32(bytes)
}

// ring is the index of a slot in a ring buffer.
func ring(slot int64, length int) int {
	i := int(slot % int64(length))
	if i < 0 {
		i += length
	}
	return i
}

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
	levelsPerPercent = 2.5
	levelMissing     = math.MaxUint8
	levelMost        = 100 * levelsPerPercent
)

func newLevels(links, length int) *levels {
	l := &levels{links: links, length: length, bytes: make([]uint8, links*length)}
	for i := range l.bytes {
		l.bytes[i] = levelMissing
	}
	return l
}

// row is a slot's levels.
func (l *levels) row(slot int64) []uint8 {
	at := ring(slot, l.length) * l.links
	return l.bytes[at : at+l.links]
}

// at is a link's value in a slot, percent; 0 if it was not measured.
func (l *levels) at(slot int64, link schema.LinkID) float64 {
	if v := l.row(slot)[link]; v != levelMissing {
		return float64(v) / levelsPerPercent
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
		if v := l.bytes[at]; v != levelMissing {
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
	return float64(sum) / float64(n) / levelsPerPercent
}

// oldest is the first slot that levels still hold.
func (h *History) oldest(l *levels) int64 { return max(h.clock.first, h.clock.now-int64(l.length)+1) }

// clear makes a slot missing.
func (l *levels) clear(slot int64) {
	row := l.row(slot)
	for i := range row {
		row[i] = levelMissing
	}
}

// put fills a slot; percentOf converts the series' values to percent, by link; nil: they are.
func (l *levels) put(slot int64, s *schema.Series, percentOf func(link int, v float32) float32) {
	row := l.row(slot)
	for i := range row {
		if !s.Valid.Has(i) {
			row[i] = levelMissing
			continue
		}
		v := s.Values[i]
		if percentOf != nil {
			v = percentOf(i, v)
		}
		row[i] = levelOf(v)
	}
}

// levelOf is the level of a percentage.
func levelOf(percent float32) uint8 {
	switch v := percent*levelsPerPercent + .5; {
	case v >= levelMost:
		return levelMost
	case v > 0:
		return uint8(v)
	}
	return 0
}

// mean of links in a slot, percent; missing if fewer than half of them were measured.
func (l *levels) mean(slot int64, links []schema.LinkID) float32 {
	row := l.row(slot)
	sum, n := 0, 0
	for _, link := range links {
		if v := row[link]; v != levelMissing {
			sum += int(v)
			n++
		}
	}
	if n == 0 || 2*n < len(links) {
		return missing
	}
	return float32(sum) / float32(n) / levelsPerPercent
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

func (m *memory) of(metric schema.Metric) *levels {
	if m.metrics[metric] == nil {
		m.metrics[metric] = newLevels(m.links, m.length)
	}
	return m.metrics[metric]
}
