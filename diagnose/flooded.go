package diagnose

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
	end := d.device
	if d.fit == 0 {
		if !d.meeting.known() {
			return false
		}
		end = d.meeting.device
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
