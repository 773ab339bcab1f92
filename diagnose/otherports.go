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
	links := in.graph.LinksAt(host)
	return links[slices.IndexFunc(links, func(own schema.LinkID) bool {
		from, _ := in.graph.Ends(own)
		return from == leaf
	})] == l
}

// lostAt is what a host of a leaf sends, or takes in, less than before by its ports to others that a failure cut off,
// bytes/s.
func (rc *regionCase) lostAt(f *history.PlacedFailure, host, leaf topology.DeviceID, sends bool) (lost float64) {
	if leaves := rc.in.router.LeavesOf(host); len(leaves) < 2 || !slices.Contains(leaves, leaf) {
		return 0
	}
	for _, l := range rc.in.graph.LinksAt(host) {
		from, _ := rc.in.graph.Ends(l)
		if other := rc.in.graph.OtherEnd(l, host); other != leaf && (from == host) == sends && rc.in.cutsOff(f, l, other, leaf) {
			lost += rc.in.rateAt(max(0, rc.baselineUse(l).orZero()-rc.in.use(l).orZero()), l)
		}
	}
	return lost
}

// cutsOff reports whether a failure is of a host's link to a leaf, or of a switch in the plane of that leaf, from which
// another leaf is not reached.
func (in *interval) cutsOff(f *history.PlacedFailure, l schema.LinkID, leaf, other topology.DeviceID) bool {
	return slices.Contains(f.Links, l) || slices.ContainsFunc(f.Devices, func(d topology.DeviceID) bool {
		return in.graph.IsSwitch(d) && in.router.Paths.Reach(d, leaf) && !in.router.Paths.Reach(d, other)
	})
}
