package diagnose

// loss is how much less a job moves since an onset, found once for the regions of an interval that began together.
type loss struct {
	interval uint32
	onset    int64 // slot
	share    float64
}

const (
	// A job's traffic is compared with before in the mean of the first intervals since an onset, as what is held up falls with
	// it, and in that of the last, as it stays down.
	firstIntervals, lastIntervals = 3, 8
	// leastUsual intervals before the onset are needed to know what is usual.
	leastUsual = 4
)

// lostBy is the share by which a job moves less since the onset of a region than ever before it, 0 to 1; 0 also where that is not
// known. A job that communicates in phases moves in some intervals what it does not in others: what counts is how far the mean
// over the intervals since the onset is below the least mean over as many in a row before.
func (s *Stage) lostBy(rc *regionCase, j *job) float64 {
	if rc.onset < 0 || j.traffic == nil {
		return 0
	}
	onset := s.began(rc)
	if m := &j.lost; m.interval != s.work.interval || m.onset != onset {
		*m = loss{s.work.interval, onset, s.lossSince(j, onset)}
	}
	return j.lost.share
}

// lossSince is the same since a slot. The interval of the onset itself is of two states, and is asked only where it is the last.
func (s *Stage) lossSince(j *job, onset int64) float64 {
	w, from, to := &s.work, max(s.clock.first, s.clock.now-int64(s.trafficLength())+1), onset-settle
	main := j.traffic.main(from, to)
	w.before = j.traffic.movedIn(w.before[:0], main, from, to)
	w.after = j.traffic.movedIn(w.after[:0], main, min(onset+1, s.clock.now), s.clock.now)
	before, after := w.before, w.after
	if len(before) < leastUsual || len(after) == 0 {
		return 0
	}
	most := min(lastIntervals, len(before), len(after))
	first := min(firstIntervals, most)
	return min(below(before, after[:first]), below(before, after[len(after)-most:]))
}

// main is the measured feature of which a job moved most in the slots from one to another.
func (t *traffic) main(from, to int64) (main feature) {
	most := 0.
	for f := range numMeasured {
		sum := 0.
		for slot := from; slot <= to; slot++ {
			sum += float64(orZero(t.at(f, slot)))
		}
		if sum > most {
			main, most = f, sum
		}
	}
	return main
}

// movedIn appends what a job moved in each slot from one to another in which its main feature was measured, bytes: of a row that
// lacks this, the others say too little.
func (t *traffic) movedIn(out []float64, main feature, from, to int64) []float64 {
	for slot := from; slot <= to; slot++ {
		if isMissing(t.at(main, slot)) {
			continue
		}
		all, _, _ := t.moved(slot)
		out = append(out, all)
	}
	return out
}

// below is by which share the mean of values is below the least mean of as many in a row of others, 0 if it is not.
func below(others, values []float64) float64 {
	n := len(values)
	now, sum := sumOf(values), sumOf(others[:n])
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

// mostLost is the most that another job than one lost with the onset of a region, of those that this can hold up.
func (s *Stage) mostLost(rc *regionCase, own *job) float64 {
	most := 0.
	for i := range rc.jobs {
		if c := &rc.jobs[i]; c.job.ID != own.ID && s.canHoldUp(c) {
			most = max(most, s.lostBy(rc, c.job))
		}
	}
	return most
}

// canHoldUp reports whether a region can hold up a job: where links have a direction, if its exchange leads over a link of the region
// or over its root. On a torus back pressure reaches links around a region that stall too little to be of it.
func (s *Stage) canHoldUp(c *suspect) bool {
	if s.graph.Duplex() {
		return c.isAround()
	}
	return c.cross > 0 || c.root
}

// isAround reports whether a job stands within the hops of a region, or exchanges across it.
func (c *suspect) isAround() bool { return c.hops >= 0 || c.cross > 0 }
