package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// leafLevels is at which levels the links of a leaf stall.
type leafLevels struct {
	device          int32
	up, down, hosts linkLevel
	low             float64  // level of the hosts that stall least, 0 unless nearly all stall
	sent, comes     float64  // level of the ways up, or of what of it hosts that send nowhere else say, and of the ways down
	ports           int      // to hosts, that stall
	port            float64  // stall of the hottest of them
	portMiddle      float64  // of those that stall, three or more, or 0
	layers          [2]int32 // that it takes part in, or noLayer
}

// linkLevel is the level of links of one kind at a leaf.
type linkLevel struct {
	middle, spread float64
	stalled        float64 // the middle of those that stall, three or more, or 0
	few            float64 // the middle of those that stall, however few, or 0
	within         float64 // by how much the middle may be off
	part           float64 // of the links, that stall, or nearly
	links          int     // with a reading that is not zero
	measured       int     // with any
}

const (
	nearlyStalled = .8  // of the stall from which a link is stalled
	mostWays      = .85 // of the links of a kind, that stall where traffic takes all of them; so many or more
	fewestOfWays  = 3
	idlePart      = .3
	levelSpread   = .15 // of a middle, within which links stall alike
	// Of fewer ways the spread may be far more than it seems.
	fewestForSpread = 5
	// A middle may be off by a share of it, so many standard errors and so many points. Leaves of an exchange differ less where
	// what comes stalls as what is sent.
	unlevelShare, levelShare, levelErrors, levelPoints = .09, .02, 2.2, .3
	// The same of the hosts that stall least; they are those within a share and a point of the least but one or two, or all.
	lowShare, lowPoints = .06, .6
	lowWidth, allWidth  = 1.25, 1.35
	fewestLow           = 6
)

// isWide and isIdle report whether traffic that waits takes mostly all links, or hardly any.
func (l *linkLevel) isWide() bool { return l.links >= fewestOfWays && l.part >= mostWays }
func (l *linkLevel) isIdle() bool { return l.part < idlePart }

// isLevel reports whether links are one level.
func (l *linkLevel) isLevel() bool {
	return l.isWide() && l.spread <= levelSpread*l.middle+lowPoints
}

// isEven reports whether what a leaf sends stalls as what comes to it does.
func (x *leafLevels) isEven() bool {
	return x.up.isLevel() && x.down.isLevel() && math.Abs(x.up.middle-x.down.middle) <= sameLevel*x.up.middle
}

// lowWithin is by how much the lowest level of hosts may be off.
func (x *leafLevels) lowWithin() float64 { return lowShare*x.low + lowPoints }

// measureLeaves finds the levels of all leaves.
func (y *layers) measureLeaves(w *waits, values []float32, hot float64) {
	y.leaves = y.leaves[:0]
	for d := range int32(len(w.level)) {
		if w.isLeaf(d) {
			y.leaves = append(y.leaves, y.measureLeaf(w, values, d, hot))
		}
	}
	usual := y.usualSpread()
	for k := range y.leaves {
		y.leaves[k].findLevels(usual)
	}
	slices.SortFunc(y.leaves, func(a, b leafLevels) int {
		return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(w.byName[a.device], w.byName[b.device]))
	})
}

// usualSpread is by what part of their level the ways of a leaf differ, in the middle of the leaves of which mostly all ways stall.
func (y *layers) usualSpread() float64 {
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
	return medianOf(y.sample)
}

// measureLeaf finds what the links of a leaf stall.
func (y *layers) measureLeaf(w *waits, values []float32, leaf int32, hot float64) leafLevels {
	x := leafLevels{device: leaf, layers: [2]int32{noLayer, noLayer}}
	in, out := w.in.of(leaf), w.out.of(leaf)
	x.up = y.measure(w, values, out, hot, upward)
	x.down = y.measure(w, values, in, hot, downward)
	x.hosts = y.measure(w, values, in, hot, fromHost)
	x.low = y.lowest(&x.hosts, hot)
	ports := y.measure(w, values, out, hot, toHost)
	if first, _ := slices.BinarySearch(y.sample, hot); first < ports.links {
		x.ports, x.port, x.portMiddle = ports.links-first, y.sample[ports.links-1], ports.stalled
	}
	return x
}

// findLevels finds the levels of a leaf, and by how much they may be off, where ways usually differ by a part of their middle.
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

// spreadOver is by how much links differ: of few no less than they usually do, as a part of their middle.
func (l *linkLevel) spreadOver(usual float64) float64 {
	if l.links < fewestForSpread {
		return max(l.spread, usual*l.middle)
	}
	return l.spread
}

// measure finds the level of those links that are of a kind; their readings stay in the sample, ascending.
func (y *layers) measure(w *waits, values []float32, links []int32, hot float64, kind linkKind) (x linkLevel) {
	y.bits, y.sample = y.bits[:0], y.sample[:0]
	for _, l := range links {
		if w.kinds[l]&kind == 0 || values[l] == linkset.Missing {
			continue
		}
		if x.measured++; values[l] > 0 {
			y.bits = append(y.bits, math.Float32bits(values[l]))
		}
	}
	x.links = len(y.bits)
	if x.links == 0 {
		return x
	}
	slices.Sort(y.bits) // ordered like the values, as none is negative
	for _, v := range y.bits {
		y.sample = append(y.sample, float64(math.Float32frombits(v)))
	}
	x.middle = y.sample[x.links/2]
	first, _ := slices.BinarySearch(y.sample, nearlyStalled*hot)
	x.part = float64(x.links-first) / float64(max(x.links, x.measured-1)) // one zero may be wrong
	if hotter, _ := slices.BinarySearch(y.sample, hot); x.links > hotter {
		x.few = y.sample[(hotter+x.links)/2]
		if x.links-hotter >= minFeeders {
			x.stalled = x.few
		}
	}
	x.spread = deviationOfSorted(y.sample)
	return x
}

// off is by how much a middle may be off.
func (l *linkLevel) off(share float64) float64 {
	return share*l.middle + levelErrors*l.spread/math.Sqrt(float64(max(1, l.links))) + levelPoints
}

// lowest is the level of the hosts that stall least: those that send into nothing but what all of them do.
func (y *layers) lowest(hosts *linkLevel, hot float64) float64 {
	if hosts.links < fewestLow || hosts.part < mostWays {
		return 0
	}
	first, _ := slices.BinarySearch(y.sample, nearlyStalled*hot)
	all := y.sample[first:]
	least := all[max(1, len(all)/10)] // not a single one
	end, _ := slices.BinarySearch(all, lowWidth*least+1)
	if hosts.middle <= lowWidth*least+1 {
		end, _ = slices.BinarySearch(all, allWidth*hosts.middle+1)
	}
	return all[min(end, len(all))/2]
}
