package diagnose

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// lastLeg is how much more the links of the last dimension count for where a way ends.
const lastLeg = 3

// readerAt is where most of a region of a grid ends that a job loads by reading files: what it reads comes to all of its
// nodes, so that there is no tree to one switch, unless one node of the job is known to which all leads. It is nil where that is not so.
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
	if _, own := slices.BinarySearch(j.devices, rc.drain.Device); own && rc.drain.IsRoot() {
		return s.graph.Device(rc.drain.Device)
	}
	at, found := s.readerOf(rc, j)
	if !found {
		return nil
	}
	return s.graph.Device(at)
}

// readerOf is the node of a job that reads files at which most of the region's stall may end: what its nodes do not take
// waits on the last links before each.
func (s *Stage) readerOf(rc *regionCase, j *job) (best topology.DeviceID, found bool) {
	last := int8(len(s.graph.Grid().Dims) - 1)
	most := 0.
	for _, d := range s.devicesAt(rc.region.Links) {
		if _, own := slices.BinarySearch(j.devices, d); !own {
			continue
		}
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

// devicesAt are the devices at the ends of links, ascending, until the next call.
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
