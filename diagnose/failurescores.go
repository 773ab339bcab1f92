package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// rateFailure rates a failure by the time from it to the region's onset, and its distance. It also returns the share
// of the added load that moved from it, as far as the failure is sure. A failure at a time when the region stalled as
// it does now did not cause it.
func (rc *regionCase) rateFailure(f *history.PlacedFailure, hops int, sure float64) (score, moved float64) {
	if rc.timeline.foundStalled(f.Time) {
		return leastScore, 0
	}
	coincidence := .5 // the onset is unknown
	switch {
	case rc.timeline.burst != noOnset:
		at := rc.in.history.Clock.SlotOf(int64(f.Time))
		coincidence = coincidenceOf(rc.timeline.burstBegan() - at)
		if rc.failsAgain(f) {
			coincidence = max(coincidence, coincidenceOf(rc.timeline.firstBegan()-at))
		}
	case rc.timeline.old:
		coincidence = -.5
	}
	if !f.Broke() && coincidence > 0 {
		coincidence *= restoredShare
	}
	if coincidence > 0 && (rc.in.history.PassesNothing(f) || rc.in.history.WasIdle(f)) {
		coincidence *= hostShare
	}
	across := max(rc.movedAcross(f), rc.carriesForDead(f))
	moved = sure * max(across, rc.movedFrom(f))
	coincidence = max(coincidence, moved)
	score = failureBias + failureOnset*coincidence + failureNear*[...]float64{1, .5, .2, .1}[min(rc.hopsBeyond(f, hops), 3)]
	if score += failureMoved*moved - (1-moved)*rc.rose(); !rc.endsAtFailed(f) {
		score -= endsElsewhere(1 - rc.ends.nodesProbability())
	}
	if rc.back.IsIncast() && !slices.Contains(f.Links, rc.back.Root.Link) {
		score -= incastLoad * (1 - across)
	}
	return score, moved
}

// hopsBeyond is how far a region of a grid is from where what failed can stall traffic, given how far it is from that: no
// link of a dead switch carries anything, so that what goes round it stalls one hop from it or further.
func (rc *regionCase) hopsBeyond(f *history.PlacedFailure, hops int) int {
	if rc.in.router.Grid == nil || f.Port != "" || !f.Broke() || hops == 0 || rc.in.history.PassesNothing(f) {
		return hops
	}
	return hops - 1
}

// failsAgain reports whether the part of a failure failed again just before a region's last burst or since: a region that
// waits for a part pauses while that works, so that what agrees in time is its first failure with the first onset.
func (rc *regionCase) failsAgain(f *history.PlacedFailure) bool {
	if !f.Broke() || !rc.timeline.hasOnset() || rc.timeline.firstOnset() == noOnset {
		return false
	}
	last := rc.in.lastFailed[f.Part()]
	return last > f.Time && rc.timeline.burstBegan()-rc.in.history.Clock.SlotOf(int64(last)) <= settle
}

// findLastFailed finds when each part that failed did so last.
func (in *interval) findLastFailed() {
	clear(in.lastFailed)
	for i := range in.history.Failures { // by time
		if f := &in.history.Failures[i]; f.Broke() {
			in.lastFailed[f.Part()] = f.Time
		}
	}
}

// coincidenceOf is how well a failure agrees in time with a burst that began some intervals after it.
func coincidenceOf(after int64) float64 {
	switch {
	case after < -1:
		return -.5 // the region was there before
	case after <= 2:
		return 1
	}
	return max(.1, 1-.12*float64(after-2))
}

// endsAtFailed reports whether the traffic of a region of a grid seems to end at a switch of a failed part, or beside
// it: what waits for a dead link does.
func (rc *regionCase) endsAtFailed(f *history.PlacedFailure) bool {
	return rc.ends.endings.Nodes.Found && rc.in.anyBeside(f.Devices, rc.ends.endings.Nodes.Device) ||
		rc.ends.drain.Fit > 0 && rc.in.anyBeside(f.Devices, rc.ends.drain.Device)
}

