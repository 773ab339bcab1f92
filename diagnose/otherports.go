package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// movedAcross is the share, 0 to 1, of the load added to a full link that its hosts no longer send, or take in, by their
// other ports, which a failure cut off: hosts in several planes, or with a spare port, use those that are left.
func (rc *regionCase) movedAcross(f *history.PlacedFailure) float64 {
	if !f.Broke() || rc.root.link == schema.NoLink || rc.in.router.Paths == nil || rc.root.added < leastMoved*rc.root.carries {
		return 0
	}
	from, to := rc.in.graph.Ends(rc.root.link)
	lost := 0.
	switch {
	case !rc.in.graph.IsSwitch(from):
		lost = rc.lostAt(f, from, to, true)
	case !rc.in.graph.IsSwitch(to):
		lost = rc.lostAt(f, to, from, false)
	default:
		lost = max(rc.lostBelow(f, from, true), rc.lostBelow(f, to, false))
	}
	return min(1, lost/rc.root.added)
}

// lostBelow is lostAt of all hosts of a switch.
func (rc *regionCase) lostBelow(f *history.PlacedFailure, leaf topology.DeviceID, sends bool) (lost float64) {
	for _, l := range rc.in.graph.LinksAt(leaf) {
		from, host := rc.in.graph.Ends(l)
		if from == leaf && !rc.in.graph.IsSwitch(host) && rc.in.isFirstFrom(leaf, l) {
			lost += rc.lostAt(f, host, leaf, sends)
		}
	}
	return lost
}

// isFirstFrom reports whether a link to a host is the first of those from the same switch.
func (in *interval) isFirstFrom(leaf topology.DeviceID, l schema.LinkID) bool {
	_, host := in.graph.Ends(l)
	links := in.router.HostLinks(host)
	return links[slices.IndexFunc(links, func(own schema.LinkID) bool {
		from, _ := in.graph.Ends(own)
		return from == leaf
	})] == l
}

// lostAt is what a host of a leaf sends, or takes in, less than before by its ports to others, of any of its adapters,
// bytes/s: those that a failure cut off, with those that others cut off at the same time. 0 if the failure cut off none.
func (rc *regionCase) lostAt(f *history.PlacedFailure, host, leaf topology.DeviceID, sends bool) (lost float64) {
	links := rc.in.router.HostLinks(host)
	leadsTo := func(l schema.LinkID) topology.DeviceID {
		from, to := rc.in.graph.Ends(l)
		if sends {
			return to
		}
		return from
	}
	isElsewhere := func(l schema.LinkID) bool { return leadsTo(l) != leaf && rc.in.graph.IsSwitch(leadsTo(l)) }
	isCut := func(l schema.LinkID) bool { return isElsewhere(l) && rc.in.cutsOff(f, l, leadsTo(l), leaf) }
	if !slices.ContainsFunc(links, isCut) {
		return 0
	}
	for _, l := range links {
		if isCut(l) || isElsewhere(l) && rc.in.othersCutOff(f, l, leadsTo(l), leaf) {
			lost += rc.in.rateAt(max(0, rc.baselineUse(l).orZero()-rc.in.use(l).orZero()), l)
		}
	}
	return lost
}

// othersCutOff is cutsOff of the failures in the same interval as one: an adapter that dies takes all of its ports with
// it.
func (in *interval) othersCutOff(f *history.PlacedFailure, l schema.LinkID, leaf, other topology.DeviceID) bool {
	return slices.ContainsFunc(in.history.Failures, func(o history.PlacedFailure) bool {
		return o.Broke() && in.history.Clock.SlotOf(int64(o.Time)) == in.history.Clock.SlotOf(int64(f.Time)) && in.cutsOff(&o, l, leaf, other)
	})
}

// cutsOff reports whether a failure is of a host's link to a leaf, or of a switch or link between switches in the plane of
// that leaf, from which another leaf is not reached. The link of another host is neither.
func (in *interval) cutsOff(f *history.PlacedFailure, l schema.LinkID, leaf, other topology.DeviceID) bool {
	return slices.Contains(f.Links, l) || !in.history.PassesNothing(f) && slices.ContainsFunc(f.Devices, func(d topology.DeviceID) bool {
		return in.graph.IsSwitch(d) && in.router.Paths.Reach(d, leaf) && !in.router.Paths.Reach(d, other)
	})
}
