package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// endIntervals is how many intervals since the onset are averaged to find where a region's traffic converges:
// neighbours on a line differ by little more than the noise of one interval.
const endIntervals = 8

// averaged returns readings, averaged over the last intervals since a region's onset.
func (g grid) averaged(p *root.Pressure) *root.Pressure {
	n := min(endIntervals, len(g.timeline.stall)-g.timeline.onset)
	if !g.timeline.hasOnset() || n < 2 {
		return p
	}
	from, q := g.in.history.Clock.Now-int64(n)+1, *p
	of := func(now *schema.Series) *schema.Series {
		if now == nil || g.in.history.LevelsOf(now.Metric) == nil {
			return now
		}
		return g.in.history.Average(now.Metric, from)
	}
	q.Stall, q.Credit, q.Inq, q.Use = of(p.Stall), of(p.Credit), of(p.Inq), of(p.Use)
	// remembered as shares of capacity
	if p.Use == nil && p.Rate != nil && g.in.history.LevelsOf(schema.BandwidthUsed) != nil {
		q.Use = g.in.history.Average(schema.BandwidthUsed, from)
	}
	return &q
}

// arrivesNow is the load of the links of the switch where a region's traffic ends, relative to the baseline. Both
// loads are as remembered, with the same rounding.
func (g grid) arrivesNow(end topology.DeviceID, p *root.Pressure) ratio {
	q := *p
	if g.in.history.LevelsOf(schema.BandwidthUsed) != nil {
		n := max(1, min(endIntervals, len(g.timeline.stall)-g.timeline.onset))
		q.Use = g.in.history.Average(schema.BandwidthUsed, g.in.history.Clock.Now-int64(n)+1)
	}
	times := q.Arrives(end)
	return ratio{times, times > 0}
}
