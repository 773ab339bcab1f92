package packet

// requestOutput sends at once if the channel is idle, otherwise it queues the lane.
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

// blockedBy returns why a packet may not enter the next lane.
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
		return // replaced by an earlier wake
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

// serve grants an idle channel to a lane in its list that may send.
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

// arbitrate chooses among the lanes that want a channel and may send: the first to have
// asked, or the next in turn. before is the lane in front of the chosen one in the
// list; if none may send, cause says why.
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

// awaitCredit wakes a channel when the first room returns to a lane that it wants; if
// none is on its way yet, returnRoom will.
func (s *Sim) awaitCredit(ch int32) {
	for lane := s.channels[ch].first; lane != none; lane = s.buffers[lane].next {
		p := &s.pkts[s.buffers[lane].head]
		if back := s.buffers[p.lane].firstReturn; back != none {
			s.wakeLater(ch, s.returns[back].at)
		}
	}
}
