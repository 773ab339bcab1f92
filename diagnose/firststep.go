package diagnose

// cutStall leaves only the first step of the stall if that rose in two and nothing explains the second: its links carry
// as much as before, no job whose exchange crosses it began or doubled its traffic, and nothing broke. Severe
// congestion may come long after the load that causes it.
func (g grid) cutStall() {
	if !g.timeline.hasOnset() || !g.load.atLeast(fallen) || g.load.isAbove(moreLoad) {
		return
	}
	first := onsetOf(g.timeline.stall[:g.timeline.onset], shortPause)
	if first == noOnset || g.explainsOnset() {
		return
	}
	level := meanOf(g.timeline.stall[first:g.timeline.onset])
	for i, v := range g.timeline.stall {
		g.timeline.stall[i] = min(v, level)
	}
	g.timeline.onset, g.timeline.burst, g.timeline.cut = first, first, true
	g.load = g.loadRatio()
}

// moreLoad is the load of a region's links relative to before its onset from which on they carry more.
const moreLoad = 1.1

// explainsOnset reports whether something broke at a region's onset, or a job whose exchange crosses it began or
// doubled its traffic.
func (g grid) explainsOnset() bool {
	for i := range g.in.history.Failures {
		if f := &g.in.history.Failures[i]; f.Broke() && g.timeline.indexIn(f.Time) >= g.timeline.onset-settle-1 {
			return true
		}
	}
	for i := range g.suspects {
		if j := g.suspects[i].job; g.timeline.startedAt(j.Start) || g.doubled(j) {
			return true
		}
	}
	return false
}
