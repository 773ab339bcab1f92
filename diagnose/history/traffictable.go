package history

import "github.com/giverny/giverny/schema"

// takeTraffic adds rows of the traffic table to the rings of the jobs that ran then.
func (h *History) takeTraffic(in []schema.JobTraffic) {
	for i := range in {
		t := &in[i]
		slot := h.Clock.SlotOf(int64(t.Time))
		if slot > h.Clock.Now || slot <= h.Clock.Now-int64(h.TrafficLength()) {
			continue
		}
		from := slot * h.Clock.Duration
		j := h.jobs.at(t.JobID, from, from+h.Clock.Duration)
		if j == nil {
			continue
		}
		ring := h.TrafficOf(j)
		columns := [...]*float64{Read: t.Read, Write: t.Write, RDMARead: t.RDMARead, RDMAWrite: t.RDMAWrite}
		for f, bytes := range columns {
			if bytes != nil && !ring.Listed[f] { // traffic derived from links is not comparable
				ring.forget(Feature(f))
				ring.Listed[f] = true
			}
		}
		if h.measured && !ring.known(slot) {
			h.silentBefore(j, slot)
		}
		h.tableSince = min(h.tableSince, slot)
		for f, bytes := range columns {
			if bytes != nil {
				ring.Set(Feature(f), slot, *bytes)
				h.measured = true
			}
		}
		h.estimate(j, slot)
	}
}

// silentBefore sets the traffic of a job that its links do not show to 0 for the slots before its first row in which it
// ran and the table had rows of others: many sources write no row for zero traffic.
func (h *History) silentBefore(j *Job, slot int64) {
	for before := max(h.tableSince, h.Clock.SlotOf(int64(j.Start))); before < slot; before++ {
		for f := Read; f <= RDMAWrite; f++ {
			if IsMissing(j.Traffic.At(f, before)) {
				j.Traffic.Set(f, before, 0)
			}
		}
	}
}

// known reports whether the table has anything up to a slot.
func (t *Traffic) known(slot int64) bool {
	for ; slot > t.last-int64(t.length); slot-- {
		for f, listed := range t.Listed {
			if listed && !IsMissing(t.At(Feature(f), slot)) {
				return true
			}
		}
	}
	return false
}

// estimate derives the features of a slot that no source measures from those that are measured: of all nodes' traffic,
// what a uniform exchange sends over the least of the job's cuts, and what was taken in beyond what was sent.
func (h *History) estimate(j *Job, slot int64) {
	in, out := j.Traffic.At(RDMARead, slot), j.Traffic.At(RDMAWrite, slot)
	if IsMissing(in) && IsMissing(out) || len(j.Devices) < 2 {
		return
	}
	j.Traffic.Set(allToAll, slot, bisection(len(j.Devices))*float64(orZero(in)+orZero(out)))
	if !IsMissing(in) && !IsMissing(out) {
		j.Traffic.Set(manyToOne, slot, max(0, float64(in)-float64(out)))
	}
}

// orZero is a value for a sum, to which a missing one adds nothing.
func orZero(v float32) float32 {
	if IsMissing(v) {
		return 0
	}
	return v
}

// TrafficOf returns a job's rings, advanced to now.
func (h *History) TrafficOf(j *Job) *Traffic {
	if j.Traffic == nil {
		j.Traffic = NewTraffic(h.TrafficLength(), h.Clock.Now)
	}
	j.Traffic.advance(h.Clock.Now)
	return j.Traffic
}

// TrafficLength is the number of slots of traffic kept: a window of stall and its largest lag.
func (h *History) TrafficLength() int { return h.Limits.Window + h.Limits.MaxLag }

// bisection is the share of a uniform exchange of n nodes that crosses the cut into halves.
func bisection(n int) float64 {
	if n < 2 {
		return 0
	}
	a, b := float64(n/2), float64(n-n/2)
	return 2 * a * b / (float64(n) * float64(n-1))
}
