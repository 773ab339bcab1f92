package diagnose

import (
	"math"
	"slices"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// failureScore rates a failure by the time from it to the region's onset, and its distance. It also returns the share
// of the added load that moved from it, as far as the failure is sure. A failure at a time when the region stalled as
// it does now did not cause it.
func (s scores) failureScore(f *history.PlacedFailure, hops int, sure float64) (score, moved float64) {
	if s.timeline.foundStalled(f.Time) {
		return leastScore, 0
	}
	coincidence := .5 // the onset is unknown
	switch {
	case s.timeline.burst != noOnset:
		coincidence = coincidenceOf(s.timeline.burstBegan() - s.in.history.Clock.SlotOf(int64(f.Time)))
	case s.timeline.old:
		coincidence = -.5
	}
	if !f.Broke() && coincidence > 0 {
		coincidence *= restoredShare
	}
	if coincidence > 0 && (s.in.history.PassesNothing(f) || s.in.history.WasIdle(f)) {
		coincidence *= hostShare
	}
	moved = sure * s.movedFrom(f)
	coincidence = max(coincidence, moved)
	score = failureBias + failureOnset*coincidence + failureNear*[...]float64{1, .5, .2, .1}[min(hops, 3)]
	if score += failureMoved*moved - (1-moved)*s.rose(); !s.endsAtFailed(f) {
		score -= endsElsewhere(1 - s.ends.nodesProbability())
	}
	if s.back.IsIncast() && !slices.Contains(f.Links, s.back.Root.Link) {
		score -= incastLoad
	}
	return score, moved
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
func (s scores) endsAtFailed(f *history.PlacedFailure) bool {
	return s.ends.endings.Nodes.Found && s.in.anyBeside(f.Devices, s.ends.endings.Nodes.Device) ||
		s.ends.drain.Fit > 0 && s.in.anyBeside(f.Devices, s.ends.drain.Device)
}

// slowLinkScore rates the cause that a link without a logged failure carries less than before. If a cable died at the
// same time, other links lose what it fed them; that a link cannot carry more is measured, unless what waits leads to
// the dead cable.
func (s scores) slowLinkScore() float64 {
	switch {
	case len(s.failures) > 0 && s.failures[0].fell() && s.failures[0].score > 0 &&
		(s.failures[0].share > 0 || !s.back.Root.Cannot):
	case s.back.Root.Kind == schema.RootLinkCapacity && s.back.Root.Cannot:
		return slowLinkMeasured
	case s.back.Root.Kind == schema.RootLinkCapacity && s.back.Root.Slower && s.timeline.hasOnset():
		return slowLinkFell
	case s.ends.neck.Slower && s.ends.neck.Cannot && s.ends.neck.Before(&s.ends.drain):
		return slowLinkMeasured - s.rose() - endsElsewhere(1-s.ends.nodesProbability())
	case s.ends.neck.Slower && s.ends.neck.Before(&s.ends.drain):
		score := slowLinkFell + slowLinkLost*(s.ends.neck.Lost-(1-root.ClearlyLess))
		return score - s.rose() - endsElsewhere(1-s.ends.nodesProbability())
	}
	return math.Inf(-1)
}
