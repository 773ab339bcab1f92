// Package merging finds regions where links stand for both directions, as on Gemini: it cuts the stalls of one interval
// into segments of constant stall, by statistical region merging under a noise model of the data. Percentages by link go
// in, groups of links come out, of any size; which of them count is for the caller.
package merging

import (
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
)

// Method cuts what is hot into segments of constant stall: image segmentation by region
// merging, on a graph of links instead of pixels, under a noise model that is estimated from the
// snapshot. Its constants, below and beside each step, are the same for every fabric; they were chosen
// on drawn snapshots (package bench) and nothing is tuned to a site.
//
//  1. Noise model and variance-stabilising transform (noise.go): location and scale of the background
//     by quantiles, growth of the noise with the stall; from there on levels are counted in deviations.
//  2. Candidates (candidates.go): hysteresis thresholding, then closing of holes. All other links are
//     one segment, the background.
//  3. Region merging (regiongraph.go): the piecewise constant functional of Mumford and Shah (CPAM 42,
//     1989), minimised greedily over the region adjacency graph (Koepfler, Lopez and Morel, SIAM J.
//     Numer. Anal. 31, 1994). Merges go in Boruvka rounds of mutually best neighbours, so that the
//     order of links does not matter.
//  4. Segments that are too small to be a region go to the neighbour of the nearest mean; before that those
//     that make up a congestion tree are joined (treepieces.go).
//  5. Splitting by interiors (interiors.go): stall falls off at the boundary of a region, so that two
//     may look alike only there. Interiors are segmented alone and serve as markers, from which labels
//     are propagated back (as in marker-controlled watersheds and seeded region growing).
//  6. Pieces of congestion trees, in which stall is not constant, are joined (treepieces.go).
//  7. Superposition (overlaps.go): a segment whose stall is the sum of two neighbours' belongs to both.
//
// Statistical region merging (Nock and Nielsen, IEEE PAMI 26, 2004) orders merges by the difference of
// single links instead; docs/decisions says why that lost.
//
// A missing link counts for nothing and makes its two switches one. All sums are
// of whole numbers: the numbering of links does not show in them.
type Method struct {
	noise      noiseEstimator
	candidates candidates
	graph      regionGraph
	interiors  interiors
	pieces     treePieces
	overlaps   overlaps

	minLinks int32
	minMean  float64
	overlap  bool
}

const (
	// lambda of Mumford and Shah is what a unit of boundary costs, in variances of
	// the noise. A link that is surrounded by another segment at one of its switches
	// has boundaryPerSwitch units there.
	lambda            = 2.5
	boundaryPerSwitch = 5
	// contactRatio is the boundary per link of the smaller segment under which it
	// counts for less: bodies that touch at a narrow place are rarely one.
	contactRatio = .8
	// hotShare and hotSigmas say from where a link is hot: a share of the mean at
	// which a region counts, or so many deviations of the noise above the median,
	// whichever is greater. The context of a link must be that many deviations above
	// the median too, except from certainSigmas on.
	hotShare      = .8
	hotSigmas     = 2.5
	certainSigmas = 8
	// HotLinks are enough for a region on a torus if they stall as much in all as the smallest region at High: neither noise
	// nor usual load makes those.
	HotLinks = 12
)

// Config says which segments may be regions.
type Config struct {
	MinLinks       int
	MinMeanPercent float64
	Overlap        bool // superposition is resolved
}

// New makes the method for one version of a fabric.
func New(g *topology.Graph, cfg Config) *Method {
	adj := linkset.NewAdjacency(g)
	return &Method{
		noise: newNoiseEstimator(adj), candidates: newCandidates(adj),
		minLinks: int32(cfg.MinLinks), minMean: cfg.MinMeanPercent, overlap: cfg.Overlap,
	}
}

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
	m.graph.absorbSmall(m.minLinks)
	m.graph.mergeAll() // more edges may be worth removing
	m.interiors.splitByInterior(&m.graph, noise)
	m.pieces.join(&m.graph, &m.candidates)
	m.overlaps.resolve(&m.graph, values, &m.candidates, noise, m.minMean, m.overlap)
	m.overlaps.emit(&m.graph, &m.candidates, out)
}
