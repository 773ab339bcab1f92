package segment

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees"
	"github.com/giverny/giverny/topology"
)

// Memory keeps regions from one interval to the next: a region is found by a Segmenter's strict rules, and kept by
// looser ones (hysteresis), so that one at the limit of what is a region does not come and go with the noise. All that it
// remembers are the regions of the last interval as Step gave them, for Resume or Save and Load. It is not safe for
// concurrent use.
type Memory struct {
	graph   *topology.Graph
	keeps   bool // not with the paper's method, which has no memory
	minMean float64
	noise   trees.NoiseEstimator
	past    []remembered
	arena   []schema.LinkID // of their links
	taken   []bool          // by link: in a region that was found, of the metric at hand
	values  []float32
	rest    []schema.LinkID
	boxes   boxer
}

// remembered is a region of the last interval.
type remembered struct {
	metric schema.Metric
	links  []schema.LinkID // ascending
	root   *schema.Root    // without a kind, which is another interval's
}

const (
	// A link of a region stands while it stalls by so much of the least mean that counts over what all links do, or so many
	// deviations of the noise, if that is more: half of what makes one stalled.
	keptMean, keptSigmas = .5, trees.HotSigmas / 2
	// A region stands while so many of its links do, and that share of those that are measured.
	leastKept, standingShare = 3, .5
)

// NewMemory makes the memory of one version of a fabric.
func NewMemory(g *topology.Graph, cfg Config) *Memory {
	return &Memory{graph: g, keeps: cfg.Method != Paper, minMean: cfg.MinMeanPercent, taken: make([]bool, g.NumLinks()), values: make([]float32, g.NumLinks()), boxes: newBoxer(g)}
}

// Step takes the regions that were found in a snapshot, and gives them with those of the last interval that are not found
// again and still stand. The result holds until the next Step of the segmenter that found them, or of the memory. An interval
// in which no stall is measured is to be left out.
func (m *Memory) Step(snap *schema.Snapshot, found []schema.Region) []schema.Region {
	if !m.keeps {
		return found
	}
	m.boxes.reset()
	regions := found
	for i := 0; i < len(m.past); {
		metric := m.past[i].metric
		m.take(found, metric, true)
		isClean := false
		var noise trees.Noise
		for ; i < len(m.past) && m.past[i].metric == metric; i++ {
			series := snap.Find(metric)
			if series == nil || !m.isLost(&m.past[i]) {
				continue
			}
			if !isClean {
				clean(m.values, series)
				noise, isClean = m.noise.Calm(m.values, m.minMean), true
			}
			if r, stands := m.kept(&m.past[i], noise); stands {
				regions = append(regions, r)
			}
		}
		m.take(found, metric, false)
	}
	if len(regions) > len(found) {
		sortByMetric(regions)
	}
	m.remember(regions)
	return regions
}

// take marks the links of the regions of a metric.
func (m *Memory) take(found []schema.Region, metric schema.Metric, taken bool) {
	for i := range found {
		if found[i].Metric == metric {
			for _, l := range found[i].Links {
				m.taken[l] = taken
			}
		}
	}
}

// isLost reports whether most of a region is in none that was found.
func (m *Memory) isLost(p *remembered) bool {
	m.rest = m.rest[:0]
	for _, l := range p.links {
		if !m.taken[l] {
			m.rest = append(m.rest, l)
		}
	}
	return 2*len(m.rest) > len(p.links)
}

// kept is the rest of a region that was lost, if it stands.
func (m *Memory) kept(p *remembered, noise trees.Noise) (r schema.Region, stands bool) {
	least := float32(noise.Mean + max(keptMean*m.minMean, keptSigmas*noise.Base))
	measured, standing := 0, 0
	for _, l := range m.rest {
		v := m.values[l]
		if v == linkset.Missing {
			continue
		}
		measured++
		r.Mean += float64(v)
		r.Max = max(r.Max, float64(v))
		if v >= least {
			standing++
		}
	}
	r.Mean /= float64(max(1, measured))
	if standing < leastKept || float64(standing) < standingShare*float64(measured) || 2*measured < len(m.rest) || r.Mean < m.minMean {
		return r, false
	}
	r.Metric, r.Links, r.Size, r.Severity = p.metric, slices.Clone(m.rest), len(m.rest), schema.SeverityOf(r.Mean)
	r.Box, r.Root = m.boxes.box(r.Links), p.root
	return r, true
}

// sortByMetric sorts regions as a segmenter does: by metric, in the order that they come in, then by size.
func sortByMetric(regions []schema.Region) {
	var metrics []schema.Metric
	for i := range regions {
		if !slices.Contains(metrics, regions[i].Metric) {
			metrics = append(metrics, regions[i].Metric)
		}
	}
	slices.SortFunc(regions, func(a, b schema.Region) int {
		return cmp.Or(cmp.Compare(slices.Index(metrics, a.Metric), slices.Index(metrics, b.Metric)), bySize(a, b))
	})
}

// remember takes the regions of an interval in the place of the last.
func (m *Memory) remember(regions []schema.Region) {
	m.past, m.arena = m.past[:0], m.arena[:0]
	for i := range regions {
		begin := len(m.arena)
		m.arena = append(m.arena, regions[i].Links...)
		m.past = append(m.past, remembered{metric: regions[i].Metric, links: m.arena[begin:len(m.arena):len(m.arena)], root: m.port(regions[i].Root)})
	}
	slices.SortStableFunc(m.past, func(a, b remembered) int { return cmp.Compare(a.metric, b.metric) })
}

// port is a root without its kind, with the link that its port has now.
func (m *Memory) port(r *schema.Root) *schema.Root {
	if r == nil {
		return nil
	}
	root := schema.Root{Device: r.Device, Port: r.Port, Peer: r.Peer, Link: schema.NoLink}
	if r.Port != "" {
		port, _ := m.graph.FindPort(r.Device, r.Port)
		root.Link = port.Egress
	}
	return &root
}

// Resume takes the regions of an interval as they were stored, with what Step kept.
func (m *Memory) Resume(stored []schema.Region) { m.remember(stored) }
