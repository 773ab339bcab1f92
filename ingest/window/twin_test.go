package window_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// twin does what a Window does in the simplest way: it keeps every reading in
// maps, checks all of them after each row, and has no slots, folding or columns.
// It omits skewed clocks, jumps, epochs and other versions of the graph.
type twin struct {
	g        *topology.Graph
	cfg      window.Config
	horizon  int64 // nanos
	readings map[cell][]twinReading
	falls    map[cell]twinReading  // when a counter fell, and the value that it fell from
	reported map[reporterKey]int64 // the newest reading
	again    bool
	open     int64
	opened   bool
	closed   bool
	dropped  map[window.Reason]int
	out      []*schema.Snapshot
}

type cell struct{ device, port, counter string }

type reporterKey struct{ device, port, leader string }

type twinReading struct {
	nanos int64
	value uint64
}

func newTwin(g *topology.Graph, cfg window.Config) *twin {
	return &twin{g: g, cfg: cfg, horizon: int64(max(cfg.MaxAheadIntervals, cfg.MaxGapIntervals+1)) * int64(cfg.Interval), readings: map[cell][]twinReading{}, falls: map[cell]twinReading{}, reported: map[reporterKey]int64{},
		dropped: map[window.Reason]int{}}
}

func (t *twin) gap() int64 { return int64(t.cfg.MaxGapIntervals) * int64(t.cfg.Interval) }

// interval returns the start of the interval that a reading belongs to.
func (t *twin) interval(kind schema.CounterKind, nanos int64) int64 {
	d := int64(t.cfg.Interval)
	if kind != schema.DerivedPercent {
		return schema.IntervalAt(nanos, d).StartNanos
	}
	nearest := int64(math.Ceil(float64(nanos-d/2)/float64(d))) * d // ends at the nearest boundary
	return nearest - d
}

func (t *twin) add(b *schema.CounterBatch) {
	for r := range b.TimeNanos {
		t.row(b, r)
	}
}

// row adds one row. The batches of these tests have either counters and gauges
// or derived percentages.
func (t *twin) row(b *schema.CounterBatch, r int) {
	name, nanos := b.Ports[b.PortIndex[r]], b.TimeNanos[r]
	if _, ok := t.g.FindPort(name.Device, name.Port); !ok {
		t.dropped[window.UnknownPort]++
		return
	}
	leader, _ := schema.LookupCounter(b.Columns[0].Name)
	start := t.interval(leader.Kind, nanos)
	if !t.opened || !t.closed && start < t.open {
		t.open, t.opened = start, true
		t.forgetTooFarAhead()
	}
	key := reporterKey{name.Device, name.Port, leader.Name}
	switch old, known := t.reported[key]; {
	case !known || nanos > old:
		t.again = t.again || known
		t.reported[key] = nanos
	case old >= t.open+t.horizon+int64(t.cfg.Interval): // its clock was corrected
		t.reported[key] = nanos
	}
	if start < t.open {
		t.dropped[window.Late]++
	}
	early := nanos >= t.open+t.horizon
	if !early {
		t.keep(b, r)
	}
	for t.ready() {
		t.close()
	}
	if early && nanos < t.open+t.horizon {
		t.keep(b, r)
	} else if early {
		t.dropped[window.Early]++
	}
}

// forgetTooFarAhead drops readings that are too far ahead when an earlier interval opens.
func (t *twin) forgetTooFarAhead() {
	for at, readings := range t.readings {
		info, _ := schema.LookupCounter(at.counter)
		intervals := map[int64]bool{} // of the percentages forgotten
		t.readings[at] = slices.DeleteFunc(readings, func(r twinReading) bool {
			if info.Kind != schema.DerivedPercent {
				beyond := r.nanos >= t.open+t.horizon
				if beyond {
					t.dropped[window.Early]++
				}
				return beyond
			}
			start := t.interval(info.Kind, r.nanos)
			if start >= t.open+t.horizon {
				intervals[start] = true
			}
			return intervals[start]
		})
		t.dropped[window.Early] += len(intervals)
	}
}

