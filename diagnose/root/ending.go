package root

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Ending is the place of a grid where a region's back pressure ends: a link in one direction, or a switch whose nodes
// do not accept the arriving traffic.
type Ending struct {
	Found  bool
	Device topology.DeviceID
	Link   schema.LinkID // that leaves or enters the switch; NoLink: its nodes
	Lost   float64       // of a link: the share of its load before the onset that it lost
}

const (
	// passes is the share of the stall upstream of a stalled link that counts as upstream of the next one.
	passes = .8
	// surely is the stall, share of time, from which on a link surely holds up the traffic before it; quiet is that of
	// noise.
	surely, quiet = .15, .01
	// surelyNot limits the probability that back pressure ends at nodes, for a link to be called slow.
	surelyNot = .2
	// leastLeft is the share of its load before that a link which lost rate still carries: at least one of its eight
	// lanes is left.
	leastLeft = 1. / 8
	// leastShown is added to a share before its log is taken; rounds limits how many links in a row are followed.
	leastShown, rounds = .02, 10
)

// endings is scratch memory for the places of a region.
type endings struct {
	links       []schema.LinkID              // at the region's switches
	has         scratch.Marks[schema.LinkID] // links
	at          []int32                      // by link: its index in links, if has
	stall       []float64                    // by index in links: stall in the direction in which it stalls, share of time
	use         []float64                    // share of capacity
	was         []float64                    // the same before the onset
	bottlenecks []float64                    // how much waits for a link (Bottleneck.Score); 0 if it is no bottleneck
	before      []float64                    // by twice the index, plus 1 for the way from its end: stall upstream of a link
	edges       []edge
	next        []float64
	places      []rated
	nodes       []nodes
	scores      []float64   // by switch: the sum of the odds of the places at it
	line        []linePlace // switches of the line of the most probable nodes
}

// edge leads from a stalled link to one that it may wait for, each in one direction.
type edge struct {
	from, to int32
	own      float64 // stall that from itself adds upstream of to
	pass     float64 // share of the stall upstream of from that counts as upstream of to
}

func newEndings(links, devices int) endings {
	return endings{at: make([]int32, links), has: scratch.NewMarks[schema.LinkID](links), scores: make([]float64, devices)}
}

// Endings are where the back pressure of a region most probably ends: at any place, at a link, and at a switch's nodes.
type Endings struct {
	Any, Link, Nodes Ending
	AtNodes          float64 // probability that it ends at some switch's nodes, 0 to 1
	OfMeans          bool    // readings are the mean of both directions

	Slow topology.DeviceID // the switch whose nodes accept too little, if that is what holds up the region
}

// Endings finds where the back pressure of a region ends on a grid. It must follow the calls of Drain, which returned
// d, and of Bottleneck for the same region. Followed from link to link, back pressure ends where much stalls upstream
// of a place that does not stall itself. Each place is rated by that and by other evidence, a switch by all places at
// it: a link may be named by either end.
func (g *GridRegion) Endings(d *Drain) (found Endings) {
	g.check()
	e := g.endings
	if len(g.devices) == 0 {
		return found
	}
	e.take(g)
	e.follow(g)
	e.places = e.rateLinks(e.places[:0], g)
	links := len(e.places)
	e.places = e.rateNodes(e.places, d, g)
	e.findOdds()
	found = Endings{Any: e.best(e.places), Link: e.best(e.places[:links]), Nodes: e.best(e.places[links:]),
		AtNodes: e.shareFrom(links), OfMeans: g.p.oneWay < 1}
	on := found.Nodes.Device
	if found.Any.Link == schema.NoLink {
		on = found.Any.Device
	}
	e.rateLine(on, e.places[links:], g)
	if found.Slow = found.Nodes.Device; !found.OfMeans && d.IsRoot() {
		found.Slow = d.Device
	}
	if g.waitingShare() >= neverIdle {
		if at, known := e.slowest(g); known {
			found.Slow = at
		}
	}
	return found
}

// AtSlowLink reports whether back pressure ends at a link that carries clearly less than before the onset.
func (e *Endings) AtSlowLink() bool {
	return e.Link.Found && e.AtNodes < surelyNot && e.Link.Lost > 1-ClearlyLess && e.Link.Lost <= 1-leastLeft
}

// Bottleneck is the link at which it ends.
func (e *Endings) Bottleneck() Bottleneck {
	return Bottleneck{Link: e.Link.Link, Tail: e.Link.Device, Lost: e.Link.Lost, Slower: true, Sole: true}
}

