package diagnose

import "github.com/giverny/giverny/schema"

// feature is a kind of traffic of a job (Monet, section 7), bytes per interval.
type feature uint8

const (
	read feature = iota
	write
	rdmaRead
	rdmaWrite
	allToAll  // estimated: what crosses the least of the bisection cuts
	manyToOne // estimated: what one part takes in beyond what it sends
	numFeatures
)

// numMeasured features come first, the others are estimated.
const numMeasured = rdmaWrite + 1

var featureNames = [numFeatures]string{"read_bytes", "write_bytes", "rdma_read_bytes", "rdma_write_bytes", "all_to_all_bytes", "many_to_one_bytes"}

func (f feature) String() string { return featureNames[f] }

// isFile reports whether it is file system traffic.
func (f feature) isFile() bool { return f == read || f == write }

// takeTraffic adds rows of the traffic table to the rings of the jobs that ran then.
func (h *History) takeTraffic(in []schema.JobTraffic) {
	for i := range in {
		t := &in[i]
		slot := h.clock.slotOf(int64(t.Time))
		if slot > h.clock.now || slot <= h.clock.now-int64(h.trafficLength()) {
			continue
		}
		from := slot * h.clock.duration
		j := h.jobs.at(t.JobID, from, from+h.clock.duration)
		if j == nil {
			continue
		}
		ring, columns := h.trafficOf(j), [...]*float64{read: t.Read, write: t.Write, rdmaRead: t.RDMARead, rdmaWrite: t.RDMAWrite}
		for f, bytes := range columns {
			if bytes != nil && !ring.listed[f] { // traffic derived from links is not comparable
				ring.forget(feature(f))
				ring.listed[f] = true
			}
		}
		if h.measured && !ring.known(slot) {
			h.silentBefore(j, slot)
		}
		h.tableSince = min(h.tableSince, slot)
		for f, bytes := range columns {
			if bytes != nil {
				ring.set(feature(f), slot, *bytes)
				h.measured = true
			}
		}
		h.estimate(j, slot)
	}
}

// silentBefore sets the traffic of a job that its links do not show to 0 for the slots before its first row in which it ran and
// the table had rows of others: many sources write no row for zero traffic.
func (h *History) silentBefore(j *Job, slot int64) {
	for before := max(h.tableSince, h.clock.slotOf(int64(j.Start))); before < slot; before++ {
		for f := read; f <= rdmaWrite; f++ {
			if isMissing(j.traffic.at(f, before)) {
				j.traffic.set(f, before, 0)
			}
		}
	}
}

// known reports whether the table has anything up to a slot.
func (t *traffic) known(slot int64) bool {
	for ; slot > t.last-int64(t.length); slot-- {
		for f, listed := range t.listed {
			if listed && !isMissing(t.at(feature(f), slot)) {
				return true
			}
		}
	}
	return false
}

// estimate derives the features of a slot that no source measures from those that are measured: of all nodes' traffic,
// what a uniform exchange sends over the least of the job's cuts, and what was taken in beyond what was sent.
func (h *History) estimate(j *Job, slot int64) {
	in, out := j.traffic.at(rdmaRead, slot), j.traffic.at(rdmaWrite, slot)
	if isMissing(in) && isMissing(out) || len(j.devices) < 2 {
		return
	}
	j.traffic.set(allToAll, slot, bisection(len(j.devices))*float64(orZero(in)+orZero(out)))
	if !isMissing(in) && !isMissing(out) {
		j.traffic.set(manyToOne, slot, max(0, float64(in)-float64(out)))
	}
}

func orZero(v float32) float32 {
	if isMissing(v) {
		return 0
	}
	return v
}

// trafficOf returns a job's rings, advanced to now.
func (h *History) trafficOf(j *Job) *traffic {
	if j.traffic == nil {
		j.traffic = newTraffic(h.trafficLength(), h.clock.now)
	}
	j.traffic.advance(h.clock.now)
	return j.traffic
}

// trafficLength is the number of slots of traffic kept: a window of stall and its largest lag.
func (h *History) trafficLength() int { return h.limits.Window + h.limits.MaxLag }

// bisection is the share of a uniform exchange of n nodes that crosses the cut into halves.
func bisection(n int) float64 {
	if n < 2 {
		return 0
	}
	a, b := float64(n/2), float64(n-n/2)
	return 2 * a * b / (float64(n) * float64(n-1))
}
