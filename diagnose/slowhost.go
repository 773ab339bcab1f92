package diagnose

import (
	"math"

	"github.com/giverny/giverny/schema"
)

// rateSlowHost rates the cause that a host does not take what arrives.
func (rc *regionCase) rateSlowHost() float64 {
	if rc.region.Metric == schema.PCIeStallRead || rc.region.Metric == schema.PCIeStallWrite {
		return slowHostFull
	}
	return rc.rules().slowHostScore()
}

// slowHostScore is that of the host to which the reported port leads.
func (d directed) slowHostScore() float64 {
	switch {
	case d.back.Root.Kind != schema.RootSlowReceiver:
		return math.Inf(-1)
	case d.back.Root.Slower: // it does not pause the port: the link to it may be slow
		score := slowLinkFell
		if d.back.Root.Cannot {
			score = slowLinkMeasured
		}
		return score - d.failureBeside()
	case d.back.Root.Use >= 0:
		return d.paused()
	}
	return slowHostMaybe + (slowHostPaused-slowHostMaybe)*d.pausedShare() - d.rose()
}

// pausedShare is how surely, 0 to 1, the host to which the reported port leads holds it back if the port's load is not
// measured: only that host pauses it, or gives it no credits, and while it does the port sends nothing, so that of an
// incast the port never waits.
func (rc *regionCase) pausedShare() float64 {
	if root := &rc.back.Root; root.Use < 0 {
		return littleOf(100-root.Stall, root.Stall)
	}
	return 0
}

// In a lossless fabric only the host itself can hold back a port to it. At pausedPercent of its capacity it takes
// next to nothing; at slowPercent it may be a storage node slower than its link. If traffic always waits for the
// port, its load and stall make up all of the time: at least busyPercent.
const pausedPercent, slowPercent, busyPercent = 10, 30, 30

// paused rates a port to a host that stalls below its capacity: the less it carries, the less it matters who
// sends to it.
func (d directed) paused() float64 {
	little := littleOf(d.back.Root.Use, d.back.Root.Stall)
	return slowHostFull + (slowHostPaused-slowHostFull)*little - (1-little)*d.rose()
}

// littleOf is how surely, 0 to 1, a port to a host is held back by the host alone: it carries next to nothing, percent
// of its capacity, while traffic waits for it for the percentage stall of the time.
func littleOf(use, stall float64) float64 {
	return max(0, min(1, (slowPercent-use)/(slowPercent-pausedPercent), (use+stall)/busyPercent))
}

// slowHostScore is that of a host at the switch where traffic ends, unless a job's phase began or a full link comes
// first.
func (g grid) slowHostScore() float64 {
	switch {
	case g.together != nil:
		return leastScore
	case !g.load.known && g.ends.starved <= 0,
		!g.ends.bottleneck.Sole && !g.ends.bottleneck.Slower && g.ends.bottleneck.Before(&g.ends.drain):
		return math.Inf(-1)
	}
	return g.takesLess()
}

// takesLess rates the same on a grid, by whether less arrives where the region's traffic ends than before its onset, or
// more was sent there.
func (g grid) takesLess() float64 {
	score := slowHostGrid - slowHostArrives*g.ends.arrives.doublings() - slowHostLoad*g.load.doublings()
	score -= endsElsewhere(g.ends.nodesProbability())
	if g.ends.drain.Meeting.Grew {
		score -= slowHostGrew
	}
	if g.ends.drain.IsCertain() {
		score += slowHostTree
	}
	score += slowHostStarved * g.ends.starved
	return score - g.failureBeside()
}

// failureBeside is what a failure that explains the region takes off the score of a slow host.
func (rc *regionCase) failureBeside() float64 {
	if len(rc.failures) == 0 || rc.failures[0].score <= 0 {
		return 0
	}
	return slowHostFailure
}
