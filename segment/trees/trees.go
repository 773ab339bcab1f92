// Package trees finds regions where links have one direction: congestion trees along back pressure, all-to-all
// exchanges, and groups of the other stalled links. It takes percentages by link, and returns groups of links, which
// may overlap, and where the back pressure of each begins.
package trees

import (
	"cmp"
	"math"

	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
)

// Method finds congestion trees on a graph of directed links with back pressure as the relation: u->v waits
// because of v->w. It is a watershed on the downstream graph. Its constants are defined beside each step and
// are the same for every directed fabric; they were chosen on synthetic congestion (package bench).
//
//  1. Stalled links, their noise, and which of them wait for which (connect.go). Unmeasured links are looked
//     through.
//  2. Sinks (origins.go, ranks.go, sinks.go): where back pressure begins, each a switch or one port. Every
//     stalled link leads to one or more.
//  3. Causes (causes.go, exchanges.go, joins.go): sinks that are one cause are joined, by their levels, their
//     shared sources, and hosts that both send and wait. Level sinks that share their sources and send as they
//     receive are an all-to-all exchange; else two sinks are two trees.
//  4. Shares (shares.go, choice.go, attenuation.go): hop by hop upstream, a link belongs to the cause, or the
//     sum of causes, that predicts its stall best.
//  5. Roots (roots.go): the port where a cause begins.
//  6. Patches (patches.go): stalled links of no cause that is large enough.
type Method struct {
	trees
	noiseOf NoiseEstimator
	sinks   sinks
	causes  causes
	shares  shares
	patches patches
	layers  layers
	roots   []root // by group of the last step

	minMean  float64
	minLinks int // 0: as many as chance does not make
	overlap  bool
	layered  bool // see layers
	branches float64
	hot      float64 // percent from which a link is stalled
}

// trees are the stalled links of a snapshot, as nodes, and what each node waits for.
type trees struct {
	waits   *waits
	noise   Noise
	links   []int32   // by node, ascending
	node    []int32   // by link: its node, or -1
	stall   []float64 // by node: percent
	entered []int32   // devices that stalled links enter
	from    []int32   // by node: the device that its link leaves
	to      []int32   // by node: the device that its link enters
	leaving linkLists // nodes by from
	into    linkLists // nodes by to
	list    []int32   // by node: its list in next, which nodes at one leaf may share
	next    linkLists // by list: the nodes to wait for
	peak    []int32   // by list: its most stalled node, or -1
	sink    []int32   // by node: the switch where it waits, or its own place (placeOf) if odd, or -1
	port    []bool    // by node: back pressure begins at the switch that it leaves
	order   []int32   // nodes by rank: those at sinks first
	odd     []bool    // by node: a sink of its own: a port to a host or a slow link
	isPeak  []bool    // by node: a port that is odd beside an exchange's, see findPeaks
	idle    float32   // stall up to which a link is idle
	rank    []int32
	was     []int32             // rank before a round
	first   [lastRank + 2]int32 // by rank, for order
	seen    []bool              // by device
	feeders []int32             // by device: stalled links from switches into it
	isMet   []bool              // by device: see hangsTogether
	met     []int32             // devices with isMet
	values  []float32
	trusted []float32 // copy of values without those not trusted
	sample  []float64
}

const (
	// A link is stalled from the least mean that counts, or from HotSigmas deviations if that is more, above the calm
	// mean.
	HotSigmas  = 4
	idleShare  = .5 // of that excess over the calm mean, up to which a link is idle
	maxRank    = 8  // most hops of traffic; more are a cycle
	lastRank   = 3 * maxRank
	minFeeders = 3 // stalled links into a switch from which its port is a root, not a lone hot link
)

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
	m.node, m.seen = make([]int32, len(w.from)), make([]bool, len(w.level))
	m.feeders, m.isMet = make([]int32, len(w.level)), make([]bool, len(w.level))
	for i := range m.node {
		m.node[i] = -1
	}
	m.sinks = newSinks(len(w.level), len(w.from))
	return m
}

