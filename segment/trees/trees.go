// Package trees finds regions where links have one direction: congestion trees along back pressure, exchanges of all with
// all, and what of stalled links is left. Percentages by link go in, groups of links come out, which may overlap, and where
// the back pressure of each begins.
package trees

import (
	"cmp"
	"math"

	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
)

// Method finds congestion trees on a graph of directed links, where back pressure is the relation: u->v
// waits because of v->w. It is a watershed on the downstream graph. Its constants stand beside each step and
// are the same for every directed fabric; they were chosen on drawn congestion (package bench).
//
//  1. Stalled links, the noise around them, and which of them wait for which (connect.go). A link that is not
//     measured is looked through.
//  2. Sinks (origins.go, ranks.go, sinks.go): where back pressure begins, a switch or one port each. Every stalled
//     link leads to one or more.
//  3. Causes (causes.go, exchanges.go, joins.go): sinks that are one cause are joined, by the evidence of
//     level, of shared sources and of hosts that both send and wait. Level sinks that share their sources and
//     send as they receive are an exchange of all with all; else two are two trees.
//  4. Shares (shares.go, choice.go, attenuation.go): upstream, hop by hop, a link belongs to the cause, or those that add up,
//     which predict its stall best.
//  5. Roots (roots.go): the port that a cause begins at.
//  6. What is left (patches.go): what belongs to no cause that is large enough.
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
	minLinks int // 0: by chance
	overlap  bool
	layered  bool // see layers
	branches float64
	hot      float64 // stall from which a link is stalled
}

// trees are the stalled links of a snapshot, as nodes, and what each waits for.
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
	list    []int32   // by node: its list in next, which others at the same leaf may share
	next    linkLists // by list: nodes that may be waited for
	peak    []int32   // by list: the most stalled of it, or -1
	sink    []int32   // by node: the switch that it waits at, or its own place if it is odd (placeOf), or -1
	port    []bool    // by node: back pressure begins at the switch that it leaves
	order   []int32   // nodes, those that wait at sinks first
	odd     []bool    // by node: a root beside whatever else begins at its switch, a port to a host or a slow link
	isPeak  []bool    // by node: a port that is odd beside an exchange's, see findPeaks
	idle    float32   // stall up to which a link waits for nothing
	rank    []int32
	was     []int32             // rank, before a round
	first   [lastRank + 2]int32 // by rank, for order
	seen    []bool              // by device
	feeders []int32             // by device: stalled links from switches into it
	isMet   []bool              // by device: see hangsTogether
	met     []int32             // devices of those
	values  []float32
	trusted []float32 // values, where some are not trusted
	sample  []float64
}

const (
	// A link is stalled from the least mean that counts, over what all links wait for anyway, or from so many deviations, if
	// that is more.
	HotSigmas  = 4
	idleShare  = .5 // of that, over what all links wait for anyway, up to which a link is idle
	maxRank    = 8  // hops that traffic takes; more are a cycle
	lastRank   = 3 * maxRank
	minFeeders = 3 // stalled links into a switch that make a port of it a root, not a lone hot link
)

// Config says which congestion trees are regions.
type Config struct {
	MinLinks       int // 0: as many as chance does not make
	MinMeanPercent float64
	Overlap        bool // links may be in several
}

// New makes the method for one version of a fabric, whose links have directions.
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

// Segment appends the regions of one series: percent by link in [0, 100], or linkset.Missing. They count.
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

// measure finds the noise of readings, and from which stall on a link is stalled and up to which it waits for nothing.
func (m *Method) measure(values []float32) {
	m.noise = m.noiseOf.Calm(values, m.minMean)
	m.hot = m.noise.Mean + max(m.minMean, HotSigmas*m.noise.Base)
	m.idle = float32(m.noise.Mean + idleShare*(m.hot-m.noise.Mean))
}

// findTrees finds regions by trees.
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

// findLinks finds the stalled links of readings that are measured, and what they wait for; it reports whether there are any.
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

// find makes nodes of the stalled links, and lists them by the devices at their ends.
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

// fromHost and toHost say at which end of a node's link a host is.
func (t *trees) fromHost(i int32) bool { return !t.waits.isSwitch[t.from[i]] }
func (t *trees) toHost(i int32) bool   { return !t.waits.isSwitch[t.to[i]] }

// leafOf is the leaf that a node's link leaves for a switch, or enters from a host, or -1.
func (t *trees) leafOf(i int32) int32 {
	switch {
	case t.fromHost(i):
		return t.to[i]
	case t.waits.isLeaf(t.from[i]) && !t.toHost(i):
		return t.from[i]
	}
	return -1
}

// waitsToSend reports whether a host waits to send: a link that leaves it stalls.
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

// besetShare of a switch's links from switches is mostly all of them: those that do not stall report zeros that
// are none.
const besetShare = .7

func (t *trees) isBesetBySwitches(d int32) bool {
	stalled, measured := 0, 0
	for _, l := range t.waits.in.of(d) {
		if t.waits.fromHost(l) || t.values[l] == linkset.Missing {
			continue
		}
		measured++
		if t.node[l] >= 0 {
			stalled++
		}
	}
	return stalled >= minFeeders && float64(stalled) >= besetShare*float64(measured)
}

// hottestAfter is the most stalled node that one may wait for, or -1.
func (t *trees) hottestAfter(i int32) int32 { return t.peak[t.list[i]] }

// hottest is the most stall of those that a node may wait for, 0 if there are none.
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

// placeOf is the sink that an odd link is: behind the devices, by link.
func (t *trees) placeOf(link int32) int32 { return int32(len(t.seen)) + link }

// compareEnds orders odd links of one switch, -1 for none, by the names of the devices that they lead to.
func (t *trees) compareEnds(a, b int32) int {
	if a < 0 || b < 0 {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(t.waits.byName[t.waits.to[a]], t.waits.byName[t.waits.to[b]]), cmp.Compare(a, b))
}

// emit makes a group of each cause that is large enough, and finds its root; then of what is left. Few links
// count if they have a root and are not beside a region: else they are a part of it, or of what is left.
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

// takeCauses takes the causes of so many links, but fewer than most, for regions.
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
	// FalseRegionsPerDay is how many regions a day chance may make, if an interval lasts a minute and lone
	// hot links lie anywhere.
	FalseRegionsPerDay = .1
	intervalsPerDay    = 1440
	leastTree          = 4    // links of the smallest region, with a root and away from others
	FewestLinks        = 6    // that count beside other regions, too
	MostLeastLinks     = 8    // an incast of eight hosts counts on every fabric
	leastLoneShare     = 1e-5 // of the links is taken to be hot alone where none is: its logarithm is needed
)

// leastLinks is the size from which a region counts. Of N links of which a share p is hot alone, p*d of the d
// neighbours of a hot link are hot by chance, so that N*p*(p*d)^(k-1) chains of k links are expected.
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
