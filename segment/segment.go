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

// Segmenter finds the regions of one fabric, snapshot by snapshot. It keeps
// nothing from one step to the next but space to work in; Memory does. It is not safe for concurrent
// use.
type Segmenter struct {
	cfg    Config
	method method
	hot    bool // merging.HotLinks are enough for a region

	values  []float32 // one series, cleaned
	groups  linkset.Groups
	regions []schema.Region
	arena   []schema.LinkID
	boxes   boxer
	roots   trees.Rooter // finds nothing where links have no direction
}

// method finds the groups of one series: percent by link in [0, 100], or
// linkset.Missing. It appends groups to out; they need no order.
type method interface {
	Segment(values []float32, out *linkset.Groups)
}

// New makes a segmenter for one version of a fabric.
func New(g *topology.Graph, cfg Config) (*Segmenter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	hot := cfg.MinLinks == 0 && g.Duplex() && cfg.Method == Statistical
	if cfg.MinLinks == 0 && (g.Duplex() || cfg.Method == Paper) {
		cfg.MinLinks = GeminiMinLinks
	}
	cfg.Metrics = slices.Clone(cfg.Metrics)
	s := &Segmenter{cfg: cfg, hot: hot, boxes: newBoxer(g)}
	switch cfg.Method {
	case Paper:
		s.method = monet.New(g, cfg.Paper, cfg.MinLinks)
	default:
		s.setDefaultMethod(g)
	}
	s.values = make([]float32, g.NumLinks())
	return s, nil
}

// MinLinks is the size under which a congestion tree does not count; where it follows from
// the noise of each interval, the most that this can make of it.
func (s *Segmenter) MinLinks() int {
	if s.cfg.MinLinks == 0 {
		return trees.MostLeastLinks
	}
	return s.cfg.MinLinks
}

// GeminiMinLinks is sigma of Monet, chosen for Gemini's tori. There merging.HotLinks are enough that stall as much in all as the
// smallest region at High.
const GeminiMinLinks = 20

// counts reports whether so many links, with a sum of stalls, are enough for a region.
func (s *Segmenter) counts(links int, sum float64) bool {
	return links >= s.cfg.MinLinks || s.hot && links >= merging.HotLinks && sum >= GeminiMinLinks*schema.HighPercent
}

// setDefaultMethod chooses what suits the graph's links.
func (s *Segmenter) setDefaultMethod(g *topology.Graph) {
	if g.Duplex() {
		s.method = merging.New(g, merging.Config{MinLinks: s.cfg.MinLinks, MinMeanPercent: s.cfg.MinMeanPercent, Overlap: s.cfg.Overlap})
		return
	}
	m := trees.New(g, trees.Config{MinLinks: s.cfg.MinLinks, MinMeanPercent: s.cfg.MinMeanPercent, Overlap: s.cfg.Overlap})
	s.method, s.roots = m, trees.NewRooter(g, m)
}

// Describe says in a few words how regions are found and which count.
func (s *Segmenter) Describe() string {
	least := fmt.Sprintf("regions from %d links", s.cfg.MinLinks)
	if s.cfg.MinLinks == 0 {
		least = fmt.Sprintf("congestion trees from %d to %d links, and patches of fewer links, by the noise: at most %v false ones a day", trees.FewestLinks, trees.MostLeastLinks, trees.FalseRegionsPerDay)
	}
	switch s.method.(type) {
	case *monet.Method:
		return "paper: Monet's algorithm as published; " + least
	case *trees.Method:
		return "statistical: congestion trees along back pressure, since links have directions; " + least
	}
	return "statistical: segments of constant stall, since links stand for both directions; " + least
}

// Step finds the regions of a snapshot, ordered by metric (as configured), then
// size, largest first, then first link. The result and all it points to belong
// to the segmenter and hold until the next Step.
//
// A value that is NaN or infinite counts as missing, a negative one as 0, one
// above 100 as 100. A missing link belongs to no region but does not part one.
// Step panics if the snapshot is of another graph: the numbers would mean
// nothing.
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

// bySize orders regions of a metric, the largest first.
func bySize(a, b schema.Region) int {
	return cmp.Or(cmp.Compare(b.Size, a.Size), slices.Compare(a.Links, b.Links))
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

// clean writes the series into dst as percentages in [0, 100] or missing.
func clean(dst []float32, series *schema.Series) {
	valid := uint64(0) // of the 64 links that i is among
	for i, v := range series.Values[:len(dst)] {
		if i%64 == 0 {
			valid = series.Valid[i/64]
		}
		switch {
		case valid>>(i%64)&1 == 0:
			v = linkset.Missing
		case v >= 0 && v <= 100: // nearly all
			v += 0 // -0 is 0
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
