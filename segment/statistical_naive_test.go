package segment

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// naiveStatistical is the statistical method from its documentation, with the
// same constants and roundings and nothing else in common: what is asked for is
// counted again each time, from maps and sorted slices.
type naiveStatistical struct {
	cfg      Config
	switches [][]int       // by link: those at its ends, the first once if they are one
	linksAt  map[int][]int // by switch, ascending
}

func newNaiveStatistical(g *topology.Graph, cfg Config) *naiveStatistical {
	n := &naiveStatistical{cfg: cfg, linksAt: map[int][]int{}}
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

// regions is what Step finds in a series.
func (n *naiveStatistical) regions(series *schema.Series) [][]schema.LinkID {
	values := make([]float32, len(series.Values))
	for l := range values {
		values[l] = missing
		if percent, ok := reading(series, schema.LinkID(l)); ok {
			values[l] = float32(percent)
		}
	}
	v := &naiveView{naiveStatistical: n, values: values}
	if !v.measureNoise() || !v.findHot() {
		return nil
	}
	v.fitSlope()
	v.findLevels()
	var out [][]schema.LinkID
	for _, links := range v.explain(v.split(v.mergeAll())) {
		sum := 0.
		for _, l := range links {
			sum += float64(values[l])
		}
		if len(links) >= n.cfg.MinLinks && sum/float64(len(links)) >= n.cfg.MinMeanPercent {
			out = append(out, links)
		}
	}
	return out
}

// naiveView is what the method makes of one series.
type naiveView struct {
	*naiveStatistical
	values []float32

	base, slope, median, cut, calmMean float64
	warm, strong                       float32

	hot        []int         // links of the hot part, ascending
	place      map[int]int   // by switch
	hotAt      map[int][]int // by place: links of the hot part
	calmAt     map[int]int   // by place: other measured links
	raw, level map[int]int   // by link, in levelUnit
	touches    map[int][]naiveTouch
	background naivePiece
}

// naiveTouch is a neighbour of a link, or all its calm ones as calmLinks.
type naiveTouch struct {
	link   int
	length int // in borderUnit
}

const calmLinks = -1 // stands before every link

func (v *naiveView) measured(links []int) []float32 {
	var out []float32
	for _, l := range links {
		if v.values[l] != missing {
			out = append(out, v.values[l])
		}
	}
	slices.Sort(out)
	return out
}

// measureNoise is noise.measure and noise.threshold. It says whether anything was
// measured.
func (v *naiveView) measureNoise() bool {
	var bins []int
	for _, x := range v.values {
		if x != missing {
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
		v.base = min(v.base, v.spread())
	}
	v.base = max(minBase, v.base)

	v.cut = hotShare * v.cfg.MinMeanPercent
	if v.median < v.cut {
		v.cut = max(v.cut, v.median+hotSigmas*v.base)
		v.warm, v.strong = float32(v.median+hotSigmas*v.base), float32(v.median+strongSigmas*v.base)
	}
	count := map[int]int{}
	for _, b := range bins {
		if b < int(v.cut*binsPerPoint) {
			count[b]++
		}
	}
	sum, calm := 0., 0
	for _, b := range slices.Sorted(maps.Keys(count)) {
		sum += float64(count[b]) * (float64(b) + .5) / binsPerPoint
		calm += count[b]
	}
	v.calmMean = sum / float64(max(1, calm))
	return true
}

// spread is the median over the switches, as the middle of one of 32 bins per
// power of 2.
func (v *naiveView) spread() float64 {
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
	bin := math.Float32bits(all[len(all)/2]) >> spreadBits
	return float64(math.Float32frombits(bin<<spreadBits + 1<<(spreadBits-1)))
}

// naiveDeviation is that of the sorted values of a switch of so many links.
func naiveDeviation(x []float32, links int) (sigma float64, ok bool) {
	n := len(x)
	if n < 2 || links >= manyLinks && n < manyLinks {
		return 0, false
	}
	rank := n // of the larger of the two order statistics, of which x are a sample
	if n >= 4 {
		rank, x = n-1, x[1:n-1]
	}
	p := (float64(rank) - .375) / (float64(n) + .25)
	perSpread := 1 / (2 * math.Sqrt2 * math.Erfinv(2*p-1))
	if links < manyLinks {
		return float64(x[len(x)-1]-x[0]) * perSpread, true
	}
	var gaps []float32
	for i := range x[1:] {
		gaps = append(gaps, x[i+1]-x[i])
	}
	slices.Sort(gaps)
	left := 1 - (1.6+3.7/float64(n))/math.Sqrt(float64(n))
	inner := x[len(x)-1] - x[0] - gaps[len(gaps)-1] - gaps[len(gaps)-2]
	return float64(max(0, inner)) * perSpread / left, true
}

// findHot is hotPart.find.
func (v *naiveView) findHot() bool {
	isWarm := func(s int) bool {
		sum, links := 0, v.measured(v.linksAt[s])
		for _, x := range links {
			sum += int(min(x, v.strong) * binsPerPoint)
		}
		return sum >= int(v.warm*binsPerPoint)*len(links)
	}
	isHot := func(l int) bool {
		return v.values[l] >= float32(v.cut) &&
			(v.cfg.MinLinks <= 1 || v.values[l] >= v.strong || slices.ContainsFunc(v.switches[l], isWarm))
	}
	heat, isMissing := map[int]int{}, map[int]int{}
	var gaps []int
	for l, ends := range v.switches {
		for _, s := range ends {
			if isHot(l) {
				heat[s]++
			} else if v.values[l] == missing {
				isMissing[s]++
			}
		}
		if v.values[l] == missing && len(ends) == 2 {
			gaps = append(gaps, l)
		}
	}
	v.bridge(gaps)
	mostlyHot := func(s int) bool {
		return heat[s] >= leastHeat && 2*heat[s] > len(v.linksAt[s])-isMissing[s]
	}
	hotAt := map[int]int{}
	for l := range v.values {
		if isHot(l) {
			for _, p := range v.placesOf(l) {
				hotAt[p]++
			}
		}
	}
	v.hotAt, v.calmAt = map[int][]int{}, map[int]int{}
	for l, ends := range v.switches {
		if v.values[l] == missing {
			continue
		}
		places := v.placesOf(l)
		alone := !slices.ContainsFunc(places, func(p int) bool { return hotAt[p] > 1 })
		filled := !isHot(l) && len(ends) > 0 && !slices.ContainsFunc(ends, func(s int) bool { return !mostlyHot(s) })
		if isHot(l) && (v.cfg.MinLinks <= 1 || !alone) || filled {
			v.hot = append(v.hot, l)
			for _, p := range places {
				v.hotAt[p] = append(v.hotAt[p], l)
			}
		} else {
			for _, p := range places {
				v.calmAt[p]++
			}
		}
	}
	return len(v.hot) > 0
}

// bridge finds the places: switches, and sets of them that few enough missing
// links join.
func (v *naiveView) bridge(gaps []int) {
	root := map[int]int{}
	for s := range v.linksAt {
		root[s] = s
	}
	var pairs [][2]int
	for _, l := range gaps {
		pairs = append(pairs, [2]int{v.switches[l][0], v.switches[l][1]})
	}
	naiveUnite(root, pairs)
	joined := map[int]int{}
	for _, l := range gaps {
		joined[root[v.switches[l][0]]]++
	}
	v.place = map[int]int{}
	for s, r := range root {
		v.place[s] = s
		if joined[r] <= maxBridges {
			v.place[s] = r
		}
	}
}

// naiveUnite gives both of each pair, and what they are already one with, the
// least of their names.
func naiveUnite(name map[int]int, pairs [][2]int) {
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

func (v *naiveView) placesOf(l int) []int {
	var out []int
	for _, s := range v.switches[l] {
		if !slices.Contains(out, v.place[s]) {
			out = append(out, v.place[s])
		}
	}
	return out
}

func (v *naiveView) fitSlope() {
	perPoint := 1 / (2 * math.Erfinv(slopeQuantile))
	bin := func(slope float64) int { return int(min(slopeBins-1, max(0, slope*binsPerSlope))) }
	slopes := slices.Repeat([]int{bin(slopePrior * v.base)}, slopePairs)
	for _, links := range v.hotAt {
		hot := slices.DeleteFunc(v.measured(links), func(x float32) bool { return float64(x) < v.cut })
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

func (v *naiveView) levelOf(percent float64) int {
	level := percent / v.base
	if v.slope*100 >= 1e-3*v.base {
		level = math.Log1p(v.slope/v.base*percent) / v.slope
	}
	return int(level/levelUnit + .5)
}

func (v *naiveView) stallOf(level float64) float64 {
	if v.slope*100 >= 1e-3*v.base {
		return math.Expm1(level*v.slope) * v.base / v.slope
	}
	return level * v.base
}

// findLevels lists what touches each link of the hot part, and moves its level to
// hardly beyond theirs.
func (v *naiveView) findLevels() {
	v.raw, v.level, v.touches = map[int]int{}, map[int]int{}, map[int][]naiveTouch{}
	for _, l := range v.hot {
		v.raw[l] = v.levelOf(float64(v.values[l]))
	}
	v.raw[calmLinks] = v.levelOf(v.calmMean)
	const endless = math.MaxInt32 // links of the background: its level stands
	v.background = naivePiece{name: calmLinks, size: endless, sum: endless * v.raw[calmLinks]}
	for _, l := range v.hot {
		calm := 0
		for _, p := range v.placesOf(l) {
			around := len(v.hotAt[p]) - 1 + v.calmAt[p]
			share := int(max(1, borderUnits/borderUnit/float64(max(1, around))+.5))
			for _, k := range v.hotAt[p] {
				if at := slices.IndexFunc(v.touches[l], func(t naiveTouch) bool { return t.link == k }); at >= 0 {
					v.touches[l][at].length += share
				} else if k != l {
					v.touches[l] = append(v.touches[l], naiveTouch{k, share})
				}
			}
			calm += share * v.calmAt[p]
		}
		if calm > 0 {
			v.touches[l] = append(v.touches[l], naiveTouch{calmLinks, calm})
		}
		within := v.raw[l]
		if len(v.touches[l]) > 0 {
			byLevel := func(a, b naiveTouch) int { return cmp.Compare(v.raw[a.link], v.raw[b.link]) }
			low, high := slices.MinFunc(v.touches[l], byLevel), slices.MaxFunc(v.touches[l], byLevel)
			within = max(v.raw[low.link], min(v.raw[high.link], within))
		}
		v.level[l] = within + (v.raw[l]-within)/beyond
	}
}
