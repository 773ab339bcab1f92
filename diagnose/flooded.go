package diagnose

import "github.com/giverny/giverny/topology"

// floods reports whether load was added where the traffic of a region on a grid ends. Full buffers hold up what others
// send over the same links, so that a region may carry less in all while what holds it up is load: what is added shows
// on some of its links, or more arrives at the switch that it converges on. A host that takes little lets less arrive.
func (s *Stage) floods(rc *regionCase, p *pressure) bool {
	d := &rc.drain
	if !s.graph.Duplex() || rc.onset < 0 {
		return false
	}
	if d.grew || d.meeting.grew {
		return true
	}
	end, known := d.end()
	if !known {
		return false
	}
	now, before := 0., 0.
	for _, l := range s.graph.LinksAt(end) {
		if was := p.before(l); was >= 0 && p.useOf(l) >= 0 {
			now += p.carries(l)
			before += was / 100 * s.graph.Capacity(l)
		}
	}
	return now > steadyLoad*before
}

// end is the switch at which the traffic of a region ends, as far as it is known.
func (d *drain) end() (end topology.DeviceID, known bool) {
	if d.fit > 0 {
		return d.device, true
	}
	return d.meeting.device, d.meeting.known()
}

// arrivesMore is what the links at the end of a region's traffic carry beyond what they did before the onset, bytes/s: who
// sent it moves at least a part of that.
func (s *Stage) arrivesMore(rc *regionCase, p *pressure) (sum float64) {
	end, known := rc.drain.end()
	if !known || !rc.flooded {
		return 0
	}
	for _, l := range s.graph.LinksAt(end) {
		if was := p.before(l); was >= 0 {
			sum += max(0, p.carries(l)-was/100*s.graph.Capacity(l))
		}
	}
	return sum
}
