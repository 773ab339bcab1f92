package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// rules are what depends on the kind of links of a region's fabric. On a grid a link stands for both directions, so
// back pressure cannot be followed; where traffic ends is found by the load and stall around (ends), and stall spreads
// in all directions. Directed links have a root (package root), hosts that wait before them, and bounds on what a host
// can have put there. The rules of one kind can never apply to the other; what is not asked here is common to both.
type rules interface {
	steps
	facts
	terms
}

// steps are the parts of the examination of a region. Each fills in what only one kind of links shows.
type steps interface {
	// dateOnset mends the onset that is found by the region's stall alone. Nothing else is known of the region yet.
	dateOnset()
	// cutStall leaves of a stall that rose in two steps only the first, if nothing explains the second.
	cutStall()
	// findSink finds whether a host of no job takes in what was added to the root.
	findSink()
	// findWaits finds whether hosts are seen to wait to send into the region.
	findWaits()
	// findEnds finds where the region's traffic ends.
	findEnds()
	// fitFailures finds how much of the region leads to each of the failures near it, and lowers the scores of those
	// for which nothing waits.
	fitFailures(near []nearFailure)
}

// facts are what the links show of a job or a failure.
type facts interface {
	// isUnrelated reports whether no stall ends at a failed part, and no load of that moved to the root.
	isUnrelated(f *nearFailure) bool
	// receives reports whether the region ends at a suspect's host that takes in enough of the suspect's own traffic.
	receives(c *suspect) bool
	// leaving is how surely, 0 to 1, what leaves a suspect's hosts is what was added to the root.
	leaving(c *suspect) float64
	// canHoldUp reports whether the region can hold up a job.
	canHoldUp(c *suspect) bool
	// hasAllUnmeasured reports whether a region that measured jobs do not explain is this unmeasured job's.
	hasAllUnmeasured(c *suspect) bool
	// showsGrowth reports whether the growth of a suspect's traffic says what it added to the region.
	showsGrowth(c *suspect) bool
}

// terms are parts of scores.
type terms interface {
	// writtenPart is the part, 0 to 1, of the stall on its way that a suspect can cause by writing.
	writtenPart(c *suspect) float64
	// endScore is the evidence by where the region ends.
	endScore(c *suspect) float64
	// unseenPenalty is the penalty of a suspect whose traffic does not show in the region.
	unseenPenalty(c *suspect, space float64) float64
	// misfitPenalty is the penalty of a suspect whose traffic is too little for the region, or elsewhere.
	misfitPenalty(c *suspect) float64
	// enoughOfRoot is the share of the root's load from which on it is none.
	enoughOfRoot() float64
	// tooLittleAtEnd is the penalty of a suspect that moves this much, bytes, and more than before by grew, for adding
	// too little where the region ends, if that is known.
	tooLittleAtEnd(c *suspect, recent, grew float64) (penalty float64, known bool)
	// slowHostScore rates the cause that a host does not take what arrives.
	slowHostScore() float64
	// unlistedPart is the part of hosts of no listed job, as a multiple of that of the accused.
	unlistedPart(accused int) float64
}

// rules chooses those of a region.
func (rc *regionCase) rules() rules {
	if rc.in.graph.Duplex() {
		return grid{rc}
	}
	return directed{rc}
}

// grid has the rules for links that stand for both directions, as on the tori of Cray.
type grid struct{ *regionCase }

func (grid) dateOnset() {}

func (grid) findSink() {}

func (grid) findWaits() {}

func (grid) isUnrelated(*nearFailure) bool { return false }

func (g grid) receives(c *suspect) bool { return c.known && g.concentrates(c) }

func (grid) leaving(*suspect) float64 { return 0 }

// canHoldUp: back pressure also reaches links around a region that stall too little to belong to it, and so jobs within
// cfg.Hops.
func (grid) canHoldUp(c *suspect) bool { return c.cross > 0 || c.hops != beyondHops }

func (g grid) hasAllUnmeasured(c *suspect) bool { return g.ownLinks(c.job) >= mostlyOwn }

func (grid) writtenPart(*suspect) float64 { return 1 }

// showsGrowth: what an exchange adds, the links of a grid show themselves.
func (g grid) showsGrowth(c *suspect) bool { return c.file || !g.in.measuresLoad }

func (g grid) unseenPenalty(c *suspect, space float64) float64 {
	return g.unplacedPenalty(space) + (1-c.converges)*(g.addsNone(c)+g.emptyGroundPenalty(c))
}

// misfitPenalty: where no load shows what an exchange adds, one that moves next to nothing of a region's traffic has no
// part in it.
func (g grid) misfitPenalty(c *suspect) float64 {
	if !g.in.measuresLoad && c.known && !c.file {
		return g.tooLittlePenalty(c) + jobAbsent*shortOf(c.share, noPart, partShare)
	}
	return (1 - c.converges) * g.tooLittlePenalty(c)
}

func (grid) unlistedPart(int) float64 { return 0 }

// directed has the rules for links of which each stands for one direction.
type directed struct{ *regionCase }

func (directed) cutStall() {}

// findEnds: back pressure is followed to its root instead.
func (d directed) findEnds() {
	d.ends = ends{bottleneck: root.Bottleneck{Link: schema.NoLink}, fullLink: schema.NoLink}
}

// canHoldUp: the job's exchange crosses a link of the region or its root, and what it loses is not by another region,
// of which it is accused. On a grid regions overlap, and may differ on the culprit of one congestion.
func (d directed) canHoldUp(c *suspect) bool {
	return (c.cross > 0 || c.atRoot) && !d.causesAnother(c.job)
}

// hasAllUnmeasured: there is no other such job.
func (d directed) hasAllUnmeasured(*suspect) bool { return d.in.comparable && d.unmeasured() == 1 }

// writtenPart: what a job writes waits at its hosts.
func (d directed) writtenPart(c *suspect) float64 {
	return min(1, d.sendPart(c.job)/filePart)
}

// showsGrowth: where no load is measured, a job that grows may have added little of it.
func (d directed) showsGrowth(*suspect) bool { return d.in.measuresLoad }

// unseenPenalty: without load readings, its start is all there is against a suspect whose traffic is unknown, if the
// region is an incast at a switch without its hosts, and nothing shows that they send there.
func (d directed) unseenPenalty(c *suspect, space float64) float64 {
	if c.known || d.in.measuresLoad || d.waiting || !d.back.IsIncast() || d.hasHostAtEnd(c.job) {
		return 0
	}
	if _, _, all := d.startWaits(c); all > 0 {
		return 0
	}
	return jobUnseen * timeWeight(space)
}

func (d directed) misfitPenalty(c *suspect) float64 {
	return d.tooLittlePenalty(c) + d.notReadPenalty(c) + d.noPartPenalty(c)*(1-c.leaves)
}

func (directed) tooLittleAtEnd(*suspect, float64, float64) (penalty float64, known bool) {
	return 0, false
}
