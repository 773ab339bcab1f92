package diagnose

// cutToFirstStep leaves a region of a grid only the first step of its stall if that rose in two and nothing explains the second: its
// links carry as much as before, no job whose exchange crosses it began or doubled its traffic, and nothing broke. Severe congestion
// may come long after the load that causes it.
func (rc *regionCase) cutToFirstStep() {
	if !rc.graph.Duplex() || rc.onset <= 0 || rc.load < fallen || rc.load > moreLoad {
		return
	}
	first := onsetOf(rc.stall[:rc.onset], shortPause)
	if first < 0 || rc.explainsOnset() {
		return
	}
	level := meanOf(rc.stall[first:rc.onset])
	for i, v := range rc.stall {
		rc.stall[i] = min(v, level)
	}
	rc.onset, rc.again, rc.cut = first, first, true
	rc.load = rc.loadNow()
}

// moreLoad is the load of a region's links relative to before its onset from which on they carry more.
const moreLoad = 1.1

// explainsOnset reports whether something broke at a region's onset, or a job whose exchange crosses it began or doubled its traffic.
func (rc *regionCase) explainsOnset() bool {
	for i := range rc.history.Failures {
		if f := &rc.history.Failures[i]; f.Broke() && rc.indexIn(f.Time) >= rc.onset-settle-1 {
			return true
		}
	}
	for i := range rc.jobs {
		if j := rc.jobs[i].job; rc.startedAt(j.Start) || rc.doubled(j) {
			return true
		}
	}
	return false
}
