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

// movedFrom is the share of the load added to a full link, since the onset or since a failure, that the failed links carried
// before: it was rerouted. On a tree the failed link is beside the full one or a hop away, or beside one that waits for it. 0 if no
// load was added.
func (rc *regionCase) movedFrom(f *history.PlacedFailure) float64 {
	if !f.Broke() || rc.fullest == schema.NoLink {
		return 0
	}
	if rc.router.Grid != nil && rc.graph.Duplex() {
		return rc.movedRound(f)
	}
	more := rc.more
	if was := rc.history.LastUse(f, rc.fullest); was >= 0 {
		more = max(more, rc.carries-was/100*rc.graph.Capacity(rc.fullest))
	}
	if more < leastMoved*rc.carries {
		return 0
	}
	carried := 0.
	for _, l := range f.Links {
		if l != rc.fullest && rc.takesOver(l) && rc.p.UseOf(l) < root.LeastUse {
			carried += max(0, rc.p.Before(l), rc.history.LastUse(f, l)) / 100 * rc.graph.Capacity(l)
		}
	}
	return min(1, carried/more)
}

// movedRound is the same on a torus: traffic of a failed link goes the other way round its ring, or takes the dimensions in
// another order, over the links beside it; if the link comes back within the interval, a part of it. It is the share of the highest
// load that was added to a link at the region.
func (rc *regionCase) movedRound(f *history.PlacedFailure) (share float64) {
	if rc.history.PassesNothing(f) {
		return 0
	}
	for _, failed := range f.Links {
		if rc.router.Grid.Dim(failed) < 0 {
			continue
		}
		if most, instead := rc.addedAround(failed); instead > 0 {
			lost := max(rc.p.Before(failed), rc.history.LastUse(f, failed)) - max(0, rc.p.UseOf(failed))
			share = max(share, min(instead, max(0, lost)/100*rc.graph.Capacity(failed))/most)
		}
	}
	return share
}

// addedAround is the highest load added, bytes/s, to a link at a region, and to one that replaces a failed link.
func (rc *regionCase) addedAround(failed schema.LinkID) (most, instead float64) {
	add := func(at topology.DeviceID) {
		for _, l := range rc.graph.LinksAt(at) {
			added := rc.p.Carries(l) - rc.p.Before(l)/100*rc.graph.Capacity(l)
			if l == failed || rc.p.Before(l) < 0 || added < leastMoved*rc.p.Carries(l) {
				continue
			}
			if most = max(most, added); rc.router.Grid.TakesOver(l, failed) {
				instead = max(instead, added)
			}
		}
	}
	for _, l := range rc.region.Links {
		from, to := rc.graph.Ends(l)
		add(from)
		add(to)
	}
	return most, instead
}

// takesOver reports whether a region's links can carry the load of a failed link between switches instead: one of them
// leaves the same switch, or leads to the same one, or the full one is a hop before or after such a link.
func (rc *regionCase) takesOver(failed schema.LinkID) bool {
	from, to := rc.graph.Ends(failed)
	if !rc.graph.IsSwitch(from) || !rc.graph.IsSwitch(to) {
		return false
	}
	beside := func(l schema.LinkID) bool {
		a, b := rc.graph.Ends(l)
		return (a == from) != (b == to)
	}
	if beside(rc.fullest) || slices.ContainsFunc(rc.region.Links, beside) {
		return true
	}
	a, b := rc.graph.Ends(rc.fullest)
	return rc.graph.IsSwitch(a) && rc.graph.IsSwitch(b) && a != to && b != from && (rc.history.Adjacent(b, to) || rc.history.Adjacent(from, a))
}
