// Package merging finds regions on duplex links, which stand for both directions, as on Gemini: it cuts the stalls of
// one interval into segments of constant stall, by statistical region merging under a noise model of the data. Input:
// percentages by link. Output: groups of links of any size; the caller decides which count.
package merging

import (
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
)

// Method cuts hot links into segments of constant stall: image segmentation by region merging, on a graph
// of links instead of pixels, with a noise model estimated from the snapshot. Its constants, below and
// beside each step, are the same for every fabric; they were chosen on generated snapshots (package bench),
// and none is tuned to a site.
//
//  1. Noise model and variance-stabilising transform (noise.go): location and scale of the background
//     by quantiles, growth of the noise with the stall; from here on levels are in noise deviations.
//  2. Candidates (candidates.go): hysteresis thresholding, then closing of holes. All other links are
//     one segment, the background.
//  3. Region merging (regiongraph.go): the piecewise constant functional of Mumford and Shah (CPAM 42,
//     1989), minimised greedily over the region adjacency graph (Koepfler, Lopez and Morel, SIAM J.
//     Numer. Anal. 31, 1994). Merges are Boruvka rounds of mutually best neighbours, so that the
//     order of links does not matter.
//  4. Segments too small to be a region are merged into the neighbour with the closest mean; before that,
//     those that form a congestion tree are joined (treepieces.go). Those that touch no other may be regions where chance does
//     not make as many hot links together (smallest.go).
//  5. Splitting by interiors (interiors.go): stall decreases at the boundary of a region, so that two
//     regions may be similar only there. Interiors are segmented alone and serve as markers, from which
//     labels are propagated back (as in marker-controlled watersheds and seeded region growing).
//  6. Pieces of congestion trees, in which stall is not constant, are joined (treepieces.go).
//  7. Superposition (overlaps.go): a segment whose stall is the sum of two neighbours' belongs to both.
//
// Statistical region merging (Nock and Nielsen, IEEE PAMI 26, 2004) orders merges by the difference of
// single links instead; docs/decisions says why that was rejected.
//
// A missing link has no value and merges its two switches. All sums are of integers, so results do not
// depend on the numbering of links.
type Method struct {
	noise      noiseEstimator
	candidates candidates
	graph      regionGraph
	interiors  interiors
	pieces     treePieces
	overlaps   overlaps
	smallest   smallest

	minLinks    int32
	minMean     float64
	overlap     bool
	falsePerDay float64
	least       int // see Least
}

const (
	// lambda of Mumford and Shah is the cost of a unit of boundary, in variances of the
	// noise. A link surrounded by another segment at one of its switches has
	// boundaryPerSwitch units there.
	lambda            = 2.5
	boundaryPerSwitch = 5
	// contactRatio is the boundary per link of the smaller segment below which the
	// boundary counts for less: bodies that touch at a narrow place are rarely one.
	contactRatio = .8
	// hotShare and hotSigmas define when a link is hot: at this share of the minimum
	// mean of a region, or so many noise deviations above the median, whichever is
	// greater. The context of a link must be that many deviations above the median too,
	// except from certainSigmas on.
	hotShare      = .8
	hotSigmas     = 2.5
	certainSigmas = 8
)

// Config is which segments may be regions.
type Config struct {
	MinLinks       int
	MinMeanPercent float64
	Overlap        bool // resolve superposition
	// FalseRegionsPerDay is how many segments of fewer than MinLinks links that Least admits chance may make in a day of
	// one-minute intervals; 0: none is admitted.
	FalseRegionsPerDay float64
}

// New returns the method for one version of a fabric.
func New(g *topology.Graph, cfg Config) *Method {
	adj := linkset.NewAdjacency(g)
	return &Method{
		noise: newNoiseEstimator(adj), candidates: newCandidates(adj), smallest: newSmallest(adj),
		minLinks: int32(cfg.MinLinks), minMean: cfg.MinMeanPercent, overlap: cfg.Overlap, falsePerDay: cfg.FalseRegionsPerDay,
		least: cfg.MinLinks,
	}
}

// Least is how many links a segment of the last snapshot must have to be more than chance makes; see Config.
func (m *Method) Least() int { return m.least }

// Segment appends the segments of one series: percent by link in [0, 100], or linkset.Missing.
func (m *Method) Segment(values []float32, out *linkset.Groups) {
	background := m.noise.background(values, m.minMean)
	m.candidates.find(values, background.thresholds, m.minLinks > 1)
	if len(m.candidates.links) == 0 {
		return
	}
	noise := m.noise.model(values, background, &m.candidates)
	m.graph.build(values, &m.candidates, noise)
	m.graph.mergeAll()
	m.pieces.joinFragments(&m.graph, &m.candidates, m.minLinks)
	if m.falsePerDay > 0 {
		m.smallest.join(&m.graph, m.minLinks)
	}
	m.graph.absorbSmall(m.minLinks, m.falsePerDay > 0)
	m.graph.mergeAll() // larger segments may allow more merges
	m.interiors.splitByInterior(&m.graph, noise)
	m.pieces.join(&m.graph, &m.candidates)
	if m.falsePerDay > 0 {
		m.least = m.smallest.least(&m.graph, m.candidates.hot, m.candidates.adj.NumLinks(), m.minLinks, m.falsePerDay)
	}
	m.overlaps.resolve(&m.graph, values, &m.candidates, noise, m.minMean, m.overlap)
	m.overlaps.emit(&m.graph, &m.candidates, out)
}