// rateSlowLink rates the cause that a link without a logged failure carries less than before, or without load readings
// that stall shows a cable that lost rate. If a cable died at the same time, other links lose what it fed them; that a
// link cannot carry more is measured, unless what waits leads to the dead cable.
func (rc *regionCase) rateSlowLink() float64 {
	switch {
	case len(rc.failures) > 0 && rc.failures[0].fell() && rc.failures[0].score > 0 &&
		(rc.failures[0].share > 0 || !rc.back.Root.Cannot):
	case rc.back.Root.Kind == schema.RootLinkCapacity && rc.back.Root.Cannot:
		return slowLinkMeasured
	case rc.back.Root.Kind == schema.RootLinkCapacity && rc.back.Root.Slower && rc.timeline.hasOnset():
		return slowLinkFell - rc.rose()
	case rc.back.SlowCable() != schema.NoLink:
		return slowLinkAlone
	case rc.ends.bottleneck.Slower && rc.ends.bottleneck.Cannot && rc.ends.bottleneck.Before(&rc.ends.drain):
		return slowLinkMeasured - rc.rose() - endsElsewhere(1-rc.ends.nodesProbability())
	case rc.ends.bottleneck.Slower && rc.ends.bottleneck.Before(&rc.ends.drain):
		return slowLinkFell + slowLinkLost*(rc.ends.bottleneck.Lost-(1-root.ClearlyLess)) - rc.rose() -
			endsElsewhere(1-rc.ends.nodesProbability())
	}
	return math.Inf(-1)
}

// leastMoved is the share of a full link's load that must have been added before its origin is sought.
const leastMoved = .1

// movedFrom is the share of the load added to a full link, since the onset or since a failure, that the failed links
// carried before: it was rerouted. 0 if no load was added. What a host takes in passes its port whatever the route
// between switches.
func (rc *regionCase) movedFrom(f *history.PlacedFailure) float64 {
	switch {
	case !f.Broke() || rc.root.link == schema.NoLink:
		return 0
	case rc.in.graph.Duplex() && rc.in.router.Grid != nil:
		return grid{rc}.movedRound(f)
	case rc.back.Root.Kind == schema.RootIncast && !rc.in.graph.BetweenSwitches(rc.root.link):
		return 0
	}
	return rc.movedBeside(f)
}

// movedBeside is the same except on tori: the failed link is beside the full one or a hop away, or beside one that
// waits for it.
func (rc *regionCase) movedBeside(f *history.PlacedFailure) float64 {
	more := rc.root.added
	if last := rc.in.lastUse(f, rc.root.link); last.known {
		more = max(more, rc.root.carries-rc.in.rateAt(last.of, rc.root.link))
	}
	if more < leastMoved*rc.root.carries {
		return 0
	}
	carried := 0.
	for _, l := range f.Links {
		if l != rc.root.link && rc.takesOver(l) && rc.in.use(l).orZero() < root.LeastUse {
			carried += rc.in.rateAt(max(rc.baselineUse(l).orZero(), rc.in.lastUse(f, l).orZero()), l)
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
			share = max(share, min(instead, g.in.rateAt(max(0, lost), failed))/most)
		}
	}
	return share
}

// addedAround is the highest load added, bytes/s, to a link at a region, and to one that replaces a failed link.
func (g grid) addedAround(failed schema.LinkID) (most, instead float64) {
	add := func(at topology.DeviceID) {
		for _, l := range g.in.graph.LinksAt(at) {
			baseline := g.baselineUse(l)
			added := g.in.read.Carries(l) - g.in.rateAt(baseline.of, l)
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
// leaves the same switch, or leads to the same one, or the full one is a hop before or after such a link, or joins
// another switch of the same pod to those above.
func (rc *regionCase) takesOver(failed schema.LinkID) bool {
	from, to := rc.in.graph.Ends(failed)
	if !rc.in.graph.BetweenSwitches(failed) {
		return false
	}
	beside := func(l schema.LinkID) bool {
		a, b := rc.in.graph.Ends(l)
		return (a == from) != (b == to)
	}
	if beside(rc.root.link) || slices.ContainsFunc(rc.region.Links, beside) {
		return true
	}
	a, b := rc.in.graph.Ends(rc.root.link)
	if rc.in.areInOnePod(rc.in.lower(from, to), rc.in.lower(a, b)) {
		return true
	}
	return rc.in.graph.BetweenSwitches(rc.root.link) && a != to && b != from &&
		(rc.in.graph.Adjacent(b, to) || rc.in.graph.Adjacent(from, a))
}

// lower is the one of two devices of a tree with the lower level.
func (in *interval) lower(a, b topology.DeviceID) topology.DeviceID {
	if in.graph.Device(b).Level < in.graph.Device(a).Level {
		return b
	}
	return a
}

// areInOnePod reports whether two switches of one level of a tree are above the same switch.
func (in *interval) areInOnePod(a, b topology.DeviceID) bool {
	level := in.graph.Device(a).Level
	return a != b && in.graph.Device(b).Level == level &&
		slices.ContainsFunc(in.graph.LinksAt(a), func(l schema.LinkID) bool {
			from, below := in.graph.Ends(l)
			return from == a && in.graph.IsSwitch(below) && in.graph.Device(below).Level < level && in.graph.Adjacent(below, b)
		})
}
