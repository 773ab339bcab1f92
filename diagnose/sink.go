package diagnose

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// lastLeg is the weight of links of the last dimension in finding where a route ends.
const lastLeg = 3

// readerAt is the node where most of a region of a grid ends if it is blamed on a file-reading job: what that reads goes to all its
// nodes, so there is no tree to one switch, unless one of its nodes is the root of the drain. Else nil.
func (s *Stage) readerAt(rc *regionCase, v *verdict) *topology.Device {
	if v.accused == 0 || !rc.jobs[0].file || s.router.Grid == nil || !s.graph.Duplex() {
		return nil
	}
	j := rc.jobs[0].job
	reads, _ := s.maximum(j, read)
	writes, _ := s.maximum(j, write)
	if reads <= writes {
		return nil
	}
	if j.has(rc.drain.Device) && rc.drain.IsRoot() {
		return s.graph.Device(rc.drain.Device)
	}
	at, found := s.readerOf(rc, j)
	if !found {
		return nil
	}
	return s.graph.Device(at)
}

// readerOf is the node of a file-reading job where most of the region's stall may end: what its nodes do not take waits
// on the last links before each.
func (s *Stage) readerOf(rc *regionCase, j *job) (best topology.DeviceID, found bool) {
	last := int8(len(s.graph.Grid().Dims) - 1)
	most := 0.
	for _, d := range s.devicesAt(rc.region.Links) {
		if !j.has(d) {
			continue
		}
		sum := 0.
		for _, l := range s.graph.LinksAt(d) {
			i, inside := slices.BinarySearch(rc.region.Links, l)
			if !inside {
				continue
			}
			weight := rc.weight[i]
			if s.graph.Link(l).Dim == last { // by which traffic from elsewhere arrives
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

// devicesAt returns the devices at the ends of links, ascending, valid until the next call.
func (s *Stage) devicesAt(links []schema.LinkID) []topology.DeviceID {
	devices := s.work.devices[:0]
	for _, l := range links {
		from, to := s.graph.Ends(l)
		devices = append(devices, from, to)
	}
	s.work.devices = devices
	slices.Sort(devices)
	return slices.Compact(devices)
}
