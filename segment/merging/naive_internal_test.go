package merging

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
)

// naive implements the statistical method from its documentation, with the same
// constants and rounding but otherwise independently: everything is recomputed each
// time, from maps and sorted slices.
type naive struct {
	cfg      Config
	switches [][]int       // by link: at its ends, the first one once if both are the same
	linksAt  map[int][]int // by switch, ascending
	least    int           // Method.Least of the last snapshot with candidates
}

func newNaive(g *topology.Graph, cfg Config) *naive {
	n := &naive{cfg: cfg, least: cfg.MinLinks, linksAt: map[int][]int{}}
	for l := range g.NumLinks() {
		from, to := g.Ends(schema.LinkID(l))
		var ends []int
		for _, d := range []topology.DeviceID{from, to} {
			if g.IsSwitch(d) && !slices.Contains(ends, int(d)) {
				ends = append(ends, int(d))
				n.linksAt[int(d)] = append(n.linksAt[int(d)], l)
			}
		}
		n.switches = append(n.switches, ends)
	}
	return n
}

// regions returns the regions that the method finds in percentages and that count.
func (n *naive) regions(values []float32) [][]schema.LinkID {
	v := &naiveView{naive: n, values: values}
	if !v.measureNoise() || !v.findCandidates() {
		return nil
	}
	v.fitSlope()
	v.findLevels()
	label := v.joinTreePieces(v.splitByInterior(v.mergeAll()))
	n.least = n.cfg.MinLinks
	if n.cfg.FalseRegionsPerDay > 0 {
		n.least = v.leastLinks(label)
	}
	var out [][]schema.LinkID
	for _, links := range v.resolveOverlaps(label) {
		if n.counts(values, links) {
			out = append(out, links)
		}
	}
	return out
}

// counts reports whether links are enough, and stall enough, for a region.
func (n *naive) counts(values []float32, links []schema.LinkID) bool {
	sum := 0.
	for _, l := range links {
		sum += float64(values[l])
	}
	return len(links) >= n.least && sum/float64(len(links)) >= n.cfg.MinMeanPercent
}

// naiveView is the state of the method for one series.
type naiveView struct {
	*naive
	values []float32

	base, slope, median, backgroundMean              float64
	hotThreshold, contextThreshold, certainThreshold float32

	hotLinks     int           // not counting those that are barely hot in a calm context
	candidates   []int         // ascending
	mergedInto   map[int]int   // by switch: the lowest of those merged with it
	candidatesAt map[int][]int // by merged switch
	backgroundAt map[int]int   // by merged switch: other measured links
	raw, level   map[int]int   // by link, in levelUnit
	edges        map[int][]naiveEdge
	background   naiveNode
}

// naiveEdge leads to a neighbour of a link, or to the background.
type naiveEdge struct {
	link   int
	length int // in edgeUnit
}

const backgroundLink = -1 // sorts before every link

func (v *naiveView) measured(links []int) []float32 {
	var out []float32
	for _, l := range links {
		if v.values[l] != linkset.Missing {
			out = append(out, v.values[l])
		}
	}
	slices.Sort(out)
	return out
}

// measureNoise is noiseEstimator.background. It reports whether anything was measured.
func (v *naiveView) measureNoise() bool {
	var bins []int
	for _, x := range v.values {
		if x != linkset.Missing {
			bins = append(bins, min(valueBins-1, int(x*binsPerPoint)))
		}
	}
	if len(bins) == 0 {
		return false
	}
	slices.Sort(bins)
	v.median = float64(bins[len(bins)/2]) / binsPerPoint
	low, high := bins[len(bins)/4], bins[len(bins)/4*3]
	v.base = float64(max(1, high-low)) / binsPerPoint / 1.349
	if float64(high)/binsPerPoint >= hotShare*v.cfg.MinMeanPercent {
		v.base = min(v.base, v.medianSwitchSigma())
	}
	v.base = max(minBase, v.base)

	hot := hotShare * v.cfg.MinMeanPercent
	v.hotThreshold = float32(hot)
	if v.median < hot {
		v.hotThreshold = float32(max(hot, v.median+hotSigmas*v.base))
		v.contextThreshold, v.certainThreshold = float32(v.median+hotSigmas*v.base), float32(v.median+certainSigmas*v.base)
	}
	count := map[int]int{}
	for _, b := range bins {
		if b < int(float64(v.hotThreshold)*binsPerPoint) {
			count[b]++
		}
	}
	sum, calm := 0., 0
	for _, b := range slices.Sorted(maps.Keys(count)) {
		sum += float64(count[b]) * (float64(b) + .5) / binsPerPoint
		calm += count[b]
	}
	v.backgroundMean = sum / float64(max(1, calm))
	return true
}

