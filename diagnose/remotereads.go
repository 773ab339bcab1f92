package diagnose

import (
	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
)

// negligible is the part of what a job's traffic grew by below which its traffic with files is no evidence: what it
// moves beside that congests.
const negligible = .05

// hasNegligibleFiles reports whether the traffic of a job that grew since the onset of a region, or if that is unknown
// its traffic, is all but that with files.
func (rc *regionCase) hasNegligibleFiles(j *job) bool {
	recent, before := rc.in.recentOf(j), rc.baselineOf(j)
	return recent.all > before.all && recent.files-before.files < negligible*(recent.all-before.all)
}

// A job may fetch what it reads by RDMA from elsewhere, such as storage nodes, if at most fetchCross of the region's
// stall is on links of its own exchange, or at its border, and its traffic doubled. Of a job that itself began then
// that says nothing.
const fetchCross = .25

// mayFetch reports whether a suspect may fetch.
func (rc *regionCase) mayFetch(c *suspect) bool {
	return rc.timeline.hasOnset() && !c.evidence.started && max(c.cross, c.gate) <= fetchCross && rc.doubled(c.job)
}

// doubled reports whether a job moves more than twice what it did before the onset of a region.
func (rc *regionCase) doubled(j *job) bool {
	return rc.in.recentOf(j).all > 2*rc.baselineOf(j).all
}

// fetches reports whether the RDMA reads of a suspect that may fetch are what stands out, and follow the stall: the
// table has them not as traffic with files, but they are with others than its nodes.
func (rc *regionCase) fetches(c *suspect) bool {
	return c.feature == history.RDMARead && c.evidence.Correlation >= readsCorrelation && c.evidence.P <= readsP &&
		rc.mayFetch(c)
}

// seenPart is the part of what a job fetches more that is expected on the way from one end: it may have several, and
// the load that it adds to a full link displaces others'.
const seenPart = 1. / 3

// seenOnWay is the share of the expected load that shows on the links from the switch of a grid where a region's
// traffic ends to the nodes of a suspect that fetches. It is known if its traffic grew and the region is one tree to
// that switch.
func (rc *regionCase) seenOnWay(c *suspect) (share float64, known bool) {
	grew := rc.fetchGrew(c)
	if rc.ends.drain.Fit == 0 || grew <= 0 {
		return 0, false
	}
	end := rc.ends.drain.Device
	w := &rc.in.scratch.onWay
	w.reset(rc.in.graph.NumLinks())
	for _, d := range c.job.Devices {
		rc.in.router.Grid.EachOnRoute(end, d, w.add)
	}
	mean := grid{rc}.averaged(rc.pressure)
	unit, seen, all := seenPart*grew/float64(len(c.job.Devices)), 0., 0.
	for _, l := range w.links {
		if added, measured := mean.Added(l); measured {
			adds := unit * w.routes[l]
			all += adds
			seen += max(-adds, min(adds, added))
		}
	}
	if all == 0 {
		return 0, false
	}
	return max(0, seen/all), true
}

// fetchGrew is the growth of the traffic of a suspect that fetches since the onset, bytes/s; 0 if it does not, or
// within noise.
func (rc *regionCase) fetchGrew(c *suspect) float64 {
	if !c.fetches || !rc.timeline.hasOnset() {
		return 0
	}
	all, baseline := rc.in.recentOf(c.job).all, rc.baselineOf(c.job).all
	if all-baseline <= leastGrowth*baseline {
		return 0
	}
	return rc.in.perSecond(all - baseline)
}

// onWay counts routes by link. It reuses its memory for the next job.
type onWay struct {
	routes []float64
	links  []schema.LinkID // with any
}

// reset removes the routes of the job before.
func (w *onWay) reset(links int) {
	if w.routes == nil {
		w.routes = make([]float64, links)
	}
	for _, l := range w.links {
		w.routes[l] = 0
	}
	w.links = w.links[:0]
}

// add counts a route over a link.
func (w *onWay) add(l schema.LinkID) {
	if w.routes[l] == 0 {
		w.links = append(w.links, l)
	}
	w.routes[l]++
}