// Segment appends the regions of one series: percent by link in [0, 100], or linkset.Missing.
func (m *Method) Segment(values []float32, out *linkset.Groups) {
	m.roots = m.roots[:0]
	m.measure(values)
	rest := values
	if m.layered {
		rest = m.layers.peel(m.waits, values, m.hot, m.noise.Mean)
	}
	if m.layers.isAny() {
		m.measure(rest)
	}
	m.findTrees(rest, out)
	m.layers.emit(m, values, max(m.minLinks, FewestLinks), out)
}

// measure estimates the noise of readings, and the stalls from which a link is stalled and up to which it is idle.
func (m *Method) measure(values []float32) {
	m.noise = m.noiseOf.Calm(values, m.minMean)
	m.hot = m.noise.Mean + max(m.minMean, HotSigmas*m.noise.Base)
	m.idle = float32(m.noise.Mean + idleShare*(m.hot-m.noise.Mean))
}

// findTrees appends the regions found by back pressure.
func (m *Method) findTrees(values []float32, out *linkset.Groups) {
	if !m.findLinks(values) {
		return
	}
	m.findCauses()
	m.causes.joinPieces(&m.trees, &m.sinks, &m.shares)
	if m.findPeaks(&m.sinks, &m.causes) { // which shows once it is known what exchanges
		m.findCauses()
		m.causes.joinPieces(&m.trees, &m.sinks, &m.shares)
	}
	m.dropLone()
	m.shares.listMembers(m.overlap)
	m.emit(out)
}

// findLinks finds the stalled links and what each waits for; it reports whether there are any.
func (m *Method) findLinks(values []float32) bool {
	m.values = values
	m.forget()
	m.find(float32(m.hot))
	if len(m.links) == 0 {
		return false
	}
	m.distrustZeros()
	m.noiseOf.fitSlope(&m.trees)
	m.connect()
	m.findOdd()
	return true
}

func (m *Method) findCauses() {
	m.findSinks()
	m.rankNodes()
	m.sinks.find(&m.trees)
	m.causes.find(&m.trees, &m.sinks)
	m.shares.find(&m.trees, &m.sinks, &m.causes, m.minMean)
}

func (t *trees) forget() {
	for _, l := range t.links {
		t.node[l] = -1
	}
	for _, d := range t.entered {
		t.seen[d], t.feeders[d] = false, 0
	}
	t.links, t.stall, t.entered = t.links[:0], t.stall[:0], t.entered[:0]
	t.from, t.to = t.from[:0], t.to[:0]
}

// unitsPerPoint is a power of two, so that sums of stalls are exact in any order.
const unitsPerPoint = 1 << 20

// find makes the stalled links nodes, and indexes them by the devices at their ends.
func (t *trees) find(hot float32) {
	for l, v := range t.values {
		if v < hot {
			continue
		}
		t.node[l] = int32(len(t.links))
		t.links, t.stall = append(t.links, int32(l)), append(t.stall, math.Round(float64(v)*unitsPerPoint)/unitsPerPoint)
		t.from, t.to = append(t.from, t.waits.from[l]), append(t.to, t.waits.to[l])
		if d := t.waits.to[l]; !t.seen[d] {
			t.seen[d] = true
			t.entered = append(t.entered, d)
		}
		if t.waits.isSwitch[t.waits.from[l]] {
			t.feeders[t.waits.to[l]]++
		}
	}
	t.leaving.list(t.from, len(t.seen))
	t.into.list(t.to, len(t.seen))
}

// fromHost and toHost report whether a node's link begins or ends at a host.
func (t *trees) fromHost(i int32) bool { return !t.waits.isSwitch[t.from[i]] }
func (t *trees) toHost(i int32) bool   { return !t.waits.isSwitch[t.to[i]] }

// leafOf is the leaf that a node's link leaves for a switch, or enters from a host, else -1.
func (t *trees) leafOf(i int32) int32 {
	switch {
	case t.fromHost(i):
		return t.to[i]
	case t.waits.isLeaf(t.from[i]) && !t.toHost(i):
		return t.from[i]
	}
	return -1
}