func (t *twin) keep(b *schema.CounterBatch, r int) {
	name := b.Ports[b.PortIndex[r]]
	for _, c := range b.Columns {
		if !c.Valid.Has(r) {
			continue
		}
		at := cell{name.Device, name.Port, c.Name}
		now := twinReading{b.TimeNanos[r], c.Values[r]}
		info, _ := schema.LookupCounter(c.Name)
		same := slices.ContainsFunc(t.readings[at], func(o twinReading) bool { return o.nanos == now.nanos })
		if same && info.Kind != schema.DerivedPercent {
			continue
		}
		if info.Kind == schema.DerivedPercent && t.interval(info.Kind, now.nanos) < t.open {
			continue
		}
		t.readings[at] = append(t.readings[at], now)
		slices.SortFunc(t.readings[at], func(a, b twinReading) int { return cmp.Compare(a.nanos, b.nanos) })
	}
}

func (t *twin) ready() bool {
	end := t.open + int64(t.cfg.Interval)
	pending, active, passed := 0, 0, 0
	for key, nanos := range t.reported {
		leader, _ := schema.LookupCounter(key.leader)
		complete := t.interval(leader.Kind, nanos) // counters of all before the interval that holds the reading
		if leader.Kind == schema.DerivedPercent {
			complete += int64(t.cfg.Interval) // percentages of that interval, too
		}
		if nanos > end-t.gap() && complete < end {
			pending++
		}
	}
	newest := map[string]int64{}
	for key, nanos := range t.reported {
		newest[key.device] = max(newest[key.device], nanos)
	}
	for _, nanos := range newest {
		if nanos > end-t.gap() {
			active++
		}
		if nanos >= end+int64(t.cfg.EventTimeLateness) {
			passed++
		}
	}
	return active > 0 && (t.again && pending == 0 || 2*passed > active)
}

func (t *twin) advance(now int64) {
	for t.opened && (t.open+int64(t.cfg.Interval)+int64(t.cfg.ClockLateness) <= now || t.ready()) {
		t.close()
	}
}

func (t *twin) close() {
	start, end := t.open, t.open+int64(t.cfg.Interval)
	values := map[schema.Metric]map[schema.LinkID]float64{}
	s := &schema.Snapshot{Fabric: t.g.Fabric(), GraphVersion: t.g.Version(), Links: t.g.NumLinks(),
		Interval: schema.Interval{StartNanos: start, DurationNanos: int64(t.cfg.Interval)}}
	for at, readings := range t.readings {
		info, _ := schema.LookupCounter(at.counter)
		links, _ := t.g.FindPort(at.device, at.port)
		link := links.Egress
		if info.Side == schema.Ingress {
			link = links.Ingress
		}
		value, ok := t.value(at, info, link, readings, start, end, s)
		if !ok {
			continue
		}
		if values[info.Metric] == nil {
			values[info.Metric] = map[schema.LinkID]float64{}
		}
		if old, there := values[info.Metric][link]; !there || value > old {
			values[info.Metric][link] = value
		}
	}
	for m, byLink := range values {
		series := schema.Series{Metric: m, Values: make([]float32, s.Links), Valid: schema.NewBitmap(s.Links), Count: len(byLink)}
		for link, v := range byLink {
			series.Values[link] = float32(v)
			series.Valid.Set(int(link))
		}
		s.Series = append(s.Series, series)
	}
	t.out = append(t.out, s)
	t.open, t.closed = end, true
}

