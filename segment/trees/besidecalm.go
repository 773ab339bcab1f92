package trees

import "github.com/giverny/giverny/segment/linkset"

// joinBesideCalm joins what waits at a switch of a dragonfly's group, none of whose ports to hosts is seen to stall, with what a way on
// from there belongs to whose reading is not to be believed.
func (c *causes) joinBesideCalm(t *trees, s *sinks, h *shares) {
	for a := range s.all {
		x := &s.all[a]
		if x.links < 2 || x.port > 0 || c.wide[a] >= fewestMeeting || c.levels[c.level.Find(int32(a))].isExchange() {
			continue
		}
		if beside := c.besideAnyCalm(t, h, x); beside >= 0 {
			c.sets.Union(int32(a), beside)
		}
	}
}

// besideAnyCalm is the one cause beside the ways on from a sink's switch that should stall, by what is beside them, and read calm;
// -1 if there is none, or more than one.
func (c *causes) besideAnyCalm(t *trees, h *shares, x *sink) int32 {
	w, only := t.waits, int32(-1)
	for _, l := range w.out.of(x.device) {
		if t.node[l] >= 0 || t.values[l] == linkset.Missing || !w.isWithinGroup(l) || !t.isOddlyCalm(l) {
			continue
		}
		beside := c.besideCalm(t, h, x, l)
		if beside < 0 || c.isExchange(beside) || c.weak[beside] {
			continue
		}
		if only >= 0 && only != beside {
			return -1
		}
		only = beside
	}
	return only
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
