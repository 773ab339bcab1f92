package diagnose

// endScore is the evidence by where the region's traffic ends.
func (g grid) endScore(c *suspect) (score float64) {
	switch {
	case g.excludes(c):
		score = -jobElsewhere
	case c.job == g.ends.sender && g.ends.drain.Grew && g.ends.drain.IsCertain() && !c.known:
		score += jobConverges
	case !c.known && g.loadsAll(c) > 0:
		score += jobConverges * g.loadsAll(c)
	case g.endsAtOwn(c):
		score += g.holdsItselfUp(c)
	case g.receives(c):
		score += jobReceives
	}
	if c.converges > 0 {
		score = max(min(score, 0)*(1-c.converges), score, jobSendsAll*c.converges)
	}
	return score
}

// endsAtOwn reports whether the load added to a region of a grid is a tree of a job's nodes that ends at one of them.
// Such a job holds itself up: its total traffic may have fallen at the onset, as a victim's does, while the load that
// arrives at that node has grown.
func (g grid) endsAtOwn(c *suspect) bool {
	d := &g.ends.drain
	sends, onOwn := c.job == g.ends.sender && d.IsRoot(), !c.file && c.cross >= explainedStall
	if !g.ends.flooded || !sends && !onOwn {
		return false
	}
	if g.ends.endsAtNodes() {
		return c.job.Has(g.ends.endings.Any.Device)
	}
	return sends && (c.job.Has(d.Device) || d.Fit >= exactFit && g.in.hasBeside(c.job, d.Device)) ||
		onOwn && d.Meeting.IsKnown() && d.Meeting.Grew && c.job.Has(d.Meeting.Device)
}

// Doublings of the load that arrives where a region of a grid ends: up to surelyNot it shows no added load, from
// surelyMore it surely does.
const surelyNot, surelyMore = .1, .4

// holdsItselfUp is the score of that for a job, scaled by how surely more arrives there, unless the load was rerouted
// from a failed link: the nodes of a large job are everywhere, so another job's tree looks like its own.
func (g grid) holdsItselfUp(c *suspect) float64 {
	sure := max(0, min(1, (g.ends.arrives.doublings()-surelyNot)/(surelyMore-surelyNot)))
	sure = sure * (1 - g.rerouted) * (1 - g.ends.starved)
	if !c.known { // only the tree speaks
		return jobConverges * sure
	}
	moves := 1.
	if g.ends.drain.Idle {
		moves = min(1, c.evidence.strength()/moving)
	}
	return (jobConverges*(unmoved+(1-unmoved)*moves) + jobRise*(1-c.evidence.rise)*moves) * sure
}

// notSeenPenalty is the penalty of a suspect on a grid whose load does not show. Without load readings only its place
// and time speak against it, so that the more of the region's stall lies where its traffic cannot be, the less it is
// likely. If it began with the region and its traffic is unknown, its start is all there is against it, and an unlisted
// job may have begun, too, unless the added load is a tree of its nodes, or on most of its exchange.
func (g grid) notSeenPenalty(c *suspect, space float64) (against float64) {
	unseen := jobUnseen
	if !g.in.measuresLoad {
		against, unseen = jobUnplaced*(1-space), 2*jobUnseen
	}
	if c.evidence.started && !c.known && c.job != g.ends.sender && !g.loadsExchange(c.job) {
		against += unseen * timeWeight(space)
	}
	return against
}
