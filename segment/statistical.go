package segment

import (
	"cmp"
	"math"
	"slices"
)

// statisticalMethod cuts the fabric into pieces of constant stall, told apart by
// tests against the noise of the data. It has no threshold to tune:
//
//  1. stalls are made of equal noise at every level (transform);
//  2. links that share a switch are joined, likest first, while their pieces'
//     means differ by less than chance explains (statistical region merging: Nock
//     and Nielsen, IEEE PAMI 26, 2004);
//  3. touching pieces are joined while the difference of their means is not worth
//     the border between them (the piecewise constant functional of Mumford and
//     Shah, CPAM 42, 1989; greedily: Koepfler, Lopez and Morel, SIAM J. Numer.
//     Anal. 31, 1994);
//  4. pieces too small to be a region go to the likest neighbour.
//
// A missing link joins what it touches and counts for nothing.
type statisticalMethod struct {
	adj      *adjacency
	minLinks int
	minMean  float64
	overlap  bool

	level    []float64 // by link, transformed; of missing links what they join
	edges    []edge
	sorted   []edge
	sets     unionFind
	size     []float64 // by root: measured links
	sum      []float64 // by root: of their levels
	borders  borders
	quantile []float64
	members  []int32 // of a switch
	labels   []int32
	count    []int32
}

// edge joins two links that share a switch.
type edge struct {
	a, b int32
	key  uint16 // their difference, quantised
}

// Constants of the method, the same for every fabric and every data set.
const (
	curvature   = .02  // of the transform: how fast noise grows with stall
	complexity  = 4096 // Q of statistical region merging: larger makes more pieces
	borderNoise = 8    // price of a border, in variances of the noise per pair of links across it
	edgeKeys    = 1 << 12
)

func newStatisticalMethod(adj *adjacency, cfg Config) *statisticalMethod {
	n := adj.numLinks()
	return &statisticalMethod{adj: adj, minLinks: cfg.MinLinks, minMean: cfg.MinMeanPercent, overlap: cfg.Overlap, level: make([]float64, n), size: make([]float64, n), sum: make([]float64, n),
		labels: make([]int32, n), count: make([]int32, n)}
}

func (m *statisticalMethod) segment(values []float32, out *partition) {
	m.transform(values)
	variance := m.noise(values)
	m.findEdges()
	m.sets.reset(len(values))
	for l, v := range values {
		m.size[l], m.sum[l] = 1, m.level[l]
		if v == missing {
			m.size[l], m.sum[l] = 0, 0
		}
	}
	m.mergeAlike(len(values))
	m.mergeTouching(borderNoise * variance)
	m.emit(values, out)
	if m.overlap {
		m.explain(values, out)
	}
}

// transform makes noise that grows with the stall alike at every level, and
// gives missing links the mean of their neighbours, to find their place among
// them.
func (m *statisticalMethod) transform(values []float32) {
	for l, v := range values {
		if v != missing {
			m.level[l] = math.Log1p(curvature*float64(v)) / curvature
		}
	}
	for l, v := range values {
		if v != missing {
			continue
		}
		sum, n := 0., 0.
		for _, s := range m.adj.ends[l] {
			if s == noSwitch {
				continue
			}
			for _, k := range m.adj.links(s) {
				if values[k] != missing {
					sum += m.level[k]
					n++
				}
			}
		}
		m.level[l] = sum / max(1, n)
	}
}

// noise estimates the variance from the differences of links beside each other,
// most of which are within a piece: by their median, which borders do not move.
func (m *statisticalMethod) noise(values []float32) float64 {
	m.quantile = m.quantile[:0]
	for s := range int32(m.adj.numSwitches()) {
		before := int32(-1)
		for _, l := range m.adj.links(s) {
			if values[l] == missing {
				continue
			}
			if before >= 0 {
				m.quantile = append(m.quantile, math.Abs(m.level[l]-m.level[before]))
			}
			before = l
		}
	}
	if len(m.quantile) == 0 {
		return minVariance
	}
	slices.Sort(m.quantile)
	const perSigma = .954 // median of |x - y| for normal x and y
	sigma := m.quantile[len(m.quantile)/2] / perSigma
	return max(minVariance, sigma*sigma)
}

