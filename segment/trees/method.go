package trees

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/segment/trees/layers"
	"github.com/giverny/giverny/segment/trees/spines"
	"github.com/giverny/giverny/topology"
)

// Method finds congestion trees on a graph of directed links, in the steps of the package comment.
type Method struct {
	analysis
	noiseOf   backpressure.NoiseEstimator
	shares    shares
	patches   patches
	layers    layers.Layers
	regions   backpressure.Regions
	exchanges hostExchanges
	spines    spines.Divider

	minMean  float64
	minLinks int // 0: as many as chance does not make
	overlap  bool
	layered  bool // see layers
	branches float64
	hot      float64 // percent from which a link is stalled
}

// HotSigmas is the number of deviations above the calm mean from which a link is stalled, or the least mean that counts if
// that is more.
const HotSigmas = 4

// Config sets which congestion trees are regions.
type Config struct {
	MinLinks       int // 0: as many as chance does not make
	MinMeanPercent float64
	Overlap        bool // a link may be in several regions
}

// New returns the method for one version of a fabric with directed links.
func New(g *topology.Graph, cfg Config) *Method {
	w := backpressure.New(g)
	m := &Method{minMean: cfg.MinMeanPercent, minLinks: cfg.MinLinks, overlap: cfg.Overlap, branches: w.Branching()}
	m.Waits, m.layered = backpressure.NewWaits(w), cfg.Overlap && w.IsTwoLevel()
	m.met = scratch.NewMarks[index.Device](len(w.Level))
	m.usual, m.shares.minMean = map[index.Group]float64{}, cfg.MinMeanPercent
	m.sinks = newSinks(len(w.Level), len(w.From))
	if m.overlap {
		m.spines = spines.New(w, m.layered)
	}
	return m
}

// Segment finds the regions of one series: percent by link in [0, 100], or linkset.Missing. out must be empty.
func (m *Method) Segment(values []float32, out *linkset.Groups) {
	m.regions.Begin(out)
	m.measure(values)
	rest := values
	if m.layered {
		rest = m.layers.Separate(m.Graph, values, m.hot, m.Noise.Mean)
	}
	if m.layers.IsAny() {
		m.measure(rest)
	}
	m.findTrees(rest)
	if m.layered && m.exchanges.find(m) {
		m.regions.Forget()
		m.findTrees(m.exchanges.rest)
		m.exchanges.emit(&m.regions)
	}
	if m.overlap {
		m.divide()
	}
	if m.layers.IsAny() {
		m.regions.Keep(m.layers.IsMore)
		m.layers.Emit(m.leastOfAny(), &m.regions)
	}
}

// divide divides the links of the regions among them, by spine.
func (m *Method) divide() {
	x := &spines.Snapshot{Nodes: &m.Nodes, Regions: &m.regions, Hot: m.hot, MinMean: m.minMean, FewestLinks: m.leastOfAny()}
	if m.layered {
		m.spines.Divide(x, &m.layers)
	} else {
		m.spines.DividePods(x)
	}
}

// leastOfAny is the number of links from which a region counts even beside others.
func (m *Method) leastOfAny() int { return max(m.minLinks, FewestLinks) }

// measure estimates the noise of readings, and the stall from which a link is stalled.
func (m *Method) measure(values index.Readings) {
	m.Noise = m.noiseOf.Calm(values, m.minMean)
	m.hot = m.Noise.Mean + max(m.minMean, HotSigmas*m.Noise.Base)
}

// findTrees appends the regions found by back pressure.
func (m *Method) findTrees(values index.Readings) {
	if !m.findLinks(values) {
		return
	}
	m.findCauses()
	m.causes.joinPieces(&m.trees, &m.sinks, &m.shares)
	m.dropLone()
	m.shares.listMembers(m.overlap)
	m.emit()
}

// findLinks finds the stalled links and what each waits for; it reports whether there are any.
func (m *Method) findLinks(values index.Readings) bool {
	m.Values = values
	m.Forget()
	m.Find(float32(m.hot))
	if len(m.Links) == 0 {
		return false
	}
	m.DropFalseZeros()
	m.noiseOf.FitSlope(&m.Nodes)
	m.Connect()
	m.findLinkSinks()
	return true
}

// findCauses finds the sinks, which of them are one cause, and what each cause has of each link.
func (m *Method) findCauses() {
	m.findSinks()
	m.rankNodes()
	m.sinks.find(&m.trees)
	m.causes.find(&m.trees, &m.sinks)
	m.shares.find(&m.analysis)
}
