package layers

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/median"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// leafLevels holds the stall levels of a leaf's links (up, down: to and from spines).
type leafLevels struct {
	device          index.Device
	up, down, hosts linkLevel
	low             float64    // level of the least stalled hosts, 0 unless nearly all stall
	sent, comes     float64    // levels of uplinks (or low, if these carry other traffic too) and of downlinks
	ports           int        // number of stalled ports to hosts
	port            float64    // highest stall of these
	portMiddle      float64    // median of these if three or more, or 0
	layers          [2]layerID // those it takes part in, or noLayer
}

// linkLevel is the level of a leaf's links of one kind.
type linkLevel struct {
	middle, spread float64
	stalled        float64 // median of the stalled ones if three or more, or 0
	few            float64 // median of the stalled ones, however few, or 0
	within         float64 // tolerance of the median
	part           float64 // share of links that are at least nearly stalled
	links          int     // with a non-zero reading
	measured       int     // with any reading
}

const (
	nearlyStalled = .8  // of the least stall of a stalled link
	MostWays      = .85 // share of the links of a kind that stall if traffic takes all of them; at least fewestOfWays
	FewestOfWays  = 3
	idlePart      = .3
	levelSpread   = .15 // of the median: spread up to which links stall alike
	// With fewer links the spread may be far more than it seems.
	fewestForSpread = 5
	// A median's tolerance: a share of it, levelErrors standard errors and levelPoints. The share is levelShare where
	// uplinks and downlinks stall alike: leaves then differ less.
	unlevelShare, levelShare, levelErrors, levelPoints = .09, .02, 2.2, .3
	// The same for the hosts that stall least: those within lowWidth and a point of nearly the least one, or all.
	lowShare, lowPoints = .06, .6
	lowWidth, allWidth  = 1.25, 1.35
	fewestLow           = 6
)

// isWide and isIdle report whether waiting traffic takes nearly all of the links, or hardly any.
func (l *linkLevel) isWide() bool { return l.links >= FewestOfWays && l.part >= MostWays }
func (l *linkLevel) isIdle() bool { return l.part < idlePart }

// isLevel reports whether the links stall at one level.
func (l *linkLevel) isLevel() bool {
	return l.isWide() && l.spread <= levelSpread*l.middle+lowPoints
}

// isEven reports whether a leaf's uplinks and downlinks stall alike.
func (x *leafLevels) isEven() bool {
	return x.up.isLevel() && x.down.isLevel() && math.Abs(x.up.middle-x.down.middle) <= sameLevel*x.up.middle
}

// lowWithin is the tolerance of the lowest level of hosts.
func (x *leafLevels) lowWithin() float64 { return lowShare*x.low + lowPoints }

// measureLeaves finds the levels of all leaves; of those that do not exchange, without their hosts.
func (y *Layers) measureLeaves() {
	w := y.waits
	y.leaves = y.leaves[:0]
	for d := range w.Level.Len() {
		if w.IsLeaf(d) {
			y.leaves = append(y.leaves, y.measureLeaf(d))
		}
	}
	usual := y.usualSpread()
	for k := range y.leaves {
		y.leaves[k].findLevels(usual)
	}
	slices.SortFunc(y.leaves, func(a, b leafLevels) int {
		return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(w.ByName[a.device], w.ByName[b.device]))
	})
}

// usualSpread is the median relative spread of links to or from spines, over leaves nearly all of whose links stall.
func (y *Layers) usualSpread() float64 {
	y.sample = y.sample[:0]
	for k := range y.leaves {
		for _, ways := range [2]*linkLevel{&y.leaves[k].up, &y.leaves[k].down} {
			if ways.isWide() {
				y.sample = append(y.sample, ways.spread/ways.middle)
			}
		}
	}
	if len(y.sample) == 0 {
		return 0
	}
	return median.Of(y.sample)
}

// measureLeaf measures the stall of a leaf's links.
func (y *Layers) measureLeaf(leaf index.Device) leafLevels {
	x := leafLevels{device: leaf, layers: [2]layerID{noLayer, noLayer}}
	x.up = y.measure(y.waits.Out.Of(leaf), backpressure.Upward)
	x.down = y.measure(y.waits.In.Of(leaf), backpressure.Downward)
	if x.up.isWide() && x.down.isWide() {
		y.measureHosts(&x)
	}
	return x
}

// measureRest finds the levels of the leaves that do not exchange, with their hosts, if they may take part in a layer.
func (y *Layers) measureRest() {
	usual := y.usualSpread()
	for k := range y.leaves {
		if x := &y.leaves[k]; x.up.isWide() != x.down.isWide() {
			y.measureHosts(x)
			x.findLevels(usual)
		}
	}
}

