package diagnose

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// lastLeg is how much more the links of the last dimension count for where a way ends.
const lastLeg = 3

// sinkOf is where most of a region of a grid ends that a job loads with its file traffic: what it reads comes to all of
// its nodes, and what it writes to several storage nodes, so that there is no tree to one switch. It is nil where that is
// not so, or where one switch is known to which all leads.
func (s *Stage) sinkOf(rc *regionCase, v *verdict, p *pressure) *topology.Device {
	if v.accused == 0 || !rc.jobs[0].file || s.router.grid == nil || !s.graph.Duplex() {
		return nil
	}
	j := rc.jobs[0].job
	reads, _ := s.maximum(j, read)
	writes, _ := s.maximum(j, write)
	_, own := slices.BinarySearch(j.devices, rc.drain.device)
	var at topology.DeviceID
	found := false
	switch one := rc.drain.surely(); {
	case reads > writes && !(one && own):
		at, found = s.readerOf(rc, j)
	case writes >= reads && !one && !rc.hasPort():
		at, found = s.router.grid.writesTo(j, &s.work.held, p)
	}
	if !found {
		return nil
	}
	return s.graph.Device(at)
}

// hasPort reports whether a link of a grid, or the switch around which the region lies, is named before any other sink.
func (rc *regionCase) hasPort() bool {
	return rc.neck.before(&rc.drain) || rc.full != schema.NoLink || rc.centre.clear || rc.neck.link != schema.NoLink && rc.neck.share >= rootShare
}

// readerOf is the node of a job that reads files at which most of the region's stall may end: what its nodes do not take
// waits on the last links before each.
func (s *Stage) readerOf(rc *regionCase, j *job) (best topology.DeviceID, found bool) {
	last := int8(len(s.graph.Grid().Dims) - 1)
	most := 0.
	for _, d := range j.devices {
		sum := 0.
		for _, l := range s.graph.LinksAt(d) {
			i, inside := slices.BinarySearch(rc.region.Links, l)
			if !inside {
				continue
			}
			weight := rc.weight[i]
			if s.graph.Link(l).Dim == last { // by which all that comes from elsewhere arrives
				weight *= lastLeg
			}
			sum += weight
		}
		if sum > most {
			best, most, found = d, sum, true
		}
	}
	return best, found
}

// writesTo is the switch at the region's links at which most ends of what a job's nodes send: much more is held back on
// the links over which their routes arrive there than on those over which it would go on.
func (t *gridLinks) writesTo(j *job, h *held, p *pressure) (best topology.DeviceID, found bool) {
	most := 0.
	for _, d := range h.devices {
		if _, own := slices.BinarySearch(j.devices, d); own {
			continue
		}
		t.gather(j.devices, d, h)
		ends := 0.
		for _, l := range t.graph.LinksAt(d) {
			switch {
			case p.stallOf(l) < stalledPercent:
			case h.load[l] > 0:
				ends += p.heldBack(l)
			default:
				ends -= p.heldBack(l)
			}
		}
		h.forget()
		if ends > most {
			best, most, found = d, ends, true
		}
	}
	return best, found
}

// forget takes away the tree that was added.
func (h *held) forget() {
	for _, l := range h.touched {
		h.load[l] = 0
	}
	h.touched = h.touched[:0]
}
