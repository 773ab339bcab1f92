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
func (s *Stage) averaged(rc *regionCase) *root.Pressure {
	n := min(endIntervals, len(rc.stall)-rc.onset)
	if !s.graph.Duplex() || rc.onset < 0 || n < 2 {
		return s.p
	}
	from, q := s.history.Clock.Now-int64(n)+1, *s.p
	of := func(now *schema.Series) *schema.Series {
		if now == nil || s.history.LevelsOf(now.Metric) == nil {
			return now
		}
		return s.history.Average(now.Metric, from)
	}
	q.Stall, q.Credit, q.Inq, q.Use = of(s.p.Stall), of(s.p.Credit), of(s.p.Inq), of(s.p.Use)
	if s.p.Use == nil && s.p.Rate != nil && s.history.LevelsOf(schema.BandwidthUsed) != nil { // remembered as shares of capacity
		q.Use = s.history.Average(schema.BandwidthUsed, from)
	}
	return &q
}

// arrives is the load of the links of the switch where a region's traffic ends, relative to before its onset; 0 if unknown. Both
// loads are as remembered, with the same rounding.
func (s *Stage) arrives(rc *regionCase, end topology.DeviceID, p *root.Pressure) float64 {
	q := *p
	if s.history.LevelsOf(schema.BandwidthUsed) != nil {
		n := max(1, min(endIntervals, len(rc.stall)-rc.onset))
		q.Use = s.history.Average(schema.BandwidthUsed, s.history.Clock.Now-int64(n)+1)
	}
	return q.Arrives(end)
}
