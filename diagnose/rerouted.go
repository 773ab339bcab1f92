package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// leastMoved is the share of a full link's load that must have been added before its origin is sought.
const leastMoved = .1

// movedFrom is the share of the load added to a full link, since the onset or since a failure, that the failed links
// carried before: it was rerouted. 0 if no load was added.
func (s scores) movedFrom(f *history.PlacedFailure) float64 {
	if !f.Broke() || s.root.link == schema.NoLink {
		return 0
	}
	return s.ground().movedFrom(f)
}

// movedBeside is the same with directed links: the failed link is beside the full one or a hop away, or beside one that
// waits for it.
func (s scores) movedBeside(f *history.PlacedFailure) float64 {
	more := s.root.added
	if last := s.in.lastUse(f, s.root.link); last.known {
		more = max(more, s.root.carries-last.of/100*s.in.graph.Capacity(s.root.link))
	}
	if more < leastMoved*s.root.carries {
		return 0
	}
	carried := 0.
	for _, l := range f.Links {
		if l != s.root.link && s.takesOver(l) && s.in.use(l).orZero() < root.LeastUse {
			carried += max(s.baselineUse(l).orZero(), s.in.lastUse(f, l).orZero()) / 100 * s.in.graph.Capacity(l)
		}
	}
	return min(1, carried/more)
}

// movedRound is the same on a torus: traffic of a failed link goes the other way round its ring, or takes the
// dimensions in another order, over the links beside it; if the link comes back within the interval, a part of it. It
// is the share of the highest load that was added to a link at the region.
func (g grid) movedRound(f *history.PlacedFailure) (share float64) {
	if g.in.history.PassesNothing(f) {
		return 0
	}
	for _, failed := range f.Links {
		if g.in.router.Grid.Dim(failed) < 0 {
			continue
		}
		if most, instead := g.addedAround(failed); instead > 0 {
			lost := max(g.baselineUse(failed).orZero(), g.in.lastUse(f, failed).orZero()) - g.in.use(failed).orZero()
			share = max(share, min(instead, max(0, lost)/100*g.in.graph.Capacity(failed))/most)
		}
	}
	return share
}

// addedAround is the highest load added, bytes/s, to a link at a region, and to one that replaces a failed link.
func (g grid) addedAround(failed schema.LinkID) (most, instead float64) {
	add := func(at topology.DeviceID) {
		for _, l := range g.in.graph.LinksAt(at) {
			baseline := g.baselineUse(l)
			added := g.in.read.Carries(l) - baseline.of/100*g.in.graph.Capacity(l)
			if l == failed || !baseline.known || added < leastMoved*g.in.read.Carries(l) {
				continue
			}
			if most = max(most, added); g.in.router.Grid.TakesOver(l, failed) {
				instead = max(instead, added)
			}
		}
	}
	for _, l := range g.region.Links {
		from, to := g.in.graph.Ends(l)
		add(from)
		add(to)
	}
	return most, instead
}

// takesOver reports whether a region's links can carry the load of a failed link between switches instead: one of them
// leaves the same switch, or leads to the same one, or the full one is a hop before or after such a link.
func (s scores) takesOver(failed schema.LinkID) bool {
	from, to := s.in.graph.Ends(failed)
	if !s.in.graph.IsSwitch(from) || !s.in.graph.IsSwitch(to) {
		return false
	}
	beside := func(l schema.LinkID) bool {
		a, b := s.in.graph.Ends(l)
		return (a == from) != (b == to)
	}
	if beside(s.root.link) || slices.ContainsFunc(s.region.Links, beside) {
		return true
	}
	a, b := s.in.graph.Ends(s.root.link)
	return s.in.graph.IsSwitch(a) && s.in.graph.IsSwitch(b) && a != to && b != from &&
		(s.in.history.Adjacent(b, to) || s.in.history.Adjacent(from, a))
}
