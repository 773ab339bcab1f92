package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/topology"
)

// An incast on a grid loads a tree: the routes from a job's nodes to one switch. With static routes the tree follows from the job's
// placement, and no other set of nodes has the same branches, so the load added to each link shows who sends, wherever the end is: at
// a node of the job, of another, or of none.
const (
	// mayConverge of the fit of a job's tree says nothing, surelyConverges is proof, if that of every other job is convergesAlone worse.
	mayConverge, surelyConverges, convergesAlone = .6, .85, .1
	// alikeFit is the largest difference between the fits of a tree to two neighbours that may be noise.
	alikeFit = .03
	// mostTrees bounds the suspects whose trees are compared.
	mostTrees = 8
)

// findConverging finds how surely the load added to a region of a grid is what a suspect's nodes send to one switch. That is the one at
// whose nodes back pressure ends most probably, or one beside it on the line, as neighbours show nearly the same.
func (rc *regionCase) findConverging() {
	end := rc.endings.Nodes
	if rc.router.Grid == nil || !rc.graph.Duplex() || !rc.loads || !end.Found {
		return
	}
	line := rc.router.Grid.Line(end.Device, len(rc.router.Grid.Dims())-1)
	trees := rc.scratch.trees[:0]
	for i := range rc.jobs {
		if c := &rc.jobs[i]; len(c.job.Devices) > 1 {
			trees = append(trees, tree{of: c})
		}
	}
	slices.SortStableFunc(trees, func(a, b tree) int { return cmp.Compare(b.of.reaches(), a.of.reaches()) })
	trees = trees[:min(len(trees), mostTrees)]
	for i := range trees {
		t := &trees[i]
		for step := -1; step <= 1; step++ {
			at := line.Device(step)
			fit := rc.finder.Converging(t.of.job.Devices, at)
			t.fit = max(t.fit, fit)
			if t.of.job.Has(at) {
				t.own = max(t.own, fit)
			}
		}
	}
	rc.scratch.trees = trees
	slices.SortStableFunc(trees, func(a, b tree) int { return cmp.Compare(b.fit, a.fit) })
	if len(trees) == 0 {
		return
	}
	next := 0.
	if len(trees) > 1 {
		next = trees[1].fit
	}
	best := &trees[0]
	best.of.converges = ramp(best.fit, mayConverge, surelyConverges) * ramp(best.fit-next, 0, convergesAlone)
	best.of.fit = best.fit
	best.of.away = best.of.converges > .5 && best.own < best.fit-alikeFit
}

// tree is the routes from a suspect's nodes to a switch, with how well the added load fits them.
type tree struct {
	of  *suspect
	fit float64
	own float64 // the best fit to one of its own nodes there
}

// reaches is the share of a region's stall where a suspect's traffic can be.
func (c *suspect) reaches() float64 { return max(c.cross, c.gate, c.way) }

// ramp is 0 up to a value and 1 from another on.
func ramp(v, from, to float64) float64 { return max(0, min(1, (v-from)/(to-from))) }

// convergesScore is the score of a suspect for that. Of a job that neither began with the region nor has a traffic table an unlisted one
// on the same nodes cannot be told apart.
func (s scores) convergesScore(c *suspect) float64 {
	if !c.known && !c.started {
		return jobSendsAll / 2 * c.converges
	}
	return jobSendsAll * c.converges
}

// endFit is how well the added load fits what a suspect that converges sends to a switch, relative to the best switch of the line,
// 0 to 1; without one it is 0.
func (rc *regionCase) endFit(c *suspect, at topology.DeviceID) float64 {
	return ramp(rc.finder.Converging(c.job.Devices, at), c.fit-convergesAlone, c.fit)
}
