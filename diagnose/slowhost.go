package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// The scores of a host that does not take what arrives. On a grid they are a logistic regression on incidents of three simulators,
// with the other causes' scores fixed, on features that agree in all of them (docs/measurements/diagnosis.md).
const (
	slowHostFull     = 3.  // a port to a host that stalls and carries little
	slowHostPaused   = 8.  // and hardly anything, whatever jobs do
	slowHostMaybe    = 1.  // its load is unknown
	slowHostGrid     = -.1 // on a grid
	slowHostArrives  = 1.9 // per halving of what arrives where the region's traffic ends
	slowHostLoad     = .9  // per halving of the region's load
	slowHostGrew     = 1.5 // load was added where traffic meets
	slowHostFullLink = 1.7 // a link is full
	slowHostNewJobs  = 2.5 // jobs that began with it move much of what it carries
	slowHostTree     = .9  // held-back traffic is a tree to one switch
	slowHostStarved  = 3.5 // and a node there gets less than its share of its job's exchange
	slowHostFailure  = 1.5 // a failure explains it
)

// slowHostScore rates the cause that a host does not take what arrives.
func (s scores) slowHostScore() float64 {
	if s.region.Metric == schema.PCIeStallRead || s.region.Metric == schema.PCIeStallWrite {
		return slowHostFull
	}
	score := math.Inf(-1)
	switch {
	case s.back.Root.Kind == schema.RootSlowReceiver && s.back.Root.Use >= 0 && s.waitsForUplink():
		return slowHostMaybe
	case s.back.Root.Kind == schema.RootSlowReceiver && s.back.Root.Slower: // it does not pause the port: the link to it may be slow
		if score = slowLinkFell; s.back.Root.Cannot {
			score = slowLinkMeasured
		}
		if len(s.failures) > 0 && s.failures[0].score > 0 {
			score -= slowHostFailure
		}
		return score
	case s.back.Root.Kind == schema.RootSlowReceiver && s.back.Root.Use >= 0:
		return s.paused()
	case s.back.Root.Kind == schema.RootSlowReceiver:
		score = slowHostMaybe
	case s.together != nil:
		return leastScore
	case s.in.graph.Duplex() && (s.load.known || s.ends.starved > 0) && (s.ends.neck.Sole || s.ends.neck.Slower || !s.ends.neck.Before(&s.ends.drain)):
		if score = s.takesLess(); s.newJobsLoad() {
			score -= slowHostNewJobs
		}
		return score
	}
	return score - s.rose()
}

// waitsForUplink reports whether only hosts wait to send into the switch of the reported port, and a cable that this switch sends to
// failed when the region began: a host that takes little also holds up other switches, that cable only what the switch's own hosts send.
func (s scores) waitsForUplink() bool {
	if len(s.failures) == 0 || s.in.graph.Duplex() {
		return false
	}
	f := &s.failures[0]
	if f.score <= 0 || f.share == 0 || f.Port == "" || !f.Broke() || f.restored || s.in.history.PassesNothing(f.PlacedFailure) {
		return false
	}
	at, _ := s.in.graph.Ends(s.back.Root.Link)
	return slices.Contains(f.Devices, at) && !slices.ContainsFunc(s.region.Links, func(l schema.LinkID) bool {
		from, _ := s.in.graph.Ends(l)
		return s.in.graph.IsSwitch(from)
	})
}

// takesLess rates the same on a grid, by whether less arrives where the region's traffic ends than before its onset, or more was
// sent there.
func (s scores) takesLess() float64 {
	score := slowHostGrid - slowHostArrives*s.ends.arrives.doublings() - slowHostLoad*s.load.doublings()
	score -= endsElsewhere(s.ends.atNodes())
	if s.ends.drain.Meeting.Grew {
		score -= slowHostGrew
	}
	if s.ends.fullLink != schema.NoLink {
		score -= slowHostFullLink
	}
	if s.ends.drain.IsCertain() {
		score += slowHostTree
	}
	score += slowHostStarved * s.ends.starved
	if len(s.failures) > 0 && s.failures[0].score > 0 {
		score -= slowHostFailure
	}
	return score
}

// atNodes is the probability that the back pressure of a region of a grid ends at a switch's nodes, not at a link. A tree that fits almost
// exactly does.
func (e *ends) atNodes() float64 {
	switch {
	case !e.endings.Any.Found:
		return .5
	case e.drain.Fit >= exactFit:
		return 1
	}
	return e.endings.AtNodes
}

// endsElsewhere is the evidence, log odds, against a cause by the probability that back pressure ends where it would with that.
func endsElsewhere(probability float64) float64 {
	return -math.Log(min(1, 2*max(leastEnding, probability)))
}

// leastEnding is the minimum of that probability, however surely back pressure seems to end elsewhere.
const leastEnding = .02

// In a lossless fabric only the host itself can hold back a port to it. At pausedPercent of its capacity it takes
// next to nothing; at slowPercent it may be a storage node slower than its link. If traffic always waits for the
// port, its load and stall make up all of the time: at least busyPercent.
const pausedPercent, slowPercent, busyPercent = 10, 30, 30

// paused rates a port to a host that stalls below its capacity: the less it carries, the less it matters who
// sends to it.
func (s scores) paused() float64 {
	little := max(0, min(1, (slowPercent-s.back.Root.Use)/(slowPercent-pausedPercent), (s.back.Root.Use+s.back.Root.Stall)/busyPercent))
	return slowHostFull + (slowHostPaused-slowHostFull)*little - (1-little)*s.rose()
}
