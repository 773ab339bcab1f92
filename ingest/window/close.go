package window

import "github.com/giverny/giverny/schema"

// closeDue closes the open interval, and following ones, as long as the
// readings allow it or the interval ended at or before endedNanos.
func (w *Window) closeDue(endedNanos int64) {
	due := func() bool { return w.clocks.ready() || w.clocks.endNanos <= endedNanos }
	if !due() {
		return
	}
	w.judgeClocks()
	maxJumpNanos := int64(w.cfg.MaxJumpIntervals) * w.cfg.IntervalNanos
	for due() {
		if c := &w.clocks; w.openStart > w.newest && max(c.farthest, endedNanos) > c.endNanos+maxJumpNanos {
			if to := max(c.watermark(), endedNanos); to > c.endNanos+maxJumpNanos {
				w.dropped[Jump]++
				w.setOpen(schema.IntervalAt(to, w.cfg.IntervalNanos).StartNanos)
				return
			}
		}
		w.close()
	}
}

// close makes the snapshot of the open interval and opens the next one.
func (w *Window) close() {
	snap := w.newSnapshot()
	m := measurement{w: w, slot: w.head, start: w.openStart, end: w.openStart + w.cfg.IntervalNanos, meta: &w.slots[w.head]}
	m.minCover = max(1, int64(w.cfg.MinCoverOfInterval*float64(w.cfg.IntervalNanos)))
	for _, t := range w.tracks {
		if t.newest < w.openStart-w.maxGapNanos {
			continue
		}
		if n := len(snap.Series); n == 0 || snap.Series[n-1].Metric != t.info.Metric {
			addSeries(snap, t.info.Metric)
		}
		m.series = &snap.Series[len(snap.Series)-1]
		m.percent, m.links = t.info.Metric.Unit() == schema.Percent, w.ports.links(t.info.Side)
		m.measure(t)
	}
	for i := range snap.Series {
		snap.Series[i].Count = snap.Series[i].Valid.Count()
	}
	if m.meta.readings > 0 {
		snap.Samples, snap.FirstReadNanos, snap.LastReadNanos = m.meta.readings, m.meta.first, m.meta.last
	}
	w.putPresence(snap)
	w.ready = append(w.ready, snap)
	w.slots[w.head] = slotMeta{}
	w.head = w.slotAt(1)
	w.closed = true
	w.setOpen(m.end)
}

// newSnapshot returns an empty snapshot of the open interval, reusing a
// recycled one if possible.
func (w *Window) newSnapshot() *schema.Snapshot {
	var s *schema.Snapshot
	if n := len(w.spare); n > 0 {
		s, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		s = &schema.Snapshot{}
	}
	g := w.ports.graph
	*s = schema.Snapshot{Fabric: g.Fabric(), GraphVersion: g.Version(), Links: g.NumLinks(), Series: s.Series[:0], Ports: s.Ports,
		Interval: schema.Interval{StartNanos: w.openStart, DurationNanos: w.cfg.IntervalNanos}}
	return s
}

// addSeries adds an empty series, reusing the memory of an earlier one.
func addSeries(s *schema.Snapshot, m schema.Metric) {
	n := len(s.Series)
	if n < cap(s.Series) {
		s.Series = s.Series[:n+1]
	} else {
		s.Series = append(s.Series, schema.Series{})
	}
	r := &s.Series[n]
	r.Metric, r.Count, r.Valid = m, 0, r.Valid.Resize(s.Links)
	if cap(r.Values) < s.Links {
		r.Values = make([]float32, s.Links)
	}
	r.Values = r.Values[:s.Links]
	clear(r.Values)
}

// measurement computes the values of one interval.
type measurement struct {
	w          *Window
	slot       int
	start, end int64
	minCover   int64
	meta       *slotMeta
	// Of the current counter:
	series  *schema.Series
	percent bool
	links   []schema.LinkID // by port
}

func (m *measurement) measure(t *track) {
	switch t.info.Kind {
	case schema.Counter:
		m.counter(t)
	case schema.Gauge:
		m.gauge(t)
	case schema.DerivedPercent:
		m.derivedPercent(t)
	}
}

// counter computes a counter's rates, port by port, and drops the readings that
// no later interval needs.
func (m *measurement) counter(t *track) {
	w := m.w
	scale := perNano(t.info.Metric)
	var folded []partial
	if t.folded != nil {
		folded = t.folded[m.slot]
	}
	for p, n := range t.held {
		var got partial
		if folded != nil {
			got, folded[p] = folded[p], partial{}
		}
		if n > 0 {
			m.spans(t, uint32(p), &got)
		}
		if got.time < m.minCover {
			continue
		}
		unit := w.unitOf(t, uint32(p))
		if unit == 0 {
			w.dropped[NoTick]++
			continue
		}
		m.put(p, got.sum*unit*scale/float64(got.time))
	}
}

// spans adds the contributions of the held readings' differences.
func (m *measurement) spans(t *track, p uint32, got *partial) {
	w, h, n := m.w, &t.histories[p], int(t.held[p])
	done := 0 // readings that no later interval needs
	for i := 1; i < n; i++ {
		a, b := h[i-1], h[i]
		if a.nanos >= m.end {
			break
		}
		if b.nanos <= m.end {
			done = i
		}
		overlap := min(b.nanos, m.end) - max(a.nanos, m.start)
		if overlap <= 0 {
			continue
		}
		delta, fault := w.delta(t, p, a, b)
		if fault != sound {
			if b.nanos <= m.end { // otherwise the next interval meets it again
				w.dropped[fault]++
			}
			continue
		}
		got.sum += delta * (float64(overlap) / float64(b.nanos-a.nanos))
		got.time += overlap
		m.meta.sawSpan(a, b, overlap, m.end-m.start)
	}
	if done > 0 {
		copy(h[:], h[done:n])
		t.held[p] = uint8(n - done)
	}
}

// gauge computes the mean of a gauge's readings.
func (m *measurement) gauge(t *track) {
	unit := m.w.unitOf(t, 0)
	var folded []partial
	if t.folded != nil {
		folded = t.folded[m.slot]
	}
	for p := range t.held {
		var got partial
		if folded != nil {
			got, folded[p] = folded[p], partial{}
		}
		n, h := int(t.held[p]), &t.histories[p]
		done := 0
		for done < n && h[done].nanos < m.end {
			if nanos := h[done].nanos; nanos >= m.start {
				got.sum += float64(h[done].value)
				got.time++
				m.meta.saw(nanos)
			}
			done++
		}
		copy(h[:], h[done:n])
		t.held[p] = uint8(n - done)
		if got.time > 0 {
			m.put(p, got.sum*unit/float64(got.time))
		}
	}
}

func (m *measurement) derivedPercent(t *track) {
	unit := m.w.unitOf(t, 0)
	cells := t.derived[m.slot]
	for p, v := range cells {
		if v != 0 {
			cells[p] = 0
			m.put(p, float64(v-1)*unit)
		}
	}
}

// put assigns a port's value to its link. A link has two ends and perhaps several
// counters: the largest value wins (as in Monet's programs for Gemini's links).
func (m *measurement) put(p int, value float64) {
	if value > 100 && m.percent {
		if value > 100*tolerance {
			m.w.dropped[Implausible]++
			return
		}
		value = 100
	}
	link := m.links[p]
	if link == schema.NoLink {
		m.w.dropped[NoLink]++
		return
	}
	v, s := float32(value), m.series
	if !s.Valid.Has(int(link)) {
		s.Valid.Set(int(link))
		s.Values[link] = v
	} else if v > s.Values[link] {
		s.Values[link] = v
	}
}
