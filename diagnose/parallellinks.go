package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// mostParallel is the share of parallel links that failed from which on what is left is full because of that: half of
// the links carry twice the load.
const mostParallel = .5

// carriesForDead is how surely, 0 to 1, a full link is full because it carries what links parallel to it do not since a
// failure, from before which no load is remembered. Equal-cost multipath and bonding spread load equally over parallel
// links, so that without a failure of d of n links each would carry the part 1-d/n of what the others carry now.
func (rc *regionCase) carriesForDead(f *history.PlacedFailure) float64 {
	if !f.Broke() || !rc.in.measuresLoad || rc.root.link == schema.NoLink || rc.timeline.hasOnset() || rc.in.router.Paths == nil {
		return 0
	}
	dead, live, isOne := 0., 0., false
	for _, l := range rc.in.parallelTo(rc.root.link) {
		switch use := rc.in.use(l); {
		case use.known && use.of >= root.LeastUse:
			live++
		case slices.Contains(f.Links, l) && !rc.in.lastUse(f, l).known:
			dead, isOne = dead+1, true
		case rc.in.isBroken(l):
			dead++
		}
	}
	if !isOne || live == 0 {
		return 0
	}
	return ramp(dead/(dead+live), leastMoved, mostParallel)
}

// parallelTo lists the links that share the load of one, in its direction: those of its host, by any adapter, or those
// of its lower switch to switches above. It is among them.
func (in *interval) parallelTo(l schema.LinkID) (parallel []schema.LinkID) {
	from, to := in.graph.Ends(l)
	lower := from
	switch {
	case !in.graph.IsSwitch(from):
	case !in.graph.IsSwitch(to):
		lower = to
	default:
		lower = in.lower(from, to)
	}
	links := in.graph.LinksAt(lower)
	if !in.graph.IsSwitch(lower) {
		links = in.router.HostLinks(lower)
	}
	for _, p := range links {
		a, b := in.graph.Ends(p)
		if lower == to {
			a, b = b, a
		}
		if in.isAbove(a, b, lower) {
			parallel = append(parallel, p)
		}
	}
	return parallel
}

// isAbove reports whether a link's end a is a switch lower, or a host, and b is a switch above it.
func (in *interval) isAbove(a, b, lower topology.DeviceID) bool {
	if !in.graph.IsSwitch(lower) {
		return !in.graph.IsSwitch(a) && in.graph.IsSwitch(b)
	}
	return a == lower && in.graph.IsSwitch(b) && in.graph.Device(b).Level > in.graph.Device(a).Level
}

// isBroken reports whether a logged failure is of a link.
func (in *interval) isBroken(l schema.LinkID) bool {
	return slices.ContainsFunc(in.history.Failures, func(f history.PlacedFailure) bool {
		return f.Broke() && slices.Contains(f.Links, l)
	})
}
