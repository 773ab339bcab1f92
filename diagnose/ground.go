package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// ground is what depends on the kind of links of a region's fabric. On a grid a link stands for both directions, so
// back pressure cannot be followed; where traffic ends is found by the load and stall around (ends), and stall spreads
// in all directions. Directed links have a root (package root), hosts that wait before them, and bounds on what a host
// can have put there. The rules of one kind can never apply to the other; what is not asked here is common to both.
type ground interface {
	// dateOnset mends the onset that is found by the region's stall alone. Nothing else is known of the region yet.
	dateOnset()
	// cutStall leaves of a stall that rose in two steps only the first, if nothing explains the second.
	cutStall()
	// findWaits finds whether hosts are seen to wait to send into the region.
	findWaits()
	// findEnds finds where the region's traffic ends, by the stall of links, and returns who probably sends it.
	findEnds(p *root.Pressure) []root.Sender
	// fitFailures finds how much of the region leads to each of the failures near it.
	fitFailures(p *root.Pressure, near []nearFailure, senders []root.Sender)
	// isUnrelated reports whether no stall ends at a failed part, and no load of that moved to the root.
	isUnrelated(f *nearFailure) bool
	// movedFrom is the share of the load added at the region that a failed part carried before.
	movedFrom(f *history.PlacedFailure) float64

	// mayFetch reports whether a suspect may read by RDMA from elsewhere.
	mayFetch(c *suspect) bool
	// receives reports whether the region ends at a suspect's host that takes in enough of the suspect's own traffic.
	receives(c *suspect) bool
	// canHoldUp reports whether the region can hold up a job.
	canHoldUp(c *suspect) bool
	// hasAllUnmeasured reports whether a region that measured jobs do not explain is this unmeasured job's.
	hasAllUnmeasured(c *suspect) bool
	// exchanges reports whether load was added all over a job's exchange, so that no single receiver is full.
	exchanges(j *job) bool

	// writtenPart is the part, 0 to 1, of the stall on its way that a suspect can cause by writing.
	writtenPart(c *suspect) float64
	// growthScore is the score of a suspect's part in the added load.
	growthScore(c *suspect) float64
	// endScore is the evidence by where the region ends.
	endScore(c *suspect) float64
	// unseenPenalty is the penalty of a suspect whose traffic does not show in the region.
	unseenPenalty(c *suspect, space float64) float64
	// misfitPenalty is the penalty of a suspect whose traffic is too little for the region, or elsewhere.
	misfitPenalty(c *suspect) float64
	// enoughOfRoot is the share of the root's load from which on it is none.
	enoughOfRoot() float64
	// tooLittleAtEnd is the penalty for adding too little where the region ends, if that is known.
	tooLittleAtEnd(c *suspect, recent, baseline float64) (penalty float64, known bool)
	// slowHostScore rates the cause that a host does not take what arrives.
	slowHostScore() float64
	// unlistedPart is the part of hosts of no listed job, as a multiple of that of the accused.
	unlistedPart(accused int) float64
}

// ground chooses the rules of a region, once for all of them.
func (rc *regionCase) ground() ground {
	if rc.in.graph.Duplex() {
		return grid{rc}
	}
	return directed{rc}
}

// grid has the rules for links that stand for both directions, as on the tori of Cray.
type grid struct{ *regionCase }

func (grid) dateOnset() {}

func (grid) findWaits() {}

func (g grid) findEnds(p *root.Pressure) []root.Sender {
	senders, jobs := g.findSenders()
	g.ends = g.endsBy(p, g.averaged(p), senders, jobs)
	g.findConverging()
	g.findEmpty()
	return senders
}

func (grid) isUnrelated(*nearFailure) bool { return false }

func (g grid) movedFrom(f *history.PlacedFailure) float64 {
	if g.in.router.Grid == nil {
		return g.scores().movedBeside(f)
	}
	return g.movedRound(f)
}

func (g grid) receives(c *suspect) bool { return c.known && g.concentrates(c) }

// canHoldUp: back pressure also reaches links around a region that stall too little to belong to it, and so jobs within
// cfg.Hops.
func (grid) canHoldUp(c *suspect) bool { return c.cross > 0 || c.hops != beyondHops }

func (g grid) hasAllUnmeasured(c *suspect) bool { return g.ownLinks(c.job) >= mostlyOwn }

func (g grid) exchanges(j *job) bool { return g.loadsExchange(j) }

func (grid) writtenPart(*suspect) float64 { return 1 }

// growthScore: what an exchange adds, the links of a grid show.
func (g grid) growthScore(c *suspect) float64 {
	if g.in.measuresLoad && !c.file {
		return 0
	}
	return g.scores().growthScore(c)
}

func (g grid) unseenPenalty(c *suspect, space float64) float64 {
	return g.notSeenPenalty(c, space) + (1-c.converges)*(g.addsNone(c)+g.emptyGroundPenalty(c))
}

func (g grid) misfitPenalty(c *suspect) float64 {
	return (1 - c.converges) * g.scores().tooLittlePenalty(c)
}

func (grid) unlistedPart(int) float64 { return 0 }

// directed has the rules for links of which each stands for one direction.
type directed struct{ *regionCase }

func (directed) cutStall() {}

// findEnds: back pressure is followed to its root instead.
func (d directed) findEnds(*root.Pressure) []root.Sender {
	d.ends = ends{neck: root.Neck{Link: schema.NoLink}, fullLink: schema.NoLink}
	return nil
}

func (directed) mayFetch(*suspect) bool { return false }

// canHoldUp: the job's exchange crosses a link of the region or its root.
func (directed) canHoldUp(c *suspect) bool { return c.cross > 0 || c.atRoot }

// hasAllUnmeasured: there is no other such job.
func (d directed) hasAllUnmeasured(*suspect) bool { return d.in.comparable && d.unmeasured() == 1 }

func (directed) exchanges(*job) bool { return false }

func (d directed) movedFrom(f *history.PlacedFailure) float64 { return d.scores().movedBeside(f) }

// writtenPart: what a job writes waits at its hosts.
func (d directed) writtenPart(c *suspect) float64 {
	return min(1, d.sendPart(c.job)/filePart)
}

// growthScore: where no load is measured, a job that grows may have added little of it.
func (d directed) growthScore(c *suspect) float64 {
	if !d.in.measuresLoad {
		return 0
	}
	return d.scores().growthScore(c)
}

func (directed) unseenPenalty(*suspect, float64) float64 { return 0 }

func (d directed) misfitPenalty(c *suspect) float64 {
	return d.scores().tooLittlePenalty(c) + d.noPartPenalty(c)
}

func (directed) tooLittleAtEnd(*suspect, float64, float64) (penalty float64, known bool) {
	return 0, false
}
