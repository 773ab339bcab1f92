package diagnose

import (
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// seenPart is the part of the growth of a job's file traffic expected on the way to one end: it may have several, and the load
// that it adds to a full link displaces others'.
const seenPart = 1. / 3

// seenOnWay is the share of the expected load that shows on the links between a suspect's nodes and the switch of a grid where a
// region's traffic ends, given the growth of its file traffic: if its files are elsewhere, the links at its nodes do not lead that
// way. It is known if the traffic grew and the region is one tree to that switch, not to many that the job's files may be spread
// over.
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

// filesGrew is the growth of a suspect's file traffic since the onset, or of what it fetches, bytes/s; 0 if unknown or within noise.
func (s *Stage) filesGrew(rc *regionCase, c *suspect) float64 {
	if !c.file || !c.filesKnown && !c.fetches || rc.onset < 0 {
		return 0
	}
	all, files := s.lately(c.job)
	was, filesWas := s.earlier(rc, c.job)
	if c.fetches {
		files, filesWas = all, was
	}
	if files-filesWas <= leastGrowth*filesWas {
		return 0
	}
	return (files - filesWas) * 1e9 / float64(s.clock.duration)
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
