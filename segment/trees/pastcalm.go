package trees

import "github.com/giverny/giverny/segment/linkset"

// joinPastCalm joins what waits at a switch, none of whose ports to hosts is seen to stall, with the tree past a way on from there
// whose reading is not to be believed.
func (c *causes) joinPastCalm(t *trees, s *sinks, h *shares) {
	for a := range s.all {
		x := &s.all[a]
		if x.links < 2 || x.port > 0 || c.wide[a] >= fewestMeeting || c.levels[c.level.Find(int32(a))].isExchange() {
			continue
		}
		if past := c.pastCalm(t, h, x); past >= 0 {
			c.sets.Union(int32(a), past)
		}
	}
}

// pastCalm is the one cause past the ways on from a sink's switch that should stall, by what is beside them or after, and read
// calm; -1 if there is none, or more than one. A link that is full does not stall either, but reads more than zero: it is its own
// cause, whatever lies past it.
func (c *causes) pastCalm(t *trees, h *shares, x *sink) int32 {
	w, only := t.waits, int32(-1)
	for _, l := range w.out.of(x.device) {
		if w.toHost(l) || t.node[l] >= 0 {
			continue
		}
		past := int32(-1)
		switch {
		case w.isWithinGroup(l) && t.values[l] != linkset.Missing && t.isOddlyCalm(l):
			past = c.besideCalm(t, h, x, l)
		case !x.isLeaf && x.links >= minFeeders && t.values[l] <= 0 && t.mayAllWait(x, l):
			past = c.afterCalm(t, h, x, l)
		}
		if past < 0 || c.isExchange(past) || c.weak[past] {
			continue
		}
		if only >= 0 && only != past {
			return -1
		}
		only = past
	}
	return only
}

// isOddlyCalm reports whether a link is calm though most that enter its switch from others of its level are not.
func (t *trees) isOddlyCalm(link int32) bool {
	w, stalled, measured := t.waits, 0, 0
	for _, l := range w.in.of(w.to[link]) {
		if l == link || w.fromHost(l) || t.values[l] == linkset.Missing || w.level[w.from[l]] != w.level[w.from[link]] {
			continue
		}
		measured++
		if t.node[l] >= 0 {
			stalled++
		}
	}
	return stalled >= minFeeders && 2*stalled > measured
}

// besideRatio is how near the level of what waits at a switch is to that of what enters the next one beside a link that
// reads calm.
const besideRatio = .85

// besideCalm is the cause of the links beside a link, if they are about as stalled as what waits at a sink that it leaves.
func (c *causes) besideCalm(t *trees, h *shares, x *sink, link int32) int32 {
	w := t.waits
	c.votes = c.votes[:0]
	n, sum := 0., 0.
	for _, k := range w.in.of(w.to[link]) {
		if i := t.node[k]; i >= 0 && !w.fromHost(k) && h.main(i) >= 0 {
			c.votes = append(c.votes, vote{h.main(i), 0, 1})
			n, sum = n+1, sum+t.stall[i]
		}
	}
	if ratio(x.stall, sum/n) < besideRatio {
		return -1
	}
	return c.mostVoted()
}

// mayAllWait reports whether all that waits at a sink may wait for a link.
func (t *trees) mayAllWait(x *sink, link int32) bool {
	for _, i := range t.into.of(x.device) {
		if t.sink[i] == x.place && !t.waits.mayWait(t.links[i], link) {
			return false
		}
	}
	return true
}

// afterCalm is the cause of what a link should wait for, or where there is none of what waits at the switch that it enters, if
// the stall at a sink that it leaves may have fallen from that.
func (c *causes) afterCalm(t *trees, h *shares, x *sink, link int32) int32 {
	d := t.waits.to[link]
	c.votes = c.votes[:0]
	add := func(i int32) {
		if h.main(i) >= 0 && x.stall <= mostFallen*t.stall[i] {
			c.votes = append(c.votes, vote{h.main(i), 0, 1})
		}
	}
	for _, j := range t.leaving.of(d) {
		if t.waits.mayWait(link, t.links[j]) {
			add(j)
		}
	}
	if len(c.votes) == 0 {
		for _, i := range t.into.of(d) {
			if t.sink[i] == d {
				add(i)
			}
		}
	}
	return c.mostVoted()
}
