package diagnose

// cutToFirstStep leaves a region of a grid only the first step of its stall if that rose in two and nothing explains the second: its
// links carry as much as before, no job whose exchange crosses it began or doubled its traffic, and nothing broke. Severe congestion
// may come long after the load that causes it.
func (rc *regionCase) cutToFirstStep() {
	if !rc.in.graph.Duplex() || !rc.timeline.hasOnset() || !rc.load.atLeast(fallen) || rc.load.isAbove(moreLoad) {
		return
	}
	first := onsetOf(rc.timeline.stall[:rc.timeline.onset], shortPause)
	if first == noOnset || rc.explainsOnset() {
		return
	}
	level := meanOf(rc.timeline.stall[first:rc.timeline.onset])
	for i, v := range rc.timeline.stall {
		rc.timeline.stall[i] = min(v, level)
	}
	rc.timeline.onset, rc.timeline.burst, rc.timeline.cut = first, first, true
	rc.load = rc.loadRatio()
}

// moreLoad is the load of a region's links relative to before its onset from which on they carry more.
const moreLoad = 1.1

// explainsOnset reports whether something broke at a region's onset, or a job whose exchange crosses it began or doubled its traffic.
func (rc *regionCase) explainsOnset() bool {
	for i := range rc.in.history.Failures {
		if f := &rc.in.history.Failures[i]; f.Broke() && rc.timeline.indexIn(f.Time) >= rc.timeline.onset-settle-1 {
			return true
		}
	}
	for i := range rc.suspects {
		if j := rc.suspects[i].job; rc.timeline.startedAt(j.Start) || rc.doubled(j) {
			return true
		}
	}
	return false
}
