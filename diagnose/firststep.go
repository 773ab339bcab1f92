package diagnose

// cutToFirstStep leaves a region of a grid only the first step of its stall if that rose in two and nothing explains the second: its
// links carry as much as before, no job whose exchange crosses it began or doubled its traffic, and nothing broke. Severe congestion
// may come long after the load that causes it.
func (s *Stage) cutToFirstStep(rc *regionCase) {
	if !s.graph.Duplex() || rc.onset <= 0 || rc.load < fallen || rc.load > moreLoad {
		return
	}
	first := onsetOf(rc.stall[:rc.onset], shortPause)
	if first < 0 || s.explainsOnset(rc) {
		return
	}
	level := meanOf(rc.stall[first:rc.onset])
	for i, v := range rc.stall {
		rc.stall[i] = min(v, level)
	}
	rc.onset, rc.again, rc.cut = first, first, true
	rc.load = s.loadChange(rc)
}

// moreLoad is the load of a region's links relative to before its onset from which on they carry more.
const moreLoad = 1.1

// explainsOnset reports whether something broke at a region's onset, or a job whose exchange crosses it began or doubled its traffic.
func (s *Stage) explainsOnset(rc *regionCase) bool {
	for i := range s.history.Failures {
		if f := &s.history.Failures[i]; f.Broke() && s.indexIn(rc, f.Time) >= rc.onset-settle-1 {
			return true
		}
	}
	for i := range rc.jobs {
		if j := rc.jobs[i].job; s.startedAt(rc, j.Start) || s.doubled(rc, j) {
			return true
		}
	}
	return false
}
