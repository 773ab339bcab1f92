package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// endScore is the evidence by where the region's traffic ends.
func (g grid) endScore(c *suspect) (score float64) {
	switch {
	case g.cannotEndAt(c):
		score = -jobTooLittle
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

// fewSenders is the share of a tree's senders below which a job is not the sender.
const fewSenders = .25

// excludes reports whether the region is a tree that the job does not send: few of its senders are nodes of the job,
// and it does not end at one. Jobs with file traffic are not excluded, as storage nodes send it.
func (g grid) excludes(c *suspect) bool {
	d := &g.ends.drain
	if !d.IsCertain() || c.job == g.ends.sender || c.file || c.job.Has(d.Device) {
		return false
	}
	n := 0
	for _, s := range d.Senders {
		if c.job.Has(s) {
			n++
		}
	}
	return float64(n) < fewSenders*float64(len(d.Senders))
}

// cannotEndAt reports whether stall has its centre at the nodes of a switch, where no load shows more, and none of a
// suspect's traffic ends there: it has no file traffic, and no node there or beside.
func (g grid) cannotEndAt(c *suspect) bool {
	return !g.in.measuresLoad && g.endsOutside(c.job) && c.filesKnown && !c.file
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
	sure := ramp(g.ends.arrives.doublings(), surelyNot, surelyMore)
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

// unplacedPenalty is the penalty of a suspect on a grid without load readings: only its place and time speak against it,
// so that the more of the region's stall lies where its traffic cannot be, the less it is likely.
func (g grid) unplacedPenalty(space float64) float64 {
	if g.in.measuresLoad {
		return 0
	}
	return jobUnplaced * (1 - space)
}

// A job loads its exchange on a grid if on loadedWays of it at least root.LeastUse of the capacity was added since the
// onset. Without a traffic table, it then loads a region as far as the growth of its exchange, its median over the
// exchange's links, explains the load that was added to the region's links: from fitsLeast of that on, surely from
// fitsMost. Traffic that crosses a job's ground, or converges within it, loads few of its links, and unevenly. What was
// added to the links that its exchange does not use is of others, who add as much to its own.
const loadedWays, fitsLeast, fitsMost = .5, .3, .6

// exchangeLoad is what was added to a job's exchange since the onset, for one past.
type exchangeLoad struct {
	known bool
	past  uint32  // its number (root.Past)
	most  bool    // on most of it
	grew  float64 // bytes/s added to a link by its load in the exchange: the median over all of it
}

// growth is what was added to a link, by its load in an exchange.
type growth struct{ by, load float64 }

// loadsAll is how surely a job's exchange is the load added since the onset to a region of a grid, 0 to 1.
func (g grid) loadsAll(c *suspect) float64 {
	if c.cross == 0 || !g.load.isAbove(risen) || !g.loadsExchange(c.job) {
		return 0
	}
	set, all, fits := g.in.routesOf(c.job), 0., 0.
	for k, l := range g.region.Links {
		all += g.waits[k] * g.addedByLink[k]
		fits += g.waits[k] * min(g.addedByLink[k], 100*c.job.exchange.grew*set.On(l))
	}
	if all == 0 {
		return 0
	}
	return ramp(fits/all, fitsLeast, fitsMost)
}

// loadsExchange reports whether load was added since the onset on most of a job's exchange: a tree of its nodes to one
// of them has a small part of that.
func (rc *regionCase) loadsExchange(j *job) bool {
	if j.exchange.known && j.exchange.past == rc.pressure.Number {
		return j.exchange.most
	}
	r, loaded, grew := rc.in.routesOf(j), 0., rc.in.scratch.growths[:0]
	others := rc.addedBeside(r)
	for i, l := range r.Links {
		load, added := float64(r.Load[i]), rc.addedTo(l)-others
		if added >= root.LeastUse/100.*rc.in.graph.Capacity(l) {
			loaded += load
		}
		grew = append(grew, growth{added / load, load})
	}
	rc.in.scratch.growths = grew
	j.exchange = exchangeLoad{known: true, past: rc.pressure.Number, most: loaded >= loadedWays*r.Total}
	slices.SortFunc(grew, func(a, b growth) int { return cmp.Compare(a.by, b.by) })
	for half, i := .5*r.Total, 0; i < len(grew) && half > 0; i++ {
		half -= grew[i].load
		j.exchange.grew = max(0, grew[i].by)
	}
	return j.exchange.most
}

// addedOnGrid is what was added to all links of a grid since the onset, for one past.
type addedOnGrid struct {
	slot  int64
	past  uint32  // its number (root.Past)
	sum   float64 // bytes/s
	links int
}

// addedBeside is the mean load added since the onset to the links that an exchange does not use, bytes/s.
func (rc *regionCase) addedBeside(r *routes.Set) float64 {
	all := &rc.in.scratch.added
	if now := rc.in.history.Clock.Now; all.links == 0 || all.slot != now || all.past != rc.pressure.Number {
		*all = addedOnGrid{slot: now, past: rc.pressure.Number}
		grid := rc.in.router.Grid
		for l := range schema.LinkID(rc.in.graph.NumLinks()) {
			if grid == nil || grid.Dim(l) >= 0 {
				all.sum, all.links = all.sum+rc.addedTo(l), all.links+1
			}
		}
	}
	sum := all.sum
	for _, l := range r.Links {
		sum -= rc.addedTo(l)
	}
	return max(0, sum/float64(max(1, all.links-len(r.Links))))
}

// A region's share of switches without a listed job that exceeds that of the whole grid by usualEmpty is evidence of a
// job that no table lists, jobEmpty a share, against exchanges of listed jobs: those congest the ground between their
// own nodes. Exchanges that were right to accuse had shares of up to .1 more.
const usualEmpty = .05

// findEmpty sets by how much a region of a grid lies more on switches without a listed job than the grid has such
// switches.
func (g grid) findEmpty() {
	if g.in.router.Grid == nil {
		return
	}
	empty, all := 0, 1
	for _, l := range g.region.Links {
		from, to := g.in.graph.Ends(l)
		for _, d := range [2]topology.DeviceID{from, to} {
			if len(g.in.tenants[d]) == 0 {
				empty++
			}
		}
	}
	for _, n := range g.in.router.Grid.Dims() {
		all *= n
	}
	g.emptyExcess = float64(empty)/float64(2*len(g.region.Links)) - 1 + float64(g.in.occupied)/float64(all)
}

// emptyGroundPenalty is the penalty of a suspect's exchange for a region that lies where no listed job is. Files lie
// there as well.
func (g grid) emptyGroundPenalty(c *suspect) float64 {
	if c.file || !c.known {
		return 0
	}
	return jobEmpty * max(0, g.emptyExcess-usualEmpty)
}