// medianSwitchSigma is the median over the switches, as the middle of one of 32 bins
// per power of 2.
func (v *naiveView) medianSwitchSigma() float64 {
	var all []float32
	for _, links := range v.linksAt {
		if sigma, ok := naiveDeviation(v.measured(links), len(links)); ok {
			all = append(all, float32(sigma))
		}
	}
	if len(all) == 0 {
		return math.Inf(1)
	}
	slices.Sort(all)
	bin := math.Float32bits(all[len(all)/2]) >> sigmaBits
	return float64(math.Float32frombits(bin<<sigmaBits + 1<<(sigmaBits-1)))
}

// naiveDeviation is the deviation of the sorted values of a switch with so many links.
func naiveDeviation(x []float32, links int) (sigma float64, ok bool) {
	n := len(x)
	if n < 2 || links >= largeSwitch && n < largeSwitch {
		return 0, false
	}
	rank := n // of the larger of the two order statistics, of which x is a sample
	if n >= 4 {
		rank, x = n-1, x[1:n-1]
	}
	p := (float64(rank) - .375) / (float64(n) + .25)
	sigmaPerRange := 1 / (2 * math.Sqrt2 * math.Erfinv(2*p-1))
	if links < largeSwitch {
		return float64(x[len(x)-1]-x[0]) * sigmaPerRange, true
	}
	var gaps []float32
	for i := range x[1:] {
		gaps = append(gaps, x[i+1]-x[i])
	}
	slices.Sort(gaps)
	inner := x[len(x)-1] - x[0] - gaps[len(gaps)-1] - gaps[len(gaps)-2]
	return float64(max(0, inner)) * sigmaPerRange / rangeWithoutGaps(n), true
}

// findCandidates is candidates.find.
func (v *naiveView) findCandidates() bool {
	hasHotContext := func(s int) bool {
		sum, links := 0, v.measured(v.linksAt[s])
		for _, x := range links {
			sum += int(min(x, v.certainThreshold) * binsPerPoint)
		}
		return sum >= int(v.contextThreshold*binsPerPoint)*len(links)
	}
	isHot := func(l int) bool {
		return v.values[l] >= v.hotThreshold &&
			(v.cfg.MinLinks <= 1 || v.values[l] >= v.certainThreshold || slices.ContainsFunc(v.switches[l], hasHotContext))
	}
	hotAt, isMissing := map[int]int{}, map[int]int{}
	var gaps []int
	for l, ends := range v.switches {
		if isHot(l) {
			v.hotLinks++
		}
		for _, s := range ends {
			if isHot(l) {
				hotAt[s]++
			} else if v.values[l] == linkset.Missing {
				isMissing[s]++
			}
		}
		if v.values[l] == linkset.Missing && len(ends) == 2 {
			gaps = append(gaps, l)
		}
	}
	v.mergeSwitches(gaps)
	mostlyHot := func(s int) bool {
		return hotAt[s] >= minHotLinks && 2*hotAt[s] > len(v.linksAt[s])-isMissing[s]
	}
	hotAtMerged := map[int]int{}
	for l := range v.values {
		if isHot(l) {
			for _, p := range v.mergedSwitchesOf(l) {
				hotAtMerged[p]++
			}
		}
	}
	v.candidatesAt, v.backgroundAt = map[int][]int{}, map[int]int{}
	for l, ends := range v.switches {
		if v.values[l] == linkset.Missing {
			continue
		}
		switches := v.mergedSwitchesOf(l)
		alone := !slices.ContainsFunc(switches, func(p int) bool { return hotAtMerged[p] > 1 })
		filled := !isHot(l) && len(ends) > 0 && !slices.ContainsFunc(ends, func(s int) bool { return !mostlyHot(s) })
		if isHot(l) && (v.cfg.MinLinks <= 1 || !alone) || filled {
			v.candidates = append(v.candidates, l)
			for _, p := range switches {
				v.candidatesAt[p] = append(v.candidatesAt[p], l)
			}
		} else {
			for _, p := range switches {
				v.backgroundAt[p]++
			}
		}
	}
	return len(v.candidates) > 0
}

