package analysis

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// coverageStage decides whether an interval measured enough for the network's state
// to be known. It compares with the number of links that each stall metric recently
// had, not with the fabric's: PCIe stalls, for example, are known only for the
// links of hosts. It also remembers the regions at Medium or above whose readings stopped; see silentregions.go.
type coverageStage struct {
	minCoverage float64
	links       int          // of the fabric
	health      *healthStage // tells which links have failed; nil: none has
	peaks       []peak       // by metric, then hour
	regions     []lastRegion
	unknown     *schema.Unknown // after the last interval
}

// peak is the maximum number of links that an interval of one hour measured by a metric.
type peak struct {
	metric schema.Metric
	hour   int64 // since 1970
	links  int
}

const (
	hourNanos = int64(3600e9)
	// lateHours is how long the peak of an hour counts: that long, a metric that
	// is switched off, or a removed part of the fabric, is still expected.
	lateHours = 24
)

func (s *coverageStage) Name() string { return "coverage" }

// Step sets Network.Unknown if the state is unknown, and then clears the
// forecasts.
func (s *coverageStage) Step(r *schema.IntervalResult) {
	s.remember(r.Snapshot, r.Regions)
	r.Silent = s.silent(r.Snapshot)
	reason := s.unknownReason(r.Snapshot, r.Network.Severity)
	s.learn(r.Snapshot, reason)
	if s.unknown == nil {
		return
	}
	why := *s.unknown
	r.Network.Unknown, r.Network.Next, r.Network.Later = &why, schema.Odds{}, schema.Odds{}
}

// unknownReason returns why the state is unknown, "" if it is known. A High region
// makes it known: nothing unmeasured could be worse.
func (s *coverageStage) unknownReason(snap *schema.Snapshot, worst schema.Severity) schema.UnknownReason {
	if !measuresStalls(snap) {
		return schema.NothingMeasured
	}
	for _, p := range s.peaks {
		links := 0
		if series := snap.Find(p.metric); series != nil {
			links = series.Count
		}
		if float64(links) < s.minCoverage*float64(p.links) && worst < schema.High && isLate(p, snap) {
			return schema.LowCoverage
		}
	}
	if slices.ContainsFunc(s.silent(snap), func(p schema.SilentRegion) bool { return p.Severity > worst }) {
		return schema.LowCoverage
	}
	return ""
}

// measuresStalls reports whether any link has a value of a stall metric.
func measuresStalls(snap *schema.Snapshot) bool {
	return slices.ContainsFunc(snap.Series, func(s schema.Series) bool { return s.Metric.IsStall() && s.Count > 0 })
}

func isLate(p peak, snap *schema.Snapshot) bool {
	return p.hour > snap.Interval.StartNanos/hourNanos-lateHours
}

// learn updates the peaks with an interval.
func (s *coverageStage) learn(snap *schema.Snapshot, reason schema.UnknownReason) {
	switch {
	case reason == "":
		s.unknown = nil
	case s.unknown == nil:
		s.unknown = &schema.Unknown{Reason: reason, Since: schema.Instant(snap.Interval.StartNanos)}
	default:
		s.unknown.Reason = reason
	}
	s.peaks = slices.DeleteFunc(s.peaks, func(p peak) bool { return !isLate(p, snap) })
	hour := snap.Interval.StartNanos / hourNanos
	for i := range snap.Series {
		if series := &snap.Series[i]; series.Metric.IsStall() && series.Count > 0 {
			s.raise(peak{series.Metric, hour, series.Count})
		}
	}
}

func (s *coverageStage) raise(p peak) {
	for i := range s.peaks {
		if old := &s.peaks[i]; old.metric == p.metric && old.hour == p.hour {
			old.links = max(old.links, p.links)
			return
		}
	}
	s.peaks = append(s.peaks, p)
}

// SetGraph limits the peaks to the number of links, and renumbers the links of regions.
func (s *coverageStage) SetGraph(g *topology.Graph, moved []schema.LinkID) error {
	s.links = g.NumLinks()
	for i := range s.regions {
		s.regions[i].links = topology.Renumber(s.regions[i].links, moved)
	}
	for i := range s.peaks {
		s.peaks[i].links = min(s.peaks[i].links, g.NumLinks())
	}
	return nil
}

var coverageFormat = codec.Format{Mark: "GCOV", Version: 2, Oldest: 1}

func (s *coverageStage) Save() schema.StageState {
	return stateOf(s, coverageFormat.Seal(s.code))
}

func (s *coverageStage) Load(saved schema.StageState) error {
	return restore(s, saved, func(b []byte) (coverageStage, error) {
		loaded := coverageStage{minCoverage: s.minCoverage, links: s.links, health: s.health}
		err := coverageFormat.Open(b, loaded.code)
		return loaded, err
	})
}

// code encodes or decodes the fields of the state.
func (s *coverageStage) code(c *codec.Coder) {
	codec.Each(c, &s.peaks, func(_ int, p *peak) {
		codeMetric(c, &p.metric)
		c.Int(&p.hour)
		codec.Small(c, &p.links, math.MaxInt32)
	})
	reason, since := "", int64(0)
	if s.unknown != nil {
		reason, since = string(s.unknown.Reason), int64(s.unknown.Since)
	}
	c.Text(&reason)
	c.Int(&since)
	if c.Reading() && reason != "" {
		s.unknown = &schema.Unknown{Reason: schema.UnknownReason(reason), Since: schema.Instant(since)}
	}
	if c.Version() > 1 {
		codec.Each(c, &s.regions, func(_ int, p *lastRegion) { p.code(c, s.links) })
	}
}

func codeMetric(c *codec.Coder, m *schema.Metric) {
	name := m.String()
	if c.Text(&name); c.Reading() && !c.Failed() {
		if err := m.UnmarshalText([]byte(name)); err != nil {
			c.Fail(err)
		}
	}
}

// Resume learns from a stored interval.
func (s *coverageStage) Resume(in Interval) error {
	snap := in.Snapshot
	if snap == nil {
		return nil
	}
	worst := schema.Negligible
	for i := range in.Regions {
		worst = max(worst, in.Regions[i].Severity)
	}
	s.remember(snap, in.Regions)
	s.learn(snap, s.unknownReason(snap, worst))
	return nil
}