// measureHosts measures the stall of a leaf's links from and to hosts.
func (y *Layers) measureHosts(x *leafLevels) {
	x.hosts = y.measure(y.waits.In.Of(x.device), backpressure.FromHost)
	x.low = y.lowest(&x.hosts)
	ports := y.measure(y.waits.Out.Of(x.device), backpressure.ToHost)
	if first, _ := slices.BinarySearch(y.sample, y.hot); first < len(y.sample) {
		x.ports, x.port, x.portMiddle = ports.links-first, y.sample[ports.links-1], ports.stalled
	}
}

// findLevels finds the levels of a leaf and their tolerances; usual is the usual relative spread.
func (x *leafLevels) findLevels(usual float64) {
	x.up.spread, x.down.spread = x.up.spreadOver(usual), x.down.spreadOver(usual)
	x.up.within, x.down.within = x.up.off(unlevelShare), x.down.off(unlevelShare)
	x.sent, x.comes = x.up.middle, x.down.middle
	if x.isEven() {
		x.sent = (float64(x.up.links)*x.up.middle + float64(x.down.links)*x.down.middle) / float64(x.up.links+x.down.links)
		pool := linkLevel{middle: x.sent, spread: max(x.up.spread, x.down.spread), links: x.up.links + x.down.links}
		x.comes, x.up.within = x.sent, pool.off(levelShare)
		x.down.within = x.up.within
	}
	if x.up.isWide() && x.low > 0 && x.sent > x.low+x.up.within+x.lowWithin() &&
		(x.down.isIdle() || x.down.isWide() && math.Abs(x.low-x.down.middle) <= x.down.within+x.lowWithin()) {
		x.sent = x.low
	}
}

// spreadOver is the spread of links; of few it is no less than usual, relative to their median.
func (l *linkLevel) spreadOver(usual float64) float64 {
	if l.links < fewestForSpread {
		return max(l.spread, usual*l.middle)
	}
	return l.spread
}

// measure finds the level of the links of a kind; it leaves their readings in the sample, ascending.
// They need none if none is even nearly stalled, except links to or from spines that are too few to tell (isUnknown).
func (y *Layers) measure(links []index.Link, kind backpressure.LinkKind) (x linkLevel) {
	w, values, hot := y.waits, y.values, y.hot
	y.bits, y.sample = y.bits[:0], y.sample[:0]
	most := float32(0)
	for _, l := range links {
		if w.Kinds[l]&kind == 0 || values[l] == linkset.Missing {
			continue
		}
		if x.measured++; values[l] > 0 {
			y.bits = append(y.bits, math.Float32bits(values[l]))
			most = max(most, values[l])
		}
	}
	x.links = len(y.bits)
	isFew := kind&(backpressure.Upward|backpressure.Downward) != 0 && x.measured < backpressure.MinFeeders
	if x.links == 0 || !isFew && float64(most) < nearlyStalled*hot {
		return x
	}
	slices.Sort(y.bits) // ordered like the values, none of which is negative
	for _, v := range y.bits {
		y.sample = append(y.sample, float64(math.Float32frombits(v)))
	}
	x.middle = y.sample[x.links/2]
	first, _ := slices.BinarySearch(y.sample, nearlyStalled*hot)
	x.part = float64(x.links-first) / float64(max(x.links, x.measured-1)) // one zero may be wrong
	if hotter, _ := slices.BinarySearch(y.sample, hot); x.links > hotter {
		x.few = y.sample[(hotter+x.links)/2]
		if x.links-hotter >= backpressure.MinFeeders {
			x.stalled = x.few
		}
	}
	x.spread = median.DeviationOfSorted(y.sample)
	return x
}

// off is the tolerance of a median.
func (l *linkLevel) off(share float64) float64 {
	return share*l.middle + levelErrors*l.spread/math.Sqrt(float64(max(1, l.links))) + levelPoints
}

// lowest is the level of the hosts that stall least: those that send only into what all of them send into.
func (y *Layers) lowest(hosts *linkLevel) float64 {
	if hosts.links < fewestLow || hosts.part < MostWays {
		return 0
	}
	first, _ := slices.BinarySearch(y.sample, nearlyStalled*y.hot)
	all := y.sample[first:]
	least := all[max(1, len(all)/10)] // not a single outlier
	end, _ := slices.BinarySearch(all, lowWidth*least+1)
	if hosts.middle <= lowWidth*least+1 {
		end, _ = slices.BinarySearch(all, allWidth*hosts.middle+1)
	}
	return all[min(end, len(all))/2]
}
