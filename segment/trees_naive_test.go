package segment

import (
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// naiveTrees says where each stalled link's wait begins, by walking every way that traffic may take: what the
// first two steps of the tree method find by ranks and masks. It knows snapshots without gaps and fabrics whose
// devices have levels.
type naiveTrees struct {
	g      *topology.Graph
	values []float32
	hot    float32
	noise  treeNoise
}

func (n *naiveTrees) isStalled(l schema.LinkID) bool { return n.values[l] >= n.hot }

func (n *naiveTrees) next(l schema.LinkID) (next []schema.LinkID) {
	from, via := n.g.Ends(l)
	for s := range schema.LinkID(n.g.NumLinks()) {
		begin, to := n.g.Ends(s)
		valley := n.g.Device(from).Level > n.g.Device(via).Level && n.g.Device(to).Level > n.g.Device(via).Level
		if begin == via && to != from && !valley && n.isStalled(s) && n.g.IsSwitch(via) {
			next = append(next, s)
		}
	}
	return next
}

// isUnexplained reports whether a link is far hotter than all that it may wait for.
func (n *naiveTrees) isUnexplained(l schema.LinkID) bool {
	if !n.isStalled(l) || len(n.next(l)) == 0 {
		return false
	}
	stall, hottest := float64(n.values[l]), n.hottestAfter(l)
	return stall > unexplainedFactor*hottest && stall-hottest > unexplainedSigmas*n.noise.sigma(stall)
}

func (n *naiveTrees) hottestAfter(l schema.LinkID) (hottest float64) {
	for _, s := range n.next(l) {
		hottest = max(hottest, float64(n.values[s]))
	}
	return hottest
}

// isClearlyAbove reports whether a link is hotter than a stall by the factor and the deviations that make a root.
func (n *naiveTrees) isClearlyAbove(l schema.LinkID, stall float64) bool {
	own := float64(n.values[l])
	return own >= slowFactor*stall && own-stall >= slowSigmas*n.noise.sigma(own)
}

// isSlow reports whether a stalled link between switches is a root by itself: clearly above all that leaves either of
// its ends, alone in what it waits for, with enough links behind it that only it explains.
func (n *naiveTrees) isSlow(l schema.LinkID) bool {
	from, via := n.g.Ends(l)
	if n.isOnlyWay(l) {
		return true
	}
	if !n.g.IsSwitch(from) || !n.isClearlyAbove(l, n.hottestAfter(l)) {
		return false
	}
	stall, beside := float64(n.values[l]), 0.
	var behind []schema.LinkID
	for s := range schema.LinkID(n.g.NumLinks()) {
		begin, end := n.g.Ends(s)
		if !n.isStalled(s) || s == l {
			continue
		}
		if begin == from {
			beside = max(beside, float64(n.values[s]))
		}
		if end == from && slices.Contains(n.next(s), l) {
			behind = append(behind, s)
		}
		waitsForOwn := !n.g.IsSwitch(begin) && float64(n.values[s]) <= slowFactor*n.hottestAfter(s)
		if end == via && float64(n.values[s]) >= slowRival*stall && !waitsForOwn {
			return false
		}
	}
	if !n.isClearlyAbove(l, beside) {
		return false
	}
	explained := 0
	for _, s := range behind {
		if float64(n.values[s]) > stall+slowSigmas*n.noise.sigma(stall) {
			explained--
		} else if n.isClearlyAbove(s, beside) {
			explained++
		}
	}
	return explained >= minFeeders
}

// isOnlyWay reports whether all hosts at a leaf wait for one of several links up, where the tree behind comes over
// several.
func (n *naiveTrees) isOnlyWay(l schema.LinkID) bool {
	from, via := n.g.Ends(l)
	if !n.g.IsSwitch(from) || n.g.Device(via).Level <= n.g.Device(from).Level {
		return false
	}
	calm, waiting := 0, 0
	for s := range schema.LinkID(n.g.NumLinks()) {
		begin, end := n.g.Ends(s)
		isDown := n.g.IsSwitch(end) && n.g.Device(end).Level <= n.g.Device(begin).Level
		switch {
		case begin == from && s != l && n.isStalled(s) && !isDown:
			return false
		case begin == from && s != l && n.g.IsSwitch(end) && !isDown:
			calm++
		case end == from && !n.g.IsSwitch(begin) && n.isStalled(s) && float64(n.values[s]) <= float64(n.values[l])+slowSigmas*n.noise.sigma(float64(n.values[l])):
			waiting++
		}
	}
	return calm >= minFeeders && waiting >= onlyWayLinks && slices.ContainsFunc(n.next(l), func(s schema.LinkID) bool {
		_, behind := n.g.Ends(s)
		into := 0
		for x := range schema.LinkID(n.g.NumLinks()) {
			if begin, end := n.g.Ends(x); end == behind && n.g.IsSwitch(begin) && n.isStalled(x) {
				into++
			}
		}
		return into >= minFeeders
	})
}

// sinks are the devices that a link's wait may begin at.
func (n *naiveTrees) sinks(l schema.LinkID, into map[topology.DeviceID]bool) {
	from, via := n.g.Ends(l)
	if !n.g.IsSwitch(via) || n.isSlow(l) {
		into[from] = true
		return
	}
	unexplained := 0
	for s := range schema.LinkID(n.g.NumLinks()) {
		if _, to := n.g.Ends(s); to == via && n.isUnexplained(s) {
			unexplained++
		}
	}
	next := n.next(l)
	if len(next) == 0 || unexplained >= unexplainedLinks && n.isUnexplained(l) {
		into[via] = true
		return
	}
	for _, s := range next {
		n.sinks(s, into)
	}
}

// Which sinks each stalled link leads to is what a walk over all ways finds.
func TestTreesLeadWhereNaiveWalksDo(t *testing.T) {
	for _, spec := range []string{"fattree:leaves=4,hosts=3,spines=3", "fattree:leaves=6,hosts=4,spines=2", "fattree:k=4"} {
		g := parse(t, spec)
		m := newTreeMethod(newWaits(g), newAdjacency(g), overlapping())
		rng := rand.New(rand.NewSource(11))
		compared := 0
		for i := range 60 {
			values := patchyValues(rng, g)
			for l, v := range values {
				values[l] = max(0, v) // no gaps
			}
			var out partition
			m.segment(values, &out)
			n := naiveTrees{g, values, float32(m.noise.mean + max(m.minMean+leastSigmas*m.noise.base, hotTreeSigmas*m.noise.base)), m.noise}
			for node, l := range m.links {
				want, got := map[topology.DeviceID]bool{}, map[topology.DeviceID]bool{}
				n.sinks(schema.LinkID(l), want)
				for a := range m.sinks.all {
					if m.sinks.leads(int32(node), int32(a)) {
						got[topology.DeviceID(m.sinks.all[a].device)] = true
					}
				}
				if compared++; !maps.Equal(got, want) {
					t.Fatalf("%s, snapshot %d: link %d leads to %v, want %v", spec, i, l, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
				}
			}
		}
		if compared < 100 {
			t.Errorf("%s: only %d links compared", spec, compared)
		}
	}
}