// mergeSwitches merges switches joined by few enough missing links.
func (v *naiveView) mergeSwitches(gaps []int) {
	root := map[int]int{}
	for s := range v.linksAt {
		root[s] = s
	}
	var pairs [][2]int
	for _, l := range gaps {
		pairs = append(pairs, [2]int{v.switches[l][0], v.switches[l][1]})
	}
	naiveUnion(root, pairs)
	joined := map[int]int{}
	for _, l := range gaps {
		joined[root[v.switches[l][0]]]++
	}
	v.mergedInto = map[int]int{}
	for s, r := range root {
		v.mergedInto[s] = s
		if joined[r] <= maxMergingLinks {
			v.mergedInto[s] = r
		}
	}
}

// naiveUnion gives both of each pair, and everything united with them, their lowest
// name.
func naiveUnion(name map[int]int, pairs [][2]int) {
	for changed := true; changed; {
		changed = false
		for _, p := range pairs {
			a, b := name[p[0]], name[p[1]]
			if a == b {
				continue
			}
			for x, of := range name {
				if of == max(a, b) {
					name[x] = min(a, b)
				}
			}
			changed = true
		}
	}
}

func (v *naiveView) mergedSwitchesOf(l int) []int {
	var out []int
	for _, s := range v.switches[l] {
		if !slices.Contains(out, v.mergedInto[s]) {
			out = append(out, v.mergedInto[s])
		}
	}
	return out
}

func (v *naiveView) fitSlope() {
	perPoint := 1 / (2 * math.Erfinv(slopeQuantile))
	bin := func(slope float64) int { return int(min(slopeBins-1, max(0, slope*binsPerSlope))) }
	slopes := slices.Repeat([]int{bin(slopePrior * v.base)}, slopePairs)
	for _, links := range v.candidatesAt {
		hot := slices.DeleteFunc(v.measured(links), func(x float32) bool { return x < v.hotThreshold })
		if n := len(hot); n > maxSlopeSample {
			var some []float32
			for i := range maxSlopeSample {
				some = append(some, hot[i*n/maxSlopeSample])
			}
			hot = some
		}
		for i, x := range hot {
			for _, y := range hot[:i] {
				slopes = append(slopes, bin((math.Abs(float64(x-y))*perPoint-v.base)/(float64(x+y)/2)))
			}
		}
	}
	slices.Sort(slopes)
	v.slope = float64(slopes[int(slopeQuantile*float64(len(slopes)))]) / binsPerSlope
}

func (v *naiveView) stabilise(percent float64) int {
	level := percent / v.base
	if v.slope*100 >= 1e-3*v.base {
		level = math.Log1p(v.slope/v.base*percent) / v.slope
	}
	return int(level/levelUnit + .5)
}

func (v *naiveView) unstabilise(level float64) float64 {
	if v.slope*100 >= 1e-3*v.base {
		return math.Expm1(level*v.slope) * v.base / v.slope
	}
	return level * v.base
}

// findLevels lists the edges of each candidate and winsorises its level to its
// neighbours'.
func (v *naiveView) findLevels() {
	v.raw, v.level, v.edges = map[int]int{}, map[int]int{}, map[int][]naiveEdge{}
	for _, l := range v.candidates {
		v.raw[l] = v.stabilise(float64(v.values[l]))
	}
	v.raw[backgroundLink] = v.stabilise(v.backgroundMean)
	v.background = naiveNode{name: backgroundLink, size: backgroundSize, sum: backgroundSize * v.raw[backgroundLink]}
	for _, l := range v.candidates {
		calm := 0
		for _, p := range v.mergedSwitchesOf(l) {
			around := len(v.candidatesAt[p]) - 1 + v.backgroundAt[p]
			share := int(max(1, boundaryPerSwitch/edgeUnit/float64(max(1, around))+.5))
			for _, k := range v.candidatesAt[p] {
				if at := slices.IndexFunc(v.edges[l], func(t naiveEdge) bool { return t.link == k }); at >= 0 {
					v.edges[l][at].length += share
				} else if k != l {
					v.edges[l] = append(v.edges[l], naiveEdge{k, share})
				}
			}
			calm += share * v.backgroundAt[p]
		}
		if calm > 0 {
			v.edges[l] = append(v.edges[l], naiveEdge{backgroundLink, calm})
		}
		within := v.raw[l]
		if len(v.edges[l]) > 0 {
			byLevel := func(a, b naiveEdge) int { return cmp.Compare(v.raw[a.link], v.raw[b.link]) }
			low, high := slices.MinFunc(v.edges[l], byLevel), slices.MaxFunc(v.edges[l], byLevel)
			within = max(v.raw[low.link], min(v.raw[high.link], within))
		}
		v.level[l] = within + (v.raw[l]-within)/outlierDamping
	}
}
