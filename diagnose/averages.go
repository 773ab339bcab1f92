package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// averages caches means of readings over the last intervals, by metric and first slot.
type averages struct {
	interval uint32 // in which they were computed
	used     int
	all      []*meanSeries
}

type meanSeries struct {
	metric schema.Metric
	from   int64
	series schema.Series
}

// endIntervals is how many intervals since the onset are averaged to find where a region's traffic converges: neighbours on
// a line differ by little more than the noise of one interval.
const endIntervals = 8

// averaged returns the readings of a grid's links, averaged over the last intervals since a region's onset.
func (s *Stage) averaged(rc *regionCase, p *root.Pressure) *root.Pressure {
	n := min(endIntervals, len(rc.stall)-rc.onset)
	if !s.graph.Duplex() || rc.onset < 0 || n < 2 {
		return p
	}
	from, q := s.history.clock.now-int64(n)+1, *p
	of := func(now *schema.Series) *schema.Series {
		if now == nil || s.history.memory.metrics[now.Metric] == nil {
			return now
		}
		return s.history.average(now.Metric, from)
	}
	q.Stall, q.Credit, q.Inq, q.Use = of(p.Stall), of(p.Credit), of(p.Inq), of(p.Use)
	if p.Use == nil && p.Rate != nil && s.history.memory.metrics[schema.BandwidthUsed] != nil { // remembered as shares of capacity
		q.Use = s.history.average(schema.BandwidthUsed, from)
	}
	return &q
}

// arrives is the load of the links of the switch where a region's traffic ends, relative to before its onset; 0 if unknown. Both
// loads are as remembered, with the same rounding.
func (s *Stage) arrives(rc *regionCase, end topology.DeviceID, p *root.Pressure) float64 {
	q := *p
	if s.history.memory.metrics[schema.BandwidthUsed] != nil {
		n := max(1, min(endIntervals, len(rc.stall)-rc.onset))
		q.Use = s.history.average(schema.BandwidthUsed, s.history.clock.now-int64(n)+1)
	}
	return q.Arrives(end)
}

// average returns the mean of a metric from a slot to now, over the intervals in which a link was measured.
func (h *History) average(metric schema.Metric, from int64) *schema.Series {
	w := &h.averages
	if w.interval != h.interval {
		w.interval, w.used = h.interval, 0
	}
	for _, a := range w.all[:w.used] {
		if a.metric == metric && a.from == from {
			return &a.series
		}
	}
	if w.used == len(w.all) {
		n := h.graph.NumLinks()
		w.all = append(w.all, &meanSeries{series: schema.Series{Values: make([]float32, n), Valid: schema.NewBitmap(n)}})
	}
	a := w.all[w.used]
	w.used++
	a.metric, a.from, a.series.Metric = metric, from, metric
	h.memory.metrics[metric].average(from, h.clock.now, &a.series)
	return &a.series
}
