package packet

// requestOutput is granted at once on an idle channel, and else when its turn comes.
func (s *Sim) requestOutput(ch, lane int32) {
	c := &s.channels[ch]
	b := &s.buffers[lane]
	if c.first == none && c.freeAt <= s.now {
		if cause := s.blockedBy(&s.pkts[b.head]); cause == notBlocked {
			s.transmit(ch, lane)
			return
		}
	}
	b.waiting, b.next = true, none
	if c.first == none {
		c.first = lane
	} else {
		s.buffers[c.last].next = lane
	}
	c.last = lane
	if c.freeAt > s.now {
		s.blame(s.pkts[b.head].transfer, c.holder, c.freeAt-s.now, OnLink)
		s.wakeLater(ch, c.freeAt)
		return
	}
	s.serve(ch)
}

// blockedBy says why a packet may not enter the lane ahead of it.
func (s *Sim) blockedBy(p *pkt) blockCause {
	switch s.cfg.FlowControl {
	case Credits:
		b := &s.buffers[p.lane]
		if b.room < int64(p.wire) {
			s.collect(b)
			if b.room < int64(p.wire) {
				return noCredit
			}
		}
	case PFC:
		if s.buffers[p.lane].paused {
			return paused
		}
	}
	return notBlocked
}

func (s *Sim) wakeLater(ch int32, at Time) {
	c := &s.channels[ch]
	if c.wakeAt > at {
		c.wakeAt = at
		s.queue.push(at, atLinkFree, ch)
	}
}

func (s *Sim) wake(ch int32) {
	c := &s.channels[ch]
	if c.wakeAt != s.now {
		return // an earlier wake has taken its place
	}
	c.wakeAt = Never
	if c.freeAt > s.now {
		if c.first != none {
			s.wakeLater(ch, c.freeAt)
		}
		return
	}
	s.serve(ch)
}

// serve grants an idle channel to one in its list that may go.
func (s *Sim) serve(ch int32) {
	c := &s.channels[ch]
	before, lane, cause := s.arbitrate(c)
	if lane == none {
		if cause != notBlocked {
			s.stall(c, cause)
			if cause == noCredit {
				s.awaitCredit(ch)
			}
		}
		return
	}
	b := &s.buffers[lane]
	if before == none {
		c.first = b.next
	} else {
		s.buffers[before].next = b.next
	}
	if c.last == lane {
		c.last = before
	}
	b.waiting = false
	c.turn = lane + 1
	s.transmit(ch, lane)
	if c.first != none {
		s.wakeLater(ch, c.freeAt)
	}
}

// arbitrate arbitrates among those that want a channel and may go: the first to
// have asked, or the next in turn. It says which stands before the chosen one in
// the list, and where there is none, why.
func (s *Sim) arbitrate(c *channel) (before, lane int32, cause blockCause) {
	before, lane = none, none
	for prev, l := none, c.first; l != none; prev, l = l, s.buffers[l].next {
		why := s.blockedBy(&s.pkts[s.buffers[l].head])
		switch {
		case why != notBlocked:
			if cause == notBlocked {
				cause = why
			}
		case s.cfg.Arbitration == Oldest:
			return prev, l, notBlocked
		case lane == none || uint32(l-c.turn) < uint32(lane-c.turn): // the lane soonest after turn, wrapping round at the last
			before, lane = prev, l
		}
	}
	return before, lane, cause
}

// awaitCredit wakes a channel when the first room comes back to a lane that it
// wants; where none is on its way yet, returnRoom will.
func (s *Sim) awaitCredit(ch int32) {
	for lane := s.channels[ch].first; lane != none; lane = s.buffers[lane].next {
		p := &s.pkts[s.buffers[lane].head]
		if back := s.buffers[p.lane].firstReturn; back != none {
			s.wakeLater(ch, s.returns[back].at)
		}
	}
}
