package diagnose

import "github.com/giverny/giverny/schema"

// leastMoved is what must have been added to a full link, of what it carries, before it is asked where that was.
const leastMoved = .1

// moved is the share of what was added to a full link of a tree that a link beside it carried when that failed: routes
// over the other link to or from the same switch took its traffic over. 0 where nothing was added, or nothing failed there.
func (s *Stage) moved(rc *regionCase, f *failure, p *pressure) float64 {
	if s.graph.Duplex() || !f.broke() || rc.fullest == schema.NoLink || rc.more < leastMoved*rc.carries {
		return 0
	}
	from, to := s.graph.Ends(rc.fullest)
	carried := 0.
	for i, l := range f.links {
		if a, b := s.graph.Ends(l); l != rc.fullest && (a == from || b == to) && p.useOf(l) < leastUse {
			carried += max(0, p.before(l), s.lastUse(f, i)) / 100 * s.graph.Capacity(l)
		}
	}
	return min(1, carried/rc.more)
}

// lastUse is what one of the links that failed carried in the interval before, percent of its capacity; 0 if that is not
// remembered. Jobs may have begun since the time that the region's onset is compared with.
func (s *Stage) lastUse(f *failure, i int) float64 {
	use, slot := s.memory.metrics[schema.BandwidthUsed], s.clock.slotOf(int64(f.Time))-1
	if use == nil || slot < s.clock.first || slot <= s.clock.now-int64(use.length) {
		return 0
	}
	if m := use.mean(slot, f.links[i:i+1]); !isMissing(m) {
		return float64(m)
	}
	return 0
}
