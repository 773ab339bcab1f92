package trees

// joinCliques joins sinks at leaves of a group of which each three wait for each other (clique percolation): they are
// one exchange, whatever their levels. No tree waits for a link that leaves its root, so three such leaves would be
// the roots of three trees, each with sources at the roots of the others.
func (c *causes) joinCliques(t *trees, s *sinks, _ *shares) {
	for i := range t.links.len() {
		a, b := t.from[i], t.to[i]
		if !t.waits.isWithinGroup(t.links[i]) || !t.isStalled(b, a) {
			continue
		}
		for _, j := range t.leaving.of(a) {
			d := t.to[j]
			if d == b || c.areOneExchange(s, a, b) && c.areOneExchange(s, a, d) {
				continue
			}
			if t.waits.isWithinGroup(t.links[j]) && t.isStalled(d, a) && t.isStalled(b, d) && t.isStalled(d, b) {
				c.joinExchange(s, a, b)
				c.joinExchange(s, a, d)
			}
		}
	}
}

// isStalled reports whether a link from one device to another stalls.
func (t *nodes) isStalled(from, to deviceID) bool {
	for _, j := range t.leaving.of(from) {
		if t.to[j] == to {
			return true
		}
	}
	return false
}

// areOneExchange reports whether the sinks at two devices are one cause.
func (c *causes) areOneExchange(s *sinks, d, e deviceID) bool {
	a, b := s.at(d), s.at(e)
	return a >= 0 && b >= 0 && c.causeOf(a) == c.causeOf(b)
}

// joinExchange joins the sinks at two devices, unless one has a visible root or two causes that add up.
func (c *causes) joinExchange(s *sinks, d, e deviceID) {
	a, b := s.at(d), s.at(e)
	isOne := func(a sinkID) bool { return a >= 0 && !s.all[a].isTree() && c.double[a].isNone() }
	if isOne(a) && isOne(b) {
		c.join(a, b)
	}
}
