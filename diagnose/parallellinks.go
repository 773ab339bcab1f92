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

// parallelLinks are the links parallel to a full one, with it, by whether they carry traffic.
type parallelLinks struct {
	live   int
	idle   []schema.LinkID
	broken int // of idle: of a logged failure
	known  bool
}

// carriesForDead is how surely, 0 to 1, a full link is full because it carries what links parallel to it do not since a
// failure, from before which no load is remembered. Equal-cost multipath and bonding spread load equally over parallel
// links, so that without a failure of d of n links each would carry the part 1-d/n of what the others carry now.
func (rc *regionCase) carriesForDead(f *history.PlacedFailure) float64 {
	if !f.Broke() || !rc.in.measuresLoad || rc.root.link == schema.NoLink || rc.timeline.hasOnset() || rc.in.router.Paths == nil {
		return 0
	}
	p := rc.parallelToRoot()
	dead, isOne := p.broken, false
	for _, l := range f.Links {
		if !slices.Contains(p.idle, l) || rc.in.lastUse(f, l).known {
			continue
		}
		if isOne = true; !rc.in.isBroken(l) { // only counters show it
			dead++
		}
	}
	if !isOne || p.live == 0 {
		return 0
	}
	return ramp(float64(dead)/float64(dead+p.live), leastMoved, mostParallel)
}

// parallelToRoot finds the links parallel to the full link of a region, once.
func (rc *regionCase) parallelToRoot() *parallelLinks {
	p := &rc.parallel
	if p.known {
		return p
	}
	p.known = true
	for _, l := range rc.in.parallelTo(rc.root.link) {
		if use := rc.in.use(l); use.known && use.of >= root.LeastUse {
			p.live++
			continue
		}
		if p.idle = append(p.idle, l); rc.in.isBroken(l) {
			p.broken++
		}
	}
	return p
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
