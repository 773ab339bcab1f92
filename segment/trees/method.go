package trees

import (
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
)

// Method finds congestion trees on a graph of directed links, in the steps of the package comment.
type Method struct {
	trees
	noiseOf   NoiseEstimator
	sinks     sinks
	causes    causes
	shares    shares
	patches   patches
	layers    layers
	roots     []root // by group of the last step
	exchanges hostExchanges
	spines    spines

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
	w := newWaits(g)
	m := &Method{minMean: cfg.MinMeanPercent, minLinks: cfg.MinLinks, overlap: cfg.Overlap, branches: w.branching()}
	m.waits, m.layered = w, cfg.Overlap && w.isTwoLevel()
	m.node, m.seen = make([]nodeID, len(w.from)), make([]bool, len(w.level))
	m.feeders, m.isMet = make([]int32, len(w.level)), make([]bool, len(w.level))
	for i := range m.node {
		m.node[i] = -1
	}
	m.usual = map[groupID]float64{}
	m.sinks = newSinks(len(w.level), len(w.from))
	if m.overlap {
		m.spines = newSpines(w, m.layered)
	}
	return m
}

// Segment appends the regions of one series: percent by link in [0, 100], or linkset.Missing.
func (m *Method) Segment(values []float32, out *linkset.Groups) {
	m.roots = m.roots[:0]
	m.measure(values)
	rest := values
	if m.layered {
		rest = m.layers.separate(m.waits, values, m.hot, m.noise.Mean)
	}
	if m.layers.isAny() {
		m.measure(rest)
	}
	m.findTrees(rest, out)
	if m.layered && m.exchanges.find(m, out) {
		out.Reset()
		m.roots = m.roots[:0]
		m.findTrees(m.exchanges.rest, out)
		m.exchanges.emit(m, out)
	}
	if m.layered {
		m.spines.divide(m, out)
	} else if m.overlap {
		m.spines.dividePods(m, out)
	}
	m.layers.emit(m, max(m.minLinks, FewestLinks), out)
}

// measure estimates the noise of readings, and the stall from which a link is stalled.
func (m *Method) measure(values readings) {
	m.noise = m.noiseOf.Calm(values, m.minMean)
	m.hot = m.noise.Mean + max(m.minMean, HotSigmas*m.noise.Base)
}

// findTrees appends the regions found by back pressure.
func (m *Method) findTrees(values readings, out *linkset.Groups) {
	if !m.findLinks(values) {
		return
	}
	m.findCauses()
	m.causes.joinPieces(&m.trees, &m.sinks, &m.shares)
	m.dropLone()
	m.shares.listMembers(m.overlap)
	m.emit(out)
}

// findLinks finds the stalled links and what each waits for; it reports whether there are any.
func (m *Method) findLinks(values readings) bool {
	m.values = values
	m.forget()
	m.find(float32(m.hot))
	if len(m.links) == 0 {
		return false
	}
	m.dropFalseZeros()
	m.noiseOf.fitSlope(&m.trees)
	m.connect()
	m.findLinkSinks()
	return true
}

// findCauses finds the sinks, which of them are one cause, and what each cause has of each link.
func (m *Method) findCauses() {
	m.findSinks()
	m.rankNodes()
	m.sinks.find(&m.trees)
	m.causes.find(&m.trees, &m.sinks)
	m.shares.find(&m.trees, &m.sinks, &m.causes, m.minMean)
}
