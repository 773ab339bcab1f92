package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/topology"
)

// An incast on a grid loads a tree: the routes from a job's nodes to one switch. With static routes the tree follows
// from the job's placement, and no other set of nodes has the same branches, so the load added to each link shows who
// sends, wherever the end is: at a node of the job, of another, or of none.
const (
	// mayConverge of the fit of a job's tree says nothing, surelyConverges is proof; timelyMay and timelySurely are the
	// same for a job that began with the region, or whose traffic rose then by timelyRise: few others do so. The fit of
	// every other job must be worse by convergesAlone.
	mayConverge, surelyConverges = .7, .9
	timelyMay, timelySurely      = .4, .6
	timelyRise, convergesAlone   = .5, .05
	// alikeFit is the largest difference between the fits of a tree to two neighbours that may be noise.
	alikeFit = .03
	// worseEnd is by how much a tree fits worse to a switch at which it surely does not end.
	worseEnd = .1
	// mostTrees bounds the suspects whose trees are compared.
	mostTrees = 8
)

// findConverging finds how surely the load added to a region is what a suspect's nodes send to one switch: if back
// pressure probably ends at nodes, the switch where that is, or one beside it on the line, as neighbours show nearly
// the same.
func (g grid) findConverging() {
	end := g.ends.endings.Nodes
	if g.in.router.Grid == nil || !g.in.measuresLoad || !end.Found || g.ends.nodesProbability() < mayEnd {
		return
	}
	trees := g.in.scratch.trees[:0]
	for i := range g.suspects {
		if c := &g.suspects[i]; len(c.job.Devices) > 1 && c.reaches() >= mostExchange {
			trees = append(trees, tree{of: c})
		}
	}
	slices.SortStableFunc(trees, func(a, b tree) int { return cmp.Compare(b.of.reaches(), a.of.reaches()) })
	trees = trees[:min(len(trees), mostTrees)]
	g.in.scratch.trees = trees
	line := g.in.router.Grid.Line(end.Device, len(g.in.router.Grid.Dims())-1)
	for i := range trees {
		g.fit(&trees[i], line.Device(0))
	}
	slices.SortStableFunc(trees, byFit)
	if len(trees) == 0 || trees[0].fit < timelyMay/2 {
		return
	}
	likely := trees[:min(len(trees), 2)]
	for i := range likely {
		g.fit(&likely[i], line.Device(-1))
		g.fit(&likely[i], line.Device(1))
	}
	slices.SortStableFunc(likely, byFit)
	next := 0.
	if len(likely) > 1 {
		next = likely[1].fit
	}
	best := &likely[0]
	best.of.converges = best.of.sendsBy(best.fit) * ramp(best.fit-next, 0, convergesAlone)
	best.of.fit = best.fit
	best.of.away = best.of.converges > .5 && best.fit >= mayConverge && best.own < best.fit-alikeFit
}

// tree is the routes from a suspect's nodes to one of some switches.
type tree struct {
	of  *suspect
	fit float64 // how well the added load fits the best of them
	own float64 // the same, of those to its own nodes
}

func byFit(a, b tree) int { return cmp.Compare(b.fit, a.fit) }

// fit compares the added load with a tree to another switch.
func (g grid) fit(t *tree, end topology.DeviceID) {
	fit := g.onGrid.Converging(t.of.job.Devices, end)
	t.fit = max(t.fit, fit)
	if t.of.job.Has(end) {
		t.own = max(t.own, fit)
	}
}

// sendsBy is how surely a suspect sends what was added, 0 to 1, by the fit of its tree. Of a job that neither began
// with the region nor has a traffic table, an unlisted one on the same nodes cannot be distinguished.
func (c *suspect) sendsBy(fit float64) float64 {
	switch {
	case c.evidence.started || c.evidence.rise >= timelyRise:
		return ramp(fit, timelyMay, timelySurely)
	case c.known:
		return ramp(fit, mayConverge, surelyConverges)
	}
	return 0
}

// endFit is how well the added load fits what a suspect that converges sends to a switch, relative to the best one,
// 0 to 1.
func (rc *regionCase) endFit(c *suspect, at topology.DeviceID) float64 {
	return ramp(rc.onGrid.Converging(c.job.Devices, at), c.fit-worseEnd, c.fit)
}
