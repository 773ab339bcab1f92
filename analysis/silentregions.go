package analysis

import (
	"math"
	"slices"
	"time"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
)

// lastRegion is a Medium or High region as it was in the last interval that measured it.
type lastRegion struct {
	id       uint64
	metric   schema.Metric
	severity schema.Severity
	links    []schema.LinkID // ascending
	at       int64           // ns, start of that interval
}

// silentFor is how long a region whose readings stopped makes the state unknown. While it does, alerts are not resolved,
// the process is not ready, and after relieve_unknown_after no node of the fabric is marked: a single switch that is
// not repaired must not cause that for the day that a peak counts.
const silentFor = int64(time.Hour)

// remember adds the Medium and High regions of an interval. Of the earlier ones it keeps those without readings: the
// others continue in a region of this interval, or were measured as gone.
func (s *coverageStage) remember(snap *schema.Snapshot, regions []schema.Region) {
	start := snap.Interval.StartNanos
	s.regions = slices.DeleteFunc(s.regions, func(p lastRegion) bool { return start-p.at >= silentFor || !s.isSilent(&p, snap) })
	for i := range regions {
		if r := &regions[i]; r.Severity >= schema.Medium {
			s.regions = append(s.regions, lastRegion{r.ID, r.Metric, r.Severity, slices.Clone(r.Links), start})
		}
	}
}

// isSilent reports whether more than half of a region's links have no reading. With half of them, segment.Memory
// continues the region. A link that failed carries nothing, so that its missing reading hides no congestion.
func (s *coverageStage) isSilent(p *lastRegion, snap *schema.Snapshot) bool {
	series := snap.Find(p.metric)
	unread, all := 0, 0
	for _, l := range p.links {
		switch {
		case series != nil && series.Valid.Has(int(l)):
			all++
		case s.health == nil || !s.health.monitor.HasFailed(l):
			all, unread = all+1, unread+1
		}
	}
	return 2*unread > all
}

// silent lists the regions without readings.
func (s *coverageStage) silent(snap *schema.Snapshot) (list []schema.SilentRegion) {
	for i := range s.regions {
		if p := &s.regions[i]; p.at != snap.Interval.StartNanos {
			list = append(list, schema.SilentRegion{ID: p.id, Metric: p.metric, Severity: p.severity, Since: schema.Instant(p.at)})
		}
	}
	return list
}

func (p *lastRegion) code(c *codec.Coder, links int) {
	c.Uint(&p.id, math.MaxUint64)
	codeMetric(c, &p.metric)
	codec.Small(c, &p.severity, uint64(schema.High)+1)
	codec.Ascending(c, &p.links, links)
	c.Int(&p.at)
}
