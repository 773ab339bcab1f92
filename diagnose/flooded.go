package diagnose

// floods reports whether load was added where the traffic of a region on a grid ends. Full buffers hold up what others
// send over the same links, so that a region may carry less in all while what holds it up is load: what is added shows
// on some of its links, and on those before the switch that it converges on. A host that takes little adds none.
func (s *Stage) floods(rc *regionCase, p *pressure) bool {
	if !s.graph.Duplex() || rc.onset < 0 {
		return false
	}
	if rc.drain.grew || rc.drain.meeting.grew {
		return true
	}
	if rc.drain.fit == 0 {
		return false
	}
	now, before := 0., 0.
	for _, l := range s.graph.LinksAt(rc.drain.device) {
		if was := p.before(l); was >= 0 && p.useOf(l) >= 0 && p.stallOf(l) >= stalledPercent {
			now += p.useOf(l) / 100 * s.graph.Capacity(l)
			before += was / 100 * s.graph.Capacity(l)
		}
	}
	return now-before > grewShare*now
}
