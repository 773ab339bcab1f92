package diagnose

import (
	"math"

	"github.com/giverny/giverny/schema"
)

// The scores of a host that does not take what arrives. On a grid they are a logistic regression on incidents of three simulators, with
// the scores of all other causes as they are, by what reads alike in each of them (docs/explanation/diagnosis-measured.md).
const (
	slowHostFull     = 3.  // a port to a host that stalls and carries little
	slowHostPaused   = 8.  // and hardly anything, whatever jobs do
	slowHostMaybe    = 1.  // where it is not known what it carries
	slowHostGrid     = -.1 // on a grid
	slowHostArrives  = 1.9 // by how often what arrives where the region's traffic ends has halved
	slowHostLoad     = .9  // by how often what the region carries has
	slowHostGrew     = 1.5 // load was added where it meets
	slowHostFullLink = 1.7 // a link is full
	slowHostNewJobs  = 2.5 // jobs that began with it move much of what it carries
	slowHostTree     = .9  // what is held back is a tree to one switch
	slowHostStarved  = 3.5 // and a node there gets less than its share of its job's exchange
	slowHostFailure  = 1.5 // and a failure that explains it
)

// slowHostScore rates that a host does not take what arrives.
func (s *Stage) slowHostScore(rc *regionCase) float64 {
	if rc.region.Metric == schema.PCIeStallRead || rc.region.Metric == schema.PCIeStallWrite {
		return slowHostFull
	}
	score := math.Inf(-1)
	switch {
	case rc.back.Kind == schema.RootSlowReceiver && rc.back.Slower: // it does not pause the port: the link to it may be what is slow
		if score = slowLinkFell; rc.back.Cannot {
			score = slowLinkMeasured
		}
		if len(rc.failures) > 0 && rc.failures[0].score > 0 {
			score -= slowHostFailure
		}
		return score
	case rc.back.Kind == schema.RootSlowReceiver && rc.back.Use >= 0:
		return rc.paused()
	case rc.back.Kind == schema.RootSlowReceiver:
		score = slowHostMaybe
	case s.graph.Duplex() && rc.load > 0 && rc.trees < manyTrees && (rc.neck.Sole || rc.neck.Slower || !rc.neck.Before(&rc.drain)):
		if score = rc.takesLess(); s.newJobsLoad(rc) {
			score -= slowHostNewJobs
		}
		return score
	}
	return score - rc.rose()
}

// takesLess rates that a host of a grid does not take what arrives, by whether less arrives where the region's traffic ends than
// before its onset, or more was sent there.
func (rc *regionCase) takesLess() float64 {
	score := slowHostGrid - slowHostArrives*doublings(rc.arrives) - slowHostLoad*doublings(rc.load)
	if rc.endings.OfMeans && rc.endings.Any.Found {
		score += math.Log(2 * max(leastAtNodes, rc.endings.AtNodes))
	}
	if rc.drain.Meeting.Grew {
		score -= slowHostGrew
	}
	if rc.full != schema.NoLink {
		score -= slowHostFullLink
	}
	if rc.drain.IsCertain() {
		score += slowHostTree
	}
	score += slowHostStarved * rc.starved
	if len(rc.failures) > 0 && rc.failures[0].score > 0 {
		score -= slowHostFailure
	}
	return score
}

// leastAtNodes is how improbable it is at most that back pressure ends at nodes where it seems to end at a link.
const leastAtNodes = .02

// mostDoublings bounds what a ratio of loads says: readings of little load are mostly noise.
const mostDoublings = 2

// doublings is how often a load doubled that is a ratio of what it was, below 0 if it fell; 0 where it is not known.
func doublings(ratio float64) float64 {
	if ratio <= 0 {
		return 0
	}
	return max(-mostDoublings, min(mostDoublings, math.Log2(ratio)))
}

// Only the host itself can hold back a port to it in a lossless fabric. At pausedPercent of its capacity it takes
// next to nothing; at slowPercent it may be a storage node that was built for less than its link. Where traffic
// always waits for the port, what it carries and its stall make up all of the time: busyPercent at least.
const pausedPercent, slowPercent, busyPercent = 10, 30, 30

// paused rates a port to a host that stalls below what it could carry: the less it carries, the less it matters
// who sends to it.
func (rc *regionCase) paused() float64 {
	little := max(0, min(1, (slowPercent-rc.back.Use)/(slowPercent-pausedPercent), (rc.back.Use+rc.back.Stall)/busyPercent))
	return slowHostFull + (slowHostPaused-slowHostFull)*little - (1-little)*rc.rose()
}
