package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// seenPart is the part of what a job's traffic with files grew by that is sought on its way to one end: it may have several, and
// what it adds to a full link others lose.
const seenPart = 1. / 3

// seenOnWay is, of what the growth of a suspect's traffic with files adds to the links between its nodes and the switch of a grid
// at which a region's traffic ends, the share that these show: of a job whose files are elsewhere the links at its nodes do not
// lead that way. It is known where the region is one tree to that switch, not to many that the job's files are spread over, and the
// traffic grew.
func (s *Stage) seenOnWay(rc *regionCase, c *suspect, p *root.Pressure) (share float64, known bool) {
	grew := s.filesGrew(rc, c)
	if !s.graph.Duplex() || rc.drain.Fit == 0 || grew <= 0 {
		return 0, false
	}
	end := rc.drain.Device
	w := &s.work.onWay
	w.reset(s.graph.NumLinks())
	for _, d := range c.job.devices {
		if c.feature == read || c.feature == rdmaRead {
			s.router.Grid.EachOnRoute(end, d, w.add)
		} else {
			s.router.Grid.EachOnRoute(d, end, w.add)
		}
	}
	p = s.averaged(rc, p)
	unit, seen, all := seenPart*grew/float64(len(c.job.devices)), 0., 0.
	for _, l := range w.links {
		if added, measured := p.Added(l); measured {
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

// filesGrew is by how much a suspect's traffic with files grew since the onset, bytes/s; 0 if that is not known, or no more than
// noise.
func (s *Stage) filesGrew(rc *regionCase, c *suspect) float64 {
	if !c.file || !c.filesKnown || rc.onset < 0 {
		return 0
	}
	_, files := s.lately(c.job)
	_, was := s.earlier(rc, c.job)
	if files-was <= leastGrowth*was {
		return 0
	}
	return (files - was) * 1e9 / float64(s.clock.duration)
}

// onWay counts routes by link. Its memory is used again by the next job.
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