// minVariance keeps data without noise from being cut at every step.
const minVariance = .05 * .05

// findEdges joins the links of each switch in the order of their levels: of all
// pairs of links there, those that differ least and still connect them.
func (m *statisticalMethod) findEdges() {
	m.edges = m.edges[:0]
	top := 0.
	for s := range int32(m.adj.numSwitches()) {
		m.members = append(m.members[:0], m.adj.links(s)...)
		slices.SortFunc(m.members, func(a, b int32) int {
			return cmp.Or(cmp.Compare(m.level[a], m.level[b]), cmp.Compare(a, b))
		})
		for i := 1; i < len(m.members); i++ {
			a, b := m.members[i-1], m.members[i]
			m.edges = append(m.edges, edge{a: a, b: b})
			top = max(top, m.level[b]-m.level[a])
		}
	}
	for i := range m.edges {
		e := &m.edges[i]
		e.key = uint16((m.level[e.b] - m.level[e.a]) / max(top, 1e-9) * (edgeKeys - 1))
	}
	m.sortEdges()
}

// sortEdges is a counting sort by key, stable.
func (m *statisticalMethod) sortEdges() {
	var at [edgeKeys + 1]int
	for _, e := range m.edges {
		at[e.key+1]++
	}
	for k := range edgeKeys {
		at[k+1] += at[k]
	}
	m.sorted = resize(m.sorted, len(m.edges))
	for _, e := range m.edges {
		m.sorted[at[e.key]] = e
		at[e.key]++
	}
}

// mergeAlike is statistical region merging (Nock and Nielsen, section 3): two
// pieces join if their means differ by no more than the bound of the larger
// deviation that either may have by chance, with probability 1 - 1/(6 n^2).
func (m *statisticalMethod) mergeAlike(n int) {
	span := math.Log1p(curvature*100) / curvature
	logDelta := math.Log(6) + 2*math.Log(float64(n))
	bound := func(size float64) float64 { return span * span * logDelta / (2 * complexity * size) }
	for _, e := range m.sorted {
		a, b := m.sets.find(e.a), m.sets.find(e.b)
		if a == b {
			continue
		}
		if m.size[a] > 0 && m.size[b] > 0 {
			d := m.sum[a]/m.size[a] - m.sum[b]/m.size[b]
			if d*d > bound(m.size[a])+bound(m.size[b]) {
				continue
			}
		}
		m.join(min(a, b), max(a, b))
	}
}

// join puts one root under another.
func (m *statisticalMethod) join(stays, goes int32) {
	m.sets.parent[goes] = stays
	m.size[stays] += m.size[goes]
	m.sum[stays] += m.sum[goes]
}

// mergeTouching removes borders that are not worth their length, then gives
// pieces too small to be regions to their likest neighbour, after which other
// borders may have lost their worth.
func (m *statisticalMethod) mergeTouching(worth float64) {
	m.borders.collect(m)
	worthless := func(gain, length, _, _ float64) (float64, bool) { return gain / length, gain < worth*length }
	m.borders.remove(m, worthless)
	m.borders.remove(m, func(_, _, apart, smaller float64) (float64, bool) { return apart, smaller < float64(m.minLinks) })
	m.borders.remove(m, worthless)
}

// emit gives each piece a group.
func (m *statisticalMethod) emit(values []float32, out *partition) {
	for l, v := range values {
		m.labels[l] = -1
		if v != missing {
			m.labels[l] = m.sets.find(int32(l))
		}
	}
	clear(m.count)
	out.fromLabels(m.labels, m.count)
}
