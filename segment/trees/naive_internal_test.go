package trees

import (
	"maps"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/topology"
)

// naiveTrees finds where each stalled link's wait begins, by walking every path of its traffic: a naive twin of the
// tree method's first two steps, which use ranks and masks. It only handles snapshots without gaps and zeros, on
// fabrics whose devices have levels.
type naiveTrees struct {
	g      *topology.Graph
	values []float32
	hot    float32
	noise  backpressure.Noise
}

func (n *naiveTrees) isStalled(l schema.LinkID) bool { return n.values[l] >= n.hot }

// next lists the links that a link may wait for.
func (n *naiveTrees) next(l schema.LinkID) []schema.LinkID {
	return slices.DeleteFunc(n.after(l), func(s schema.LinkID) bool { return n.raisesNothing(s) })
}

// after lists the stalled links on which the traffic of a link may go on.
func (n *naiveTrees) after(l schema.LinkID) (next []schema.LinkID) {
	for s := range schema.LinkID(n.g.NumLinks()) {
		if n.isStalled(s) && n.mayGoOn(l, s) {
			next = append(next, s)
		}
	}
	return next
}

// mayGoOn reports whether traffic may go from one link on to another.
func (n *naiveTrees) mayGoOn(l, s schema.LinkID) bool {
	from, via := n.g.Ends(l)
	begin, to := n.g.Ends(s)
	isValley := n.g.Device(from).Level > n.g.Device(via).Level && n.g.Device(to).Level > n.g.Device(via).Level
	return begin == via && to != from && !isValley && n.g.IsSwitch(via)
}

// raisesNothing reports whether a link ends alone, and fewer than two of those that might wait for it are above the links
// that leave their switch for another: of three or more, most of which lead up, or of any that might wait for a hotter one.
func (n *naiveTrees) raisesNothing(l schema.LinkID) bool {
	if !n.endsAlone(l) {
		return false
	}
	all, up, raised, isOutshone := 0, 0, 0, true
	for s := range schema.LinkID(n.g.NumLinks()) {
		begin, _ := n.g.Ends(s)
		if !n.isStalled(s) || !n.mayGoOn(s, l) {
			continue
		}
		all++
		isOutshone = isOutshone && slices.ContainsFunc(n.after(s), func(o schema.LinkID) bool {
			return n.isClearlyAbove(o, float64(n.values[l])) && !n.endsAlone(o)
		})
		if n.isDown(s) || !n.g.IsSwitch(begin) {
			continue
		}
		up++
		if n.isClearlyAbove(s, n.mostBeside(s)) {
			raised++
		}
	}
	return raised < backpressure.FewestRaised && (up >= backpressure.MinFeeders && 2*up > all || isOutshone)
}

// endsAlone reports whether a link leads down and the wait ends there, where no other does.
func (n *naiveTrees) endsAlone(l schema.LinkID) bool {
	from, to := n.g.Ends(l)
	if n.hasHosts(from) || !n.isDown(l) || len(n.after(l)) > 0 {
		return false
	}
	return !slices.ContainsFunc(stalls.LinkRange(0, n.g.NumLinks()), func(s schema.LinkID) bool {
		_, end := n.g.Ends(s)
		return n.isStalled(s) && s != l && end == to && n.g.IsSwitch(to) && n.isDown(s)
	})
}

func (n *naiveTrees) isDown(l schema.LinkID) bool {
	from, to := n.g.Ends(l)
	return n.g.Device(from).Level > n.g.Device(to).Level
}

// mostBeside is the highest value of the links that leave a link's switch for others of the same level.
func (n *naiveTrees) mostBeside(l schema.LinkID) (most float64) {
	from, to := n.g.Ends(l)
	for s, v := range n.values {
		begin, end := n.g.Ends(schema.LinkID(s))
		if begin == from && end != to && n.g.Device(end).Level == n.g.Device(to).Level {
			most = max(most, float64(v))
		}
	}
	return most
}

// isUnexplained reports whether a link is far hotter than all that it may wait for.
func (n *naiveTrees) isUnexplained(l schema.LinkID) bool {
	if !n.isStalled(l) || len(n.next(l)) == 0 {
		return false
	}
	stall, hottest := float64(n.values[l]), n.hottestAfter(l)
	return stall > unexplainedFactor*hottest && stall-hottest > unexplainedSigmas*n.noise.Sigma(stall)
}

func (n *naiveTrees) hottestAfter(l schema.LinkID) (hottest float64) {
	for _, s := range n.next(l) {
		hottest = max(hottest, float64(n.values[s]))
	}
	return hottest
}

// isClearlyAbove reports whether a link is above a stall by the factor and deviations that make a root.
func (n *naiveTrees) isClearlyAbove(l schema.LinkID, stall float64) bool {
	own := float64(n.values[l])
	return own >= backpressure.ClearFactor*stall && own-stall >= backpressure.ClearSigmas*n.noise.Sigma(own)
}

func (n *naiveTrees) hasHosts(d topology.DeviceID) bool {
	return slices.ContainsFunc(stalls.LinkRange(0, n.g.NumLinks()), func(s schema.LinkID) bool {
		from, to := n.g.Ends(s)
		return to == d && !n.g.IsSwitch(from)
	})
}

