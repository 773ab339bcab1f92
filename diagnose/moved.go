package diagnose

import (
	"slices"

	"github.com/giverny/giverny/schema"
)

// leastMoved is what must have been added to a full link, of what it carries, before it is asked where that was.
const leastMoved = .1

// moved is the share of what was added to a full link of a tree, since the onset or since something failed, that the failed
// links carried before: routes over other links took it over. The full link is beside one that failed, or what waits for it
// is. 0 where nothing was added.
func (s *Stage) moved(rc *regionCase, f *failure, p *pressure) float64 {
	if s.graph.Duplex() || !f.broke() || rc.fullest == schema.NoLink {
		return 0
	}
	more := rc.more
	if was := s.lastUse(f, rc.fullest); was >= 0 {
		more = max(more, rc.carries-was/100*s.graph.Capacity(rc.fullest))
	}
	if more < leastMoved*rc.carries {
		return 0
	}
	carried := 0.
	for _, l := range f.links {
		if l != rc.fullest && s.takesOver(rc, l) && p.useOf(l) < leastUse {
			carried += max(0, p.before(l), s.lastUse(f, l)) / 100 * s.graph.Capacity(l)
		}
	}
	return min(1, carried/more)
}

// takesOver reports whether what a link between switches carried can be on a region's links instead: one of them leaves the
// same switch, or leads to the same one.
func (s *Stage) takesOver(rc *regionCase, failed schema.LinkID) bool {
	from, to := s.graph.Ends(failed)
	if !s.graph.IsSwitch(from) || !s.graph.IsSwitch(to) {
		return false
	}
	beside := func(l schema.LinkID) bool {
		a, b := s.graph.Ends(l)
		return (a == from) != (b == to)
	}
	return beside(rc.fullest) || slices.ContainsFunc(rc.region.Links, beside)
}

// lastUse is what a link carried in the two intervals before a failure, percent of its capacity; -1 if that is not
// remembered. Jobs may have begun since the time that the region's onset is compared with.
func (s *Stage) lastUse(f *failure, l schema.LinkID) float64 {
	use, slot := s.memory.metrics[schema.BandwidthUsed], s.clock.slotOf(int64(f.Time))
	if use == nil {
		return -1
	}
	return use.over(max(slot-2, s.oldest(use)), slot-1, l)
}
