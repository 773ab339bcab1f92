package tracking

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// HotspotConfig is when a link counts as hot.
type HotspotConfig struct {
	// Stall thresholds, in percent of time, for measuring how long links stay hot; ascending, at most 16.
	ThresholdsPercent []float64 `yaml:"hot_thresholds,flow"`
	// How many intervals a link may be unmeasured and still stay hot.
	GapIntervals int `yaml:"hot_gap_intervals"`
	// The value in hot_thresholds from which links are listed, those that have been hot for longest.
	ListPercent float64 `yaml:"hot_percent"`
	// How many links of each metric are listed.
	ListLinks int `yaml:"hot_links"`
}

// DefaultHotspotConfig has thresholds over the range of Monet's Fig. 3, and lists the
// links with at least the stall of a Medium region.
func DefaultHotspotConfig() HotspotConfig {
	return HotspotConfig{ThresholdsPercent: []float64{5, 10, 15, 20, 25, 30, 40, 50}, GapIntervals: 2, ListPercent: 15, ListLinks: 20}
}

// Validate joins all errors.
func (c *HotspotConfig) Validate() error {
	var f faults.List
	n, rises, before := len(c.ThresholdsPercent), true, 0.
	for _, v := range c.ThresholdsPercent {
		rises = rises && v > before && v <= 100
		before = v
	}
	if n == 0 || n > maxThresholds || !rises {
		f.Add("hot_thresholds", "%v: want 1 to %d increasing percentages above 0", c.ThresholdsPercent, maxThresholds)
	} else {
		f.Check(slices.Contains(c.ThresholdsPercent, c.ListPercent), "hot_percent", "%v: want one of hot_thresholds, %v", c.ListPercent, c.ThresholdsPercent)
	}
	f.Check(c.GapIntervals >= 0, "hot_gap_intervals", "%d: want 0 or more", c.GapIntervals)
	f.Check(c.ListLinks >= 0 && c.ListLinks <= 1000, "hot_links", "%d: want 0 to 1000", c.ListLinks)
	return f.Err()
}

// maxThresholds bounds the memory per hot link.
const maxThresholds = 16

// Hotspots measures how long links stay at or above stall thresholds (Monet, section 4
// and Fig. 3). A step reads every value once and otherwise works only on hot links. It
// is not safe for concurrent use.
type Hotspots struct {
	cfg          HotspotConfig
	fabric       string
	graphVersion uint64
	numLinks     int

	metrics  [schema.NumMetrics]*hotLinks
	episodes []schema.HotEpisode // ended with the last step
	longest  []schema.HotLink
}

// hotLinks are the links of one metric at or above the lowest threshold.
type hotLinks struct {
	slot []int32 // by link: index in runs, or -1
	runs []run
}

// run is the current hot period of a link.
type run struct {
	link       schema.LinkID
	level      int8 // number of thresholds reached
	seenNanos  int64
	sinceNanos [maxThresholds]int64 // by threshold below level
}

// NewHotspots returns a Hotspots for one version of a fabric.
func NewHotspots(g *topology.Graph, cfg HotspotConfig) (*Hotspots, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.ThresholdsPercent = slices.Clone(cfg.ThresholdsPercent)
	return &Hotspots{cfg: cfg, fabric: g.Fabric(), graphVersion: g.Version(), numLinks: g.NumLinks()}, nil
}

// Step processes the stalls of an interval; intervals must come in order. It panics if
// the snapshot is of another graph.
func (h *Hotspots) Step(s *schema.Snapshot) {
	if s.Links != h.numLinks {
		panic(fmt.Sprintf("tracking: snapshot of %d links for a graph of %d", s.Links, h.numLinks))
	}
	h.episodes = h.episodes[:0]
	for i := range s.Series {
		series := &s.Series[i]
		if !series.Metric.IsStall() {
			continue
		}
		hot := h.of(series.Metric)
		h.follow(hot, series, s.Interval)
		h.discover(hot, series, s.Interval)
	}
}

func (h *Hotspots) of(m schema.Metric) *hotLinks {
	if h.metrics[m] == nil {
		h.metrics[m] = &hotLinks{slot: filled(nil, h.numLinks)}
	}
	return h.metrics[m]
}

// Episodes returns the episodes that ended with the last step, valid until the next.
func (h *Hotspots) Episodes() []schema.HotEpisode { return h.episodes }

// Longest returns, for each metric, the links that have been at or above ListPercent
// for longest, at most ListLinks of each; valid until the next call.
func (h *Hotspots) Longest() []schema.HotLink {
	level := slices.Index(h.cfg.ThresholdsPercent, h.cfg.ListPercent)
	h.longest = h.longest[:0]
	for m, hot := range h.metrics {
		if hot == nil {
			continue
		}
		begin := len(h.longest)
		for i := range hot.runs {
			if r := &hot.runs[i]; int(r.level) > level {
				h.longest = append(h.longest, schema.HotLink{Metric: schema.Metric(m), Link: r.link, SinceNanos: r.sinceNanos[level]})
			}
		}
		slices.SortFunc(h.longest[begin:], func(a, b schema.HotLink) int {
			return cmp.Or(cmp.Compare(a.SinceNanos, b.SinceNanos), cmp.Compare(a.Link, b.Link))
		})
		h.longest = h.longest[:min(len(h.longest), begin+h.cfg.ListLinks)]
	}
	return h.longest
}

// follow updates the runs for an interval.
func (h *Hotspots) follow(hot *hotLinks, series *schema.Series, interval schema.Interval) {
	for i := 0; i < len(hot.runs); {
		r := &hot.runs[i]
		level := int8(0)
		switch v := series.Values[r.link]; {
		case (interval.StartNanos-r.seenNanos)/interval.DurationNanos > int64(h.cfg.GapIntervals): // unmeasured for too long
		case !series.Valid.Has(int(r.link)) || v != v:
			i++
			continue
		default:
			level = h.level(v)
		}
		for ; r.level > level; r.level-- {
			intervals := (r.seenNanos - r.sinceNanos[r.level-1]) / interval.DurationNanos
			h.episodes = append(h.episodes, schema.HotEpisode{Metric: series.Metric, ThresholdPercent: h.cfg.ThresholdsPercent[r.level-1], Intervals: intervals})
		}
		for ; r.level < level; r.level++ {
			r.sinceNanos[r.level] = interval.StartNanos
		}
		r.seenNanos = interval.EndNanos()
		if level > 0 {
			i++
			continue
		}
		hot.slot[r.link] = -1
		last := len(hot.runs) - 1
		if i < last {
			hot.runs[i] = hot.runs[last]
			hot.slot[hot.runs[i].link] = int32(i)
		}
		hot.runs = hot.runs[:last]
	}
}

// discover starts the runs of links that have become hot.
func (h *Hotspots) discover(hot *hotLinks, series *schema.Series, interval schema.Interval) {
	lowest := float32(h.cfg.ThresholdsPercent[0])
	for l, v := range series.Values {
		if !(v >= lowest) || hot.slot[l] >= 0 || !series.Valid.Has(l) {
			continue
		}
		r := run{link: schema.LinkID(l), level: h.level(v), seenNanos: interval.EndNanos()}
		for j := range r.level {
			r.sinceNanos[j] = interval.StartNanos
		}
		hot.slot[l] = int32(len(hot.runs))
		hot.runs = append(hot.runs, r)
	}
}

// level is the number of thresholds that a stall reaches.
func (h *Hotspots) level(percent float32) (n int8) {
	for _, t := range h.cfg.ThresholdsPercent {
		if percent < float32(t) {
			break
		}
		n++
	}
	return n
}