// isRoot reports whether a link is a port to a host that is clearly above most others there.
func (n *naiveTrees) isRoot(l schema.LinkID) bool {
	from, to := n.g.Ends(l)
	if n.g.IsSwitch(to) {
		return false
	}
	var ports []float32
	sending := 0
	for s := range schema.LinkID(n.g.NumLinks()) {
		if begin, end := n.g.Ends(s); begin == from && !n.g.IsSwitch(end) && n.isStalled(s) {
			ports = append(ports, n.values[s])
			if n.sends(end, from) {
				sending++
			}
		}
	}
	slices.Sort(ports)
	if len(ports) == 2 {
		low, high := float64(ports[0]), float64(ports[1])
		return sending < 2 && (n.arePair(from, low, high) || n.areTwins(from, low, high, [2]float64{backpressure.PortShare, backpressure.ClearFactor}[sending]))
	}
	if len(ports) < mostRoots {
		return false
	}
	usual := float64(ports[(len(ports)-1)/2])
	var apart []float64
	for _, v := range ports {
		apart = append(apart, math.Abs(math.Log(float64(v)/usual)))
	}
	slices.Sort(apart)
	spread := 1.4826 * apart[len(apart)/2]
	return n.isClearlyAbove(l, usual) && math.Log(float64(n.values[l])/usual) >= backpressure.ClearSigmas*spread
}

// sends reports whether a host's link to a switch is stalled.
func (n *naiveTrees) sends(host, to topology.DeviceID) bool {
	return slices.ContainsFunc(stalls.LinkRange(0, n.g.NumLinks()), func(s schema.LinkID) bool {
		begin, end := n.g.Ends(s)
		return begin == host && end == to && n.isStalled(s)
	})
}

// arePair reports whether two ports to hosts of a switch are the roots of two trees.
func (n *naiveTrees) arePair(d topology.DeviceID, low, high float64) bool {
	sigma := n.noise.Sigma(high)
	above, into := 0, 0
	for s := range schema.LinkID(n.g.NumLinks()) {
		if _, end := n.g.Ends(s); end == d && n.isStalled(s) {
			into++
			if float64(n.values[s]) > high+backpressure.ClearSigmas*sigma {
				above++
			}
		}
	}
	return low >= backpressure.ClearSigmas*n.noise.Sigma(low) && high-low >= pairSigmas*sigma && 2*above < into
}

// areTwins reports whether two ports to hosts of a switch are roots, even if alike: they stall at least part of what
// waits there.
func (n *naiveTrees) areTwins(d topology.DeviceID, low, high, part float64) bool {
	var into []float64
	for s := range schema.LinkID(n.g.NumLinks()) {
		if _, end := n.g.Ends(s); end == d && n.isStalled(s) {
			into = append(into, float64(n.values[s]))
		}
	}
	slices.Sort(into)
	return len(into) >= 2 && low >= backpressure.ClearSigmas*n.noise.Sigma(low) && low >= twinShare*high && low >= part*into[len(into)/2]
}

// place is a switch, or a port of it that is a root of its own.
type place struct {
	device topology.DeviceID
	link   schema.LinkID
}

// sinks collects the places where a link's wait may begin.
func (n *naiveTrees) sinks(l schema.LinkID, into map[place]bool) {
	from, via := n.g.Ends(l)
	if n.isRoot(l) {
		into[place{from, l}] = true
		return
	}
	if !n.g.IsSwitch(via) {
		into[place{from, schema.NoLink}] = true
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
		into[place{via, schema.NoLink}] = true
		return
	}
	for _, s := range next {
		n.sinks(s, into)
	}
}

// The sinks that each stalled link leads to are those found by walking all paths.
func TestTreesLeadWhereNaiveWalksDo(t *testing.T) {
	for _, spec := range []string{"fattree:leaves=4,hosts=3,spines=3", "fattree:leaves=6,hosts=4,spines=2", "fattree:k=4"} {
		g := stalls.Fabric(t, spec)
		m := New(g, overlapping())
		rng := rand.New(rand.NewSource(11))
		compared := 0
		for i := range 60 {
			values := stalls.PatchyValues(rng, g)
			for l, v := range values {
				values[l] = max(.001, v) // no gaps, nor zeros that may be wrong
			}
			m.measure(values)
			if !m.findLinks(values) {
				continue
			}
			m.findCauses()
			n := naiveTrees{g, values, float32(m.Noise.Mean + max(m.minMean, HotSigmas*m.Noise.Base)), m.Noise}
			for node, l := range m.Links {
				want, got := map[place]bool{}, map[place]bool{}
				n.sinks(schema.LinkID(l), want)
				for a := range m.sinks.all.Len() {
					if m.sinks.leads(index.Node(node), a) {
						x, at := &m.sinks.all[a], place{link: schema.NoLink}
						if at.device = topology.DeviceID(x.device); x.link >= 0 {
							at.link = schema.LinkID(x.link)
						}
						got[at] = true
					}
				}
				if compared++; !maps.Equal(got, want) {
					t.Fatalf("%s, snapshot %d: link %d leads to %v, want %v", spec, i, l, got, want)
				}
			}
		}
		if compared < 100 {
			t.Errorf("%s: only %d links compared", spec, compared)
		}
	}
}
