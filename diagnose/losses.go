package diagnose

import "github.com/giverny/giverny/diagnose/history"

// loss caches a job's loss of traffic since an onset, for the regions of an interval that began together.
type loss struct {
	cached   bool
	onset    int64 // slot
	share    float64
	measured bool // its traffic is known before and since
}

const (
	// A job's earlier traffic is compared with its mean over the first intervals since an onset, as held-up traffic falls with
	// it, and over the last, as it stays down.
	firstIntervals, lastIntervals = 3, 8
	// leastUsual intervals before the onset are needed to know what is usual.
	leastUsual = 4
)

// lostBy is that share alone, 0 also if it is not known (lossBy).
func (rc *regionCase) lostBy(j *job) float64 {
	lost, _ := rc.lossBy(j)
	return lost
}

// lossBy is the share of its traffic that a job lost since the onset of a region, 0 to 1, and whether that is known. Jobs that
// communicate in phases move in some intervals what they do not in others, so the mean over the intervals since the onset is
// compared with the least mean over as many consecutive intervals before.
func (rc *regionCase) lossBy(j *job) (share float64, measured bool) {
	if rc.onset < 0 || j.Traffic == nil {
		return 0, false
	}
	onset := rc.began()
	if m := &j.lost; !m.cached || m.onset != onset {
		*m = loss{cached: true, onset: onset}
		m.share, m.measured = rc.lossSince(j, onset)
	}
	return j.lost.share, j.lost.measured
}

// lossSince is the same since a slot. The interval of the onset itself is mixed, and is used only if it is the last.
func (in *interval) lossSince(j *job, onset int64) (share float64, measured bool) {
	w, from, to := &in.scratch, max(in.history.Clock.First, in.history.Clock.Now-int64(in.history.TrafficLength())+1), onset-settle
	main := j.Traffic.Main(from, to)
	w.before = j.Traffic.MovedIn(w.before[:0], main, from, to)
	w.after = j.Traffic.MovedIn(w.after[:0], main, min(onset+1, in.history.Clock.Now), in.history.Clock.Now)
	before, after := w.before, w.after
	if len(before) < leastUsual || len(after) == 0 {
		return 0, false
	}
	most := min(lastIntervals, len(before), len(after))
	first := min(firstIntervals, most)
	return min(below(before, after[:first]), below(before, after[len(after)-most:])), history.SumOf(before) > 0
}

// below is the share by which the mean of values is below the least mean of as many consecutive others; 0 if it is not.
func below(others, values []float64) float64 {
	n := len(values)
	now, sum := history.SumOf(values), history.SumOf(others[:n])
	least := sum
	for i := n; i < len(others); i++ {
		sum += others[i] - others[i-n]
		least = min(least, sum)
	}
	if least <= 0 {
		return 0
	}
	return max(0, 1-now/least)
}

// mostLost is the largest loss, at the onset of a region, of a job other than own that the region can hold up.
func (rc *regionCase) mostLost(own *job) float64 {
	most := 0.
	for i := range rc.jobs {
		if c := &rc.jobs[i]; c.job.ID != own.ID && rc.canHoldUp(c) {
			most = max(most, rc.lostBy(c.job))
		}
	}
	return most
}

// canHoldUp reports whether a region can hold up a job: with directed links, if the job's exchange crosses a link of the region or
// its root. On a torus back pressure also reaches links around a region that stall too little to belong to it, and so jobs within
// cfg.Hops.
func (in *interval) canHoldUp(c *suspect) bool {
	if in.graph.Duplex() {
		return c.cross > 0 || c.hops >= 0
	}
	return c.cross > 0 || c.root
}