// value returns the value of one counter of one port in an interval; it records
// the readings used in s.
func (t *twin) value(at cell, info schema.CounterInfo, link schema.LinkID, readings []twinReading, start, end int64, s *schema.Snapshot) (float64, bool) {
	saw := func(from, to int64) {
		if s.Samples == 0 {
			s.FirstReadNanos, s.LastReadNanos = from, to
		}
		s.Samples++
		s.FirstReadNanos, s.LastReadNanos = min(s.FirstReadNanos, from), max(s.LastReadNanos, to)
	}
	var sum, weight, largest float64
	for i, r := range readings {
		switch info.Kind {
		case schema.Gauge:
			if r.nanos >= start && r.nanos < end {
				sum += float64(r.value)
				weight++
				saw(r.nanos, r.nanos)
			}
		case schema.DerivedPercent:
			if t.interval(info.Kind, r.nanos) == start {
				largest = max(largest, float64(r.value)/1e6)
				weight++
				saw(r.nanos, r.nanos)
			}
		case schema.Counter:
			if i == 0 {
				continue
			}
			before := readings[i-1]
			overlap := float64(min(end, r.nanos) - max(start, before.nanos))
			seconds := float64(r.nanos-before.nanos) / 1e9
			if overlap <= 0 {
				continue
			}
			rise, ok := t.rise(info, link, before, r, seconds)
			full := uint64(1)<<info.Width - 1
			known := r.nanos-before.nanos <= t.gap() && (info.Overflow != schema.Saturates || max(before.value, r.value) < full) && !stuckAt32(info, before, r)
			if t.cameBack(at, before, r, known, ok) || !ok {
				continue
			}
			sum += rise * overlap / 1e9 / seconds
			weight += overlap
			if overlap > seconds*1e9/2 || overlap > float64(int64(t.cfg.Interval))/2 {
				saw(before.nanos, r.nanos)
			}
		}
	}
	var value float64
	switch info.Kind {
	case schema.Gauge:
		value = sum / weight
	case schema.DerivedPercent:
		value = largest
	case schema.Counter:
		if weight < t.cfg.MinCoverOfInterval*float64(int64(t.cfg.Interval)) {
			return 0, false
		}
		value = sum / (weight / 1e9)
		if info.Metric.Unit() == schema.Percent {
			value *= 100
		}
	}
	if weight == 0 || info.Metric.Unit() == schema.Percent && value > 110 {
		return 0, false
	}
	if info.Metric.Unit() == schema.Percent {
		value = min(value, 100)
	}
	return value, true
}

// stuckAt32 reports whether a counter of more than 32 bits is at the maximum of 32: it has no more.
func stuckAt32(info schema.CounterInfo, a, b twinReading) bool {
	return info.Width > 32 && (a.value == 1<<32-1 || b.value == 1<<32-1)
}

// rise returns the difference of two readings in seconds, bytes or packets.
func (t *twin) rise(info schema.CounterInfo, link schema.LinkID, a, b twinReading, seconds float64) (float64, bool) {
	if b.nanos-a.nanos > t.gap() {
		return 0, false
	}
	full := math.Pow(2, float64(info.Width))
	if info.Overflow == schema.Saturates && (float64(a.value) == full-1 || float64(b.value) == full-1) {
		return 0, false
	}
	if stuckAt32(info, a, b) {
		return 0, false
	}
	unit, possible := map[schema.Unit]float64{schema.Bytes: 1, schema.Words4: 4, schema.Packets: 1, schema.Nanoseconds: 1e-9, schema.Microseconds: 1e-6}[info.Unit], 0.0
	if unit == 0 {
		panic(fmt.Sprintf("the twin does not know %s", info.Unit))
	}
	switch info.Metric.Unit() {
	case schema.Percent:
		possible = 1.1 * seconds
	case schema.BytesPerSecond:
		possible = 1.1 * seconds * t.g.Link(link).CapacityBytesPerSecond
	case schema.PacketsPerSecond:
		possible = min(full/2, 1.1*seconds*t.g.Link(link).CapacityBytesPerSecond/64)
	}
	if b.value >= a.value {
		carried := t.g.Link(link).CapacityBytesPerSecond * seconds
		if info.Metric.Unit() == schema.PacketsPerSecond {
			carried /= 64
		}
		rise := float64(b.value-a.value) * unit
		return rise, info.Metric.Unit() == schema.Percent || rise <= 16*carried
	}
	wrapped := (float64(b.value) + full - float64(a.value)) * unit
	return wrapped, info.Overflow == schema.Wraps && info.Width < 64 && wrapped <= possible
}

// cameBack says that a counter rose from where it fell, without having wrapped, to where it was before or higher. It notes
// falls, so it must see the readings of a counter in the order of time.
func (t *twin) cameBack(at cell, a, b twinReading, sound, wraps bool) bool {
	fell, low := t.falls[at], t.falls[at].nanos == a.nanos && t.falls[at].value > 0
	switch {
	case !sound:
	case b.value < a.value && !wraps:
		t.falls[at] = twinReading{b.nanos, a.value}
	case b.value == a.value && low:
		t.falls[at] = twinReading{b.nanos, fell.value}
	}
	return b.value > a.value && low && b.value >= fell.value
}