// waitsToSend reports whether a host waits to send: a link out of it stalls.
func (t *trees) waitsToSend(host int32) bool { return len(t.leaving.of(host)) > 0 }

// stalledInto counts the stalled links into a device.
func (t *trees) stalledInto(d int32) int { return len(t.into.of(d)) }

// stalledHosts counts the stalled links from hosts into a device.
func (t *trees) stalledHosts(d int32) (n int) {
	for _, i := range t.into.of(d) {
		if t.fromHost(i) {
			n++
		}
	}
	return n
}

// hottestAfter is the most stalled node that a node may wait for, or -1.
func (t *trees) hottestAfter(i int32) int32 { return t.peak[t.list[i]] }

// hottest is the highest stall among the nodes that a node may wait for, or 0.
func (t *trees) hottest(i int32) float64 {
	j := t.hottestAfter(i)
	if j < 0 {
		return 0
	}
	return t.stall[j]
}

// prefersHost reports whether the hottest link that a node may wait for goes to a host.
func (t *trees) prefersHost(i int32) bool {
	j := t.hottestAfter(i)
	return j >= 0 && t.port[j]
}

// placeOf is the place of an odd link: numbered after the devices, by link.
func (t *trees) placeOf(link int32) int32 { return int32(len(t.seen)) + link }

// compareEnds orders odd links of one switch (-1 for none) by the names of the devices that they lead to.
func (t *trees) compareEnds(a, b int32) int {
	if a < 0 || b < 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(t.waits.byName[t.waits.to[a]], t.waits.byName[t.waits.to[b]]), cmp.Compare(a, b))
}

// emit makes a group of each large enough cause and finds its root, then groups the rest. A cause of few links counts
// if it has a root and is not beside a region; else it is part of that or of the rest.
func (m *Method) emit(out *linkset.Groups) {
	least, p := m.leastLinks(), &m.patches
	p.begin(len(m.links))
	if m.minLinks > 0 {
		m.takeCauses(least, math.MaxInt)
	} else {
		m.takeCauses(max(least, FewestLinks), math.MaxInt)
		m.takeCauses(least, FewestLinks)
	}
	p.find(m)
	p.emit(m, out)
}

// takeCauses makes regions of the causes with at least least and fewer than most links.
func (m *Method) takeCauses(least, most int) {
	s, p := &m.shares, &m.patches
	for c := range s.members.off[:len(s.members.off)-1] {
		members := s.members.of(int32(c))
		if len(members) < least || len(members) >= most || !m.hangsTogether(members) {
			continue
		}
		r := m.rootOf(int32(c))
		if most == FewestLinks && (m.rootOfPatch(members).device == noDevice || p.areBeside(&m.trees, members)) {
			continue
		}
		p.take(m, members, r)
	}
}

const (
	// FalseRegionsPerDay is how many regions per day chance may make, with one interval per minute and lone hot links
	// anywhere.
	FalseRegionsPerDay = .1
	intervalsPerDay    = 1440
	leastTree          = 4    // links of the smallest region: with a root and away from others
	FewestLinks        = 6    // links that count even beside other regions
	MostLeastLinks     = 8    // so that an incast of eight hosts counts on every fabric
	leastLoneShare     = 1e-5 // of links assumed hot alone if none is: its logarithm is needed
)

// leastLinks is the size from which a region counts. If a share p of N links is hot by chance, so are p*d of the d
// neighbours of a hot link: N*p*(p*d)^(k-1) chains of k links are expected.
func (m *Method) leastLinks() int {
	if m.minLinks > 0 {
		return m.minLinks
	}
	n := float64(len(m.node))
	p := max(leastLoneShare, float64(m.sinks.lone)/n)
	growth := p * m.branches
	if growth >= 1 {
		return MostLeastLinks
	}
	k := 1 + math.Log(FalseRegionsPerDay/(intervalsPerDay*n*p))/math.Log(growth)
	return max(leastTree, min(MostLeastLinks, int(math.Ceil(k))))
}
