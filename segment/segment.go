package segment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/merging"
	"github.com/giverny/giverny/segment/monet"
	"github.com/giverny/giverny/segment/trees"
	"github.com/giverny/giverny/topology"
)

// Segmenter finds the regions of one fabric, snapshot by snapshot. Between steps it keeps only
// working memory; for hysteresis see Memory. It is not safe for concurrent use.
type Segmenter struct {
	cfg    Config
	method method
	duplex *merging.Method // the method, if it finds from how many links regions count; otherwise nil

	values  []float32 // one series, cleaned
	groups  linkset.Groups
	regions []schema.Region
	arena   []schema.LinkID
	boxes   boxer
	roots   trees.Rooter // finds nothing on duplex links
}

// method finds the groups of one series: percent by link in [0, 100], or
// linkset.Missing. It appends them to out in any order.
type method interface {
	Segment(values []float32, out *linkset.Groups)
}

// New returns a segmenter for one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Segmenter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	derived := cfg.MinLinks == 0
	if cfg.MinLinks == 0 && (g.Duplex() || cfg.Method == Paper) {
		cfg.MinLinks = GeminiMinLinks
	}
	cfg.Metrics = slices.Clone(cfg.Metrics)
	s := &Segmenter{cfg: cfg, boxes: newBoxer(g)}
	switch cfg.Method {
	case Paper:
		s.method = monet.New(g, cfg.Paper, cfg.MinLinks)
	default:
		s.setDefaultMethod(g, derived)
	}
	s.values = make([]float32, g.NumLinks())
	return s, nil
}

// MinLinks is the minimum size of a congestion tree; if it depends on the noise of each
// interval, the largest possible one.
func (s *Segmenter) MinLinks() int {
	if s.cfg.MinLinks == 0 {
		return trees.MostLeastLinks
	}
	return s.cfg.MinLinks
}

const (
	// GeminiMinLinks is Monet's sigma, chosen for a Gemini torus of 41,472 links, and the most that a region needs there.
	GeminiMinLinks = 20
	// Fewer links suffice where chance does not make so many together (merging.Method.Least), if their total stall is that of
	// GeminiMinLinks at Medium: what is smaller must be hotter.
	leastStall = GeminiMinLinks * schema.MediumPercent
)

// counts reports whether a number of links with a sum of stalls suffices for a region.
func (s *Segmenter) counts(links int, sum float64) bool {
	return links >= s.cfg.MinLinks || s.duplex != nil && links >= s.duplex.Least() && sum >= leastStall
}

// setDefaultMethod selects the method for the graph's links; derived: the size of the smallest region is not configured.
func (s *Segmenter) setDefaultMethod(g *topology.Graph, derived bool) {
	if g.Duplex() {
		cfg := merging.Config{MinLinks: s.cfg.MinLinks, MinMeanPercent: s.cfg.MinMeanPercent, Overlap: s.cfg.Overlap}
		if derived {
			cfg.FalseRegionsPerDay = trees.FalseRegionsPerDay
		}
		m := merging.New(g, cfg)
		if s.method = m; derived {
			s.duplex = m
		}
		return
	}
	m := trees.New(g, trees.Config{MinLinks: s.cfg.MinLinks, MinMeanPercent: s.cfg.MinMeanPercent, Overlap: s.cfg.Overlap})
	s.method, s.roots = m, trees.NewRooter(g, m)
}

// Describe summarises how regions are found and which count.
func (s *Segmenter) Describe() string {
	least := fmt.Sprintf("regions from %d links", s.cfg.MinLinks)
	if s.cfg.MinLinks == 0 {
		least = fmt.Sprintf("congestion trees with a root from %d to %d links, others from %d, depending on the noise, and patches of fewer links: at most %v false regions a day",
			trees.FewestWithRoot, trees.MostLeastLinks, trees.FewestLinks, trees.FalseRegionsPerDay)
	}
	if s.duplex != nil {
		least += fmt.Sprintf(", and hotter ones of fewer links: at most %v false regions a day", trees.FalseRegionsPerDay)
	}
	switch s.method.(type) {
	case *monet.Method:
		return "paper: Monet's algorithm as published; " + least
	case *trees.Method:
		return "statistical: congestion trees along back pressure, because links have directions; " + least
	}
	return "statistical: segments of constant stall, because each link stands for both directions; " + least
}

// Step finds the regions of a snapshot, ordered by metric (as configured), then size,
// largest first, then mean, then first link. The result belongs to the segmenter and is valid
// until the next Step.
//
// NaN and infinite values count as missing, negative ones as 0, and values above 100 as
// 100. A missing link belongs to no region but does not divide one. Step panics if the
// snapshot is of another graph, because its link numbers would be meaningless.
func (s *Segmenter) Step(snap *schema.Snapshot) []schema.Region {
	if snap.Links != len(s.values) {
		panic(fmt.Sprintf("segment: snapshot of %d links for a graph of %d", snap.Links, len(s.values)))
	}
	s.regions, s.arena = s.regions[:0], s.arena[:0]
	s.boxes.reset()
	s.roots.Reset()
	if len(s.cfg.Metrics) > 0 {
		for _, m := range s.cfg.Metrics {
			if series := snap.Find(m); series != nil {
				s.stepSeries(snap, series)
			}
		}
		return s.regions
	}
	for i := range snap.Series {
		if snap.Series[i].Metric.IsStall() {
			s.stepSeries(snap, &snap.Series[i])
		}
	}
	return s.regions
}

func (s *Segmenter) stepSeries(snap *schema.Snapshot, series *schema.Series) {
	clean(s.values, series)
	s.groups.Reset()
	s.method.Segment(s.values, &s.groups)
	first := len(s.regions)
	for i := range s.groups.Len() {
		if s.addRegion(series.Metric, s.groups.Group(i)) {
			s.regions[len(s.regions)-1].Root = s.roots.Root(snap, i)
		}
	}
	slices.SortFunc(s.regions[first:], bySize)
}

// bySize orders regions of a metric, largest first. How links are numbered decides only if all else is equal.
func bySize(a, b schema.Region) int {
	return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(b.Mean, a.Mean), slices.Compare(a.Links, b.Links))
}

// addRegion appends the region of a group, if it counts.
func (s *Segmenter) addRegion(metric schema.Metric, group []schema.LinkID) bool {
	sum, highest := 0., float32(0)
	for _, l := range group {
		sum += float64(s.values[l])
		highest = max(highest, s.values[l])
	}
	mean := sum / float64(len(group))
	if !s.counts(len(group), sum) || mean < s.cfg.MinMeanPercent {
		return false
	}
	begin := len(s.arena)
	s.arena = append(s.arena, group...)
	links := s.arena[begin:len(s.arena):len(s.arena)]
	s.regions = append(s.regions, schema.Region{
		Metric: metric, Links: links, Size: len(links), Mean: mean, Max: float64(highest),
		Severity: schema.SeverityOf(mean), Box: s.boxes.box(links),
	})
	return true
}

// clean converts a series to percentages in [0, 100] or missing.
func clean(dst []float32, series *schema.Series) {
	valid := uint64(0) // of the 64 links that include i
	for i, v := range series.Values[:len(dst)] {
		if i%64 == 0 {
			valid = series.Valid[i/64]
		}
		switch {
		case valid>>(i%64)&1 == 0:
			v = linkset.Missing
		case v >= 0 && v <= 100: // by far the most common
			v += 0 // turns -0 into 0
		case v != v || v > math.MaxFloat32 || v < -math.MaxFloat32:
			v = linkset.Missing
		case v < 0:
			v = 0
		default:
			v = 100
		}
		dst[i] = v
	}
}
