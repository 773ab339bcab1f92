package diagnose

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/diagnose/root"
)

// A job loads its exchange on a grid if on loadedWays of it at least root.LeastUse of the capacity was added since the
// onset. Without a traffic table, it then loads a region as far as the growth of its exchange, its median over the
// exchange's links, explains the load that was added to the region's links: from fitsLeast of that on, surely from
// fitsMost. Traffic that crosses a job's ground, or converges within it, loads few of its links, and unevenly.
const loadedWays, fitsLeast, fitsMost = .5, .3, .6

// exchangeLoad is what was added to a job's exchange since the onset of a round of past.
type exchangeLoad struct {
	known bool
	round uint32
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
	return max(0, min(1, (fits/all-fitsLeast)/(fitsMost-fitsLeast)))
}

// loadsExchange reports whether load was added since the onset on most of a job's exchange: a tree of its nodes to one
// of them has a small part of that.
func (rc *regionCase) loadsExchange(j *job) bool {
	if j.exchange.known && j.exchange.round == rc.p.Since {
		return j.exchange.most
	}
	r, loaded, grew := rc.in.routesOf(j), 0., rc.in.scratch.growths[:0]
	for i, l := range r.Links {
		load, added := float64(r.Load[i]), rc.in.use(l).orZero()-rc.baselineUse(l).orZero()
		if added >= root.LeastUse {
			loaded += load
		}
		grew = append(grew, growth{added / 100 * rc.in.graph.Capacity(l) / load, load})
	}
	rc.in.scratch.growths = grew
	j.exchange = exchangeLoad{known: true, round: rc.p.Since, most: loaded >= loadedWays*r.Total}
	slices.SortFunc(grew, func(a, b growth) int { return cmp.Compare(a.by, b.by) })
	for half, i := .5*r.Total, 0; i < len(grew) && half > 0; i++ {
		half -= grew[i].load
		j.exchange.grew = max(0, grew[i].by)
	}
	return j.exchange.most
}