// take collects the links at the region's switches, and their readings.
func (e *endings) take(g *GridRegion) {
	e.has.Clear()
	e.links, e.stall, e.use, e.was, e.bottlenecks = e.links[:0], e.stall[:0], e.use[:0], e.was[:0], e.bottlenecks[:0]
	for _, d := range g.devices {
		for _, l := range g.p.graph.LinksAt(d) {
			if g.grid.Dim(l) < 0 || !e.has.Add(l) {
				continue
			}
			e.at[l] = int32(len(e.links))
			e.links = append(e.links, l)
			e.stall = append(e.stall, e.stallOf(l, g))
			e.use = append(e.use, max(0, g.p.UseOf(l))/100)
			e.was = append(e.was, max(0, g.p.Before(l))/100)
			e.bottlenecks = append(e.bottlenecks, 0)
		}
	}
	for i := range g.bottlenecks {
		if n := &g.bottlenecks[i]; e.has.Has(n.Link) {
			e.bottlenecks[e.at[n.Link]] = n.Score
		}
	}
}

func (e *endings) stallOf(l schema.LinkID, g *GridRegion) float64 {
	return min(1, g.p.inOneWay(max(0, g.p.StallOf(l)/100-quiet)))
}

// follow sums the stall upstream of each link, in both directions: over the links that lead into it, by its share of
// the load of all links that these lead to.
func (e *endings) follow(g *GridRegion) {
	e.edges = e.edges[:0]
	for i, l := range e.links {
		if e.stall[i] == 0 {
			continue
		}
		for dir := range int32(2) { // traffic in that direction may continue on other links at its end
			via, dim := e.endOf(l, dir, g), g.grid.Dim(l)
			all := leastShown
			for _, out := range g.p.graph.LinksAt(via) {
				if out != l && g.grid.Dim(out) >= dim {
					all += max(0, g.p.UseOf(out)) / 100
				}
			}
			sure := min(1, e.stall[i]/surely)
			for _, out := range g.p.graph.LinksAt(via) {
				if out == l || g.grid.Dim(out) < dim || !e.has.Has(out) {
					continue
				}
				part := sure * min(1, (e.use[e.at[out]]+.005)/all)
				to := 2 * e.at[out]
				if from, _ := g.p.graph.Ends(out); from != via {
					to++
				}
				e.edges = append(e.edges, edge{2*int32(i) + dir, to, part * e.stall[i], part * passes})
			}
		}
	}
	n := 2 * len(e.links)
	e.before, e.next = slices.Grow(e.before[:0], n)[:n], slices.Grow(e.next[:0], n)[:n]
	clear(e.before)
	for range rounds {
		clear(e.next)
		for _, by := range e.edges {
			e.next[by.to] += by.own + by.pass*e.before[by.from]
		}
		e.before, e.next = e.next, e.before
	}
}

// endOf is the switch to which a link leads in a direction.
func (e *endings) endOf(l schema.LinkID, dir int32, g *GridRegion) topology.DeviceID {
	from, to := g.p.graph.Ends(l)
	if dir == 1 {
		return from
	}
	return to
}

// shownLog is the log of a share plus leastShown.
func shownLog(share float64) float64 { return math.Log(max(0, share) + leastShown) }

// rated is a place with its score: a link in one direction, or a switch's nodes.
type rated struct {
	lost     float64       // of a link: the share of its load before the onset that it lost
	link     schema.LinkID // NoLink: nodes
	from, to topology.DeviceID
	score    float64
	odds     float64 // relative to the most probable place
}

// findOdds computes the odds of each place, relative to the most probable one.
func (e *endings) findOdds() {
	highest := math.Inf(-1)
	for i := range e.places {
		highest = max(highest, e.places[i].score)
	}
	for i := range e.places {
		e.places[i].odds = math.Exp(e.places[i].score - highest)
	}
}

// best is the switch whose places have the highest sum of odds, with the most probable of these places.
func (e *endings) best(places []rated) (best Ending) {
	for i := range places {
		e.scores[places[i].from], e.scores[places[i].to] = 0, 0
	}
	for i := range places {
		at := &places[i]
		e.scores[at.from] += at.odds
		if at.to != at.from {
			e.scores[at.to] += at.odds
		}
	}
	most, first := 0., math.Inf(-1)
	for i := range places {
		at := &places[i]
		for _, d := range [2]topology.DeviceID{at.from, at.to} {
			switch score := e.scores[d]; {
			case score > most || score == most && d < best.Device:
				most, first = score, at.score
				best = Ending{true, d, at.link, at.lost}
			case d == best.Device && at.score > first:
				first, best.Link, best.Lost = at.score, at.link, at.lost
			}
		}
	}
	return best
}

// shareFrom is the share of the places from index first on in the odds of all.
func (e *endings) shareFrom(first int) float64 {
	sum, all := 0., 0.
	for i := range e.places {
		if all += e.places[i].odds; i >= first {
			sum += e.places[i].odds
		}
	}
	return sum / all
}
