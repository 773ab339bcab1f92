package root

import (
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// shown is what a link of a grid shows to traffic over other links.
type shown struct {
	dim          int
	stall        float64 // percent
	use          float64 // percent of capacity; -1: not known
	before       float64 // use before the onset, the same
	lost         float64 // load lost since the onset, bytes/s; 0 if not known
	held         float64 // traffic that waits on it, bytes/s, if it stalls
	waits        float64 // traffic that waits for it, bytes/s; 0 unless packets may
	isBottleneck bool    // packets may wait for it
}

// gridFlow is the flow of a region of a grid, of which each link is followed both ways. Readings are kept for the next
// regions with the same stalls and past.
type gridFlow struct {
	flow
	region uint32 // number of the region
	shown  lookup[schema.LinkID, shown]
	goes   [][2]going // by index in shown.list, and direction
	ways   []way      // of all links followed
	back   backward
	seen   scratch.Marks[topology.DeviceID] // by fullest
}

// gridWalk follows the stall of a region of a grid to the links for which it may wait.
type gridWalk struct {
	*Pressure
	*gridFlow
	grid *routes.Grid
}

// newGridFlow returns the memory for the regions of a grid.
func newGridFlow(g *topology.Graph) gridFlow {
	n := g.NumLinks()
	return gridFlow{flow: newFlow(n, 2), seen: scratch.NewMarks[topology.DeviceID](g.NumDevices()),
		shown: newLookup[schema.LinkID, shown](n), back: newBackward(n)}
}

// going is where the traffic over a link of a grid goes in one direction.
type going struct {
	region     uint32  // for which it was computed
	first, end int32   // its ways: gridFlow.ways[first:end]
	leads      float64 // share that reaches a link for which it may wait
}

// spreadOnGrid follows the stall of a region of a grid to the links that it waits for. Readings have no direction, so
// that each link is followed both ways: under dimension-order routing, traffic along a dimension goes on along it or
// turns to a later one, over stalled links, until it waits for a link that is full or lost rate. The wrong direction
// mostly leads nowhere: a way is weighted by the share of its traffic that reaches such a link.
func (w *gridWalk) spreadOnGrid(links []schema.LinkID) {
	w.reset()
	w.region++
	w.queue[0], w.ways = w.queue[0][:0], w.ways[:0]
	for _, l := range links {
		place, s := w.shows(l)
		if s.dim < 0 || s.stall < stalledPercent {
			continue
		}
		stall := s.stall
		leads := [2]float64{w.leads(2*l, place, 0), w.leads(2*l+1, place, 0)}
		for dir, part := range leads {
			if part > 0 {
				at := 2*l + schema.LinkID(dir)
				w.mass[at] = stall * part / (leads[0] + leads[1])
				w.queue[0] = append(w.queue[0], at)
			}
		}
	}
	for _, at := range w.follow(w.passOnGrid) {
		w.mass[at] = 0
	}
}

// leads is the share of the traffic over a link in one direction that reaches a link for which it may wait. at is twice
// the link's number, plus one for the direction from its end to its beginning. place is the link's index in shown.list.
func (w *gridWalk) leads(at schema.LinkID, place int32, steps int) float64 {
	goes := w.goesFrom(place, at%2)
	if goes.region == w.region {
		return goes.leads
	}
	*goes = going{region: w.region} // a cycle leads nowhere
	if steps == maxRounds {
		return 0
	}
	first := len(w.ways)
	w.listWays(at, &w.shown.list[place])
	end := len(w.ways)
	sum, reached, leads := 0., 0., 0.
	for i := first; i < end; i++ {
		way, part := w.ways[i], 1.
		if way.stays == 0 {
			part = w.leads(way.link, way.place, steps+1)
		}
		sum, reached = sum+way.weight, reached+way.weight*part
	}
	if sum > 0 {
		leads = reached / sum
	}
	*w.goesFrom(place, at%2) = going{w.region, int32(first), int32(end), leads}
	return leads
}

// listWays lists what traffic over a link in one direction may wait for behind it.
func (w *gridWalk) listWays(at schema.LinkID, own *shown) {
	l := at / 2
	from, via := w.graph.Ends(l)
	if at%2 == 1 {
		via = from
	}
	dim, least := own.dim, max(stalledPercent, passesOn*own.stall)
	for _, next := range w.graph.LinksAt(via) {
		if next == l {
			continue
		}
		place, s := w.shows(next)
		if s.dim < dim {
			continue
		}
		if s.waits > 0 {
			w.ways = append(w.ways, way{link: next, weight: s.waits, stays: 1})
		}
		if s.stall >= least {
			w.ways = append(w.ways, way{link: w.towards(next, via), place: place, weight: s.held})
		}
	}
}

// passOnGrid divides stall over a link in one direction between the ways that leads has listed.
func (w *gridWalk) passOnGrid(at schema.LinkID, stall float64, next []schema.LinkID) []schema.LinkID {
	goes, sum := w.goesOn(at), 0.
	ways := w.ways[goes.first:goes.end]
	for _, way := range ways {
		sum += w.weightOf(way)
	}
	if sum == 0 {
		return next
	}
	for _, way := range ways {
		part := stall * w.weightOf(way) / sum
		if way.stays > 0 {
			w.wait(at/2, way.link, part)
			continue
		}
		if part > 0 {
			if w.mass[way.link] == 0 {
				next = append(next, way.link)
			}
			w.mass[way.link] += part
		}
	}
	return next
}

// weightOf is the weight of a way, times the share of its traffic that reaches a link for which it may wait.
func (e *gridFlow) weightOf(w way) float64 {
	if w.stays > 0 {
		return w.weight
	}
	return w.weight * e.goes[w.place][w.link%2].leads
}

// goesOn is where traffic over a link in one direction goes, after leads has found it.
func (e *gridFlow) goesOn(at schema.LinkID) *going { return &e.goes[e.shown.places[at/2].at][at%2] }

// goesFrom is the same for an index in shown.list, and may still be empty.
func (e *gridFlow) goesFrom(link int32, dir schema.LinkID) *going {
	for int(link) >= len(e.goes) {
		e.goes = append(e.goes, [2]going{})
	}
	return &e.goes[link][dir]
}

// towards is a link in the direction in which it leaves a switch, numbered as in leads.
func (w *gridWalk) towards(l schema.LinkID, at topology.DeviceID) schema.LinkID {
	if from, _ := w.graph.Ends(l); from != at {
		return 2*l + 1
	}
	return 2 * l
}

// shows returns the readings of a link and their index in shown.list, computed once for regions with the same stalls
// and onset. They are valid until the next call.
func (w *gridWalk) shows(l schema.LinkID) (int32, *shown) {
	at, isNew := w.shown.find(l)
	s := &w.shown.list[at]
	if isNew {
		*s = shown{dim: w.grid.Dim(l), stall: w.StallOf(l), use: w.UseOf(l), before: w.Before(l)}
		if s.before >= 0 && s.use >= 0 {
			s.lost = max(0, s.before-s.use) / 100 * w.graph.Capacity(l)
		}
		if s.stall >= stalledPercent {
			s.held = w.heldBackOr(l)
		}
		if _, may := w.bottleneckOf(l, s); may && s.dim >= 0 {
			s.isBottleneck, s.waits = true, w.waitsBefore(l)
		}
	}
	return at, s
}

// waitsBefore is the traffic that waits inside switches for a link, bytes/s, if the share of time that packets wait is
// the share of the offered load that is held back.
func (w *gridWalk) waitsBefore(l schema.LinkID) float64 {
	waits := min(MaxStall, max(leastWaits, w.waitsFor(l)))
	return max(LeastUse, w.UseOf(l)) / 100 * w.graph.Capacity(l) * waits / (1 - waits)
}
