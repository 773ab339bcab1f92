package diagnose

import (
	"github.com/giverny/giverny/schema"
)

// seenPart is the part of what a job fetches more that is expected on the way from one end: it may have several, and
// the load that it adds to a full link displaces others'.
const seenPart = 1. / 3

// seenOnWay is the share of the expected load that shows on the links from the switch of a grid where a region's
// traffic ends to the nodes of a suspect that fetches. It is known if its traffic grew and the region is one tree to
// that switch.
func (s scores) seenOnWay(c *suspect) (share float64, known bool) {
	grew := s.fetchGrew(c)
	if s.ends.drain.Fit == 0 || grew <= 0 {
		return 0, false
	}
	end := s.ends.drain.Device
	w := &s.in.scratch.onWay
	w.reset(s.in.graph.NumLinks())
	for _, d := range c.job.Devices {
		s.in.router.Grid.EachOnRoute(end, d, w.add)
	}
	mean := grid(s).averaged(s.p)
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
func (s scores) fetchGrew(c *suspect) float64 {
	if !c.fetches || !s.timeline.hasOnset() {
		return 0
	}
	all, _ := s.in.recentOf(c.job)
	baseline, _ := s.baselineOf(c.job)
	if all-baseline <= leastGrowth*baseline {
		return 0
	}
	return s.in.perSecond(all - baseline)
}

// onWay counts routes by link. It reuses its memory for the next job.
type onWay struct {
	routes []float64
	links  []schema.LinkID // with any
}

func (w *onWay) reset(links int) {
	if w.routes == nil {
		w.routes = make([]float64, links)
	}
	for _, l := range w.links {
		w.routes[l] = 0
	}
	w.links = w.links[:0]
}

func (w *onWay) add(l schema.LinkID) {
	if w.routes[l] == 0 {
		w.links = append(w.links, l)
	}
	w.routes[l]++
}
