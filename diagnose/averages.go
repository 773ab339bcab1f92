package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// endIntervals is how many intervals since the onset are averaged to find where a region's traffic converges: neighbours on
// a line differ by little more than the noise of one interval.
const endIntervals = 8

// averaged returns the readings of a grid's links, averaged over the last intervals since a region's onset.
func (rc *regionCase) averaged(p *root.Pressure) *root.Pressure {
	n := min(endIntervals, len(rc.timeline.stall)-rc.timeline.onset)
	if !rc.in.graph.Duplex() || !rc.timeline.hasOnset() || n < 2 {
		return p
	}
	from, q := rc.in.history.Clock.Now-int64(n)+1, *p
	of := func(now *schema.Series) *schema.Series {
		if now == nil || rc.in.history.LevelsOf(now.Metric) == nil {
			return now
		}
		return rc.in.history.Average(now.Metric, from)
	}
	q.Stall, q.Credit, q.Inq, q.Use = of(p.Stall), of(p.Credit), of(p.Inq), of(p.Use)
	if p.Use == nil && p.Rate != nil && rc.in.history.LevelsOf(schema.BandwidthUsed) != nil { // remembered as shares of capacity
		q.Use = rc.in.history.Average(schema.BandwidthUsed, from)
	}
	return &q
}

// arrivesNow is the load of the links of the switch where a region's traffic ends, relative to the baseline. Both
// loads are as remembered, with the same rounding.
func (rc *regionCase) arrivesNow(end topology.DeviceID, p *root.Pressure) ratio {
	q := *p
	if rc.in.history.LevelsOf(schema.BandwidthUsed) != nil {
		n := max(1, min(endIntervals, len(rc.timeline.stall)-rc.timeline.onset))
		q.Use = rc.in.history.Average(schema.BandwidthUsed, rc.in.history.Clock.Now-int64(n)+1)
	}
	times := q.Arrives(end)
	return ratio{times, times > 0}
}
