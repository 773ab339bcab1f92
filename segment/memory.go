package segment

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/topology"
)

// Memory keeps regions from one interval to the next by hysteresis: a Segmenter finds a region by strict rules, and
// Memory keeps it by looser ones, so that noise does not make borderline regions come and go; it counts their links that
// are no longer measured, and keeps their severity from rising because of these. Its only state is the regions of the last interval as returned by
// Step, with the last stalls of their links, for Resume or Save and Load. It is not safe for concurrent use.
type Memory struct {
	graph   *topology.Graph
	keeps   bool // false for the paper's method, which has no memory
	minMean float64
	noise   backpressure.NoiseEstimator
	past    []remembered
	arena   []schema.LinkID // holds their links
	taken   []bool          // by link: in a found region of the current metric
	values  []float32
	rest    []schema.LinkID
	carried []carriedStall
	owner   []int32     // by link: the region, from 1, of the current metric that has it
	votes   []int32     // by region
	stalls  []lastStall // holds those of past
	boxes   boxer
}

// remembered is a region of the last interval.
type remembered struct {
	metric schema.Metric
	links  []schema.LinkID // ascending
	root   *schema.Root    // without its kind, which may change
	last   []lastStall     // of links that were measured in it
}

const (
	// A link persists while its stall exceeds the median of the calm links by at least this share of the minimum mean, or this
	// many noise deviations, whichever is greater: half of what makes a link hot.
	keptMean, keptSigmas = .5, trees.HotSigmas / 2
	// A region persists while at least so many of its links do, and this share of the measured ones.
	leastKept, standingShare = 3, .5
)

// NewMemory returns the memory for one version of a fabric.
func NewMemory(g *topology.Graph, cfg Config) *Memory {
	return &Memory{graph: g, keeps: cfg.Method != Paper, minMean: cfg.MinMeanPercent, taken: make([]bool, g.NumLinks()), values: make([]float32, g.NumLinks()), owner: make([]int32, g.NumLinks()), boxes: newBoxer(g)}
}

// Step takes the regions found in a snapshot, and adds those of the last interval that were not found again but persist. The
// result is valid until the next Step of the segmenter that found them, or of the memory. Omit intervals without any measured
// stall.
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
		var noise backpressure.Noise
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
	m.carry(snap, regions)
	m.hold(snap, regions)
	m.remember(snap, regions)
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

// isLost reports whether most of a region lies in no found region.
func (m *Memory) isLost(p *remembered) bool {
	m.rest = m.rest[:0]
	for _, l := range p.links {
		if !m.taken[l] {
			m.rest = append(m.rest, l)
		}
	}
	return 2*len(m.rest) > len(p.links)
}

// kept returns the rest of a lost region, if it persists.
func (m *Memory) kept(p *remembered, noise backpressure.Noise) (r schema.Region, stands bool) {
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

// sortByMetric sorts regions like a segmenter: by metric, in order of appearance, then by size.
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

// remember replaces the remembered regions. Without a snapshot, the stalls of their links are unknown.
func (m *Memory) remember(snap *schema.Snapshot, regions []schema.Region) {
	m.past, m.arena, m.stalls = m.past[:0], m.arena[:0], m.stalls[:0]
	for i := range regions {
		begin := len(m.arena)
		m.arena = append(m.arena, regions[i].Links...)
		first := len(m.stalls)
		if snap != nil {
			m.stalls = m.lastOf(m.stalls, snap, regions, i)
		}
		m.past = append(m.past, remembered{metric: regions[i].Metric, links: m.arena[begin:len(m.arena):len(m.arena)],
			root: m.port(regions[i].Root), last: m.stalls[first:len(m.stalls):len(m.stalls)]})
	}
	slices.SortStableFunc(m.past, func(a, b remembered) int { return cmp.Compare(a.metric, b.metric) })
}

// port returns a root without its kind, with the current link of its port.
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

// Resume restores the regions of an interval as stored, including those kept by Step. snap may be nil.
func (m *Memory) Resume(snap *schema.Snapshot, stored []schema.Region) {
	if m.carried = m.carried[:0]; snap != nil {
		m.carry(snap, stored)
	}
	m.remember(snap, stored)
}
