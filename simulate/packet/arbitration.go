package packet

// requestOutput is granted immediately if the channel is idle, otherwise by arbitration.
func (f *fabric) requestOutput(ch, lane int32) {
	c := &f.channels[ch]
	b := &f.buffers[lane]
	if c.first == none && c.freeAt <= f.now && f.rooms.blocks(&f.pkts[b.head]) == notBlocked {
		f.transmit(ch, lane)
		return
	}
	b.waiting, b.next = true, none
	if c.first == none {
		c.first = lane
	} else {
		f.buffers[c.last].next = lane
	}
	c.last = lane
	if c.freeAt > f.now {
		f.blame(f.pkts[b.head].transfer, c.holder, c.freeAt-f.now, OnLink)
		f.wakeLater(ch, c.freeAt)
		return
	}
	f.serve(ch)
}

func (f *fabric) wakeLater(ch int32, at Time) {
	c := &f.channels[ch]
	if c.wakeAt > at {
		c.wakeAt = at
		f.at(at, atLinkFree, ch)
	}
}

func (f *fabric) wake(ch int32) {
	c := &f.channels[ch]
	if c.wakeAt != f.now {
		return // superseded by an earlier wake-up
	}
	c.wakeAt = Never
	if c.freeAt > f.now {
		if c.first != none {
			f.wakeLater(ch, c.freeAt)
		}
		return
	}
	f.serve(ch)
}

// serve grants an idle channel to a waiting lane that may send.
func (f *fabric) serve(ch int32) {
	c := &f.channels[ch]
	before, lane, cause := f.arbitrate(c)
	if lane == none {
		if cause != notBlocked {
			c.stallFor(cause, f.now)
			if cause == noCredit {
				f.awaitCredit(ch)
			}
		}
		return
	}
	b := &f.buffers[lane]
	if before == none {
		c.first = b.next
	} else {
		f.buffers[before].next = b.next
	}
	if c.last == lane {
		c.last = before
	}
	b.waiting = false
	c.turn = lane + 1
	f.transmit(ch, lane)
	if c.first != none {
		f.wakeLater(ch, c.freeAt)
	}
}

// arbitrate chooses among the lanes that want a channel and may send: the first to have
// requested, or the next in turn. It returns the predecessor of the chosen lane in the
// list, and if there is none, the cause.
func (f *fabric) arbitrate(c *channel) (before, lane int32, cause blockCause) {
	before, lane = none, none
	for prev, l := none, c.first; l != none; prev, l = l, f.buffers[l].next {
		why := f.rooms.blocks(&f.pkts[f.buffers[l].head])
		switch {
		case why != notBlocked:
			if cause == notBlocked {
				cause = why
			}
		case f.cfg.Arbitration == Oldest:
			return prev, l, notBlocked
		case lane == none || uint32(l-c.turn) < uint32(lane-c.turn): // the lane soonest after turn, wrapping around at the last
			before, lane = prev, l
		}
	}
	return before, lane, cause
}

// awaitCredit wakes a channel when the first credit returns to a lane it wants; if none
// is on its way yet, release will do so.
func (f *fabric) awaitCredit(ch int32) {
	for lane := f.channels[ch].first; lane != none; lane = f.buffers[lane].next {
		f.wakeLater(ch, f.rooms.nextReturn(f.pkts[f.buffers[lane].head].lane))
	}
}

// transmit sends the head of a buffer over an idle channel (virtual cut-through: the
// packet's head reaches the next switch while its tail is still here).
func (f *fabric) transmit(ch, lane int32) {
	c := &f.channels[ch]
	b := &f.buffers[lane]
	i := b.head
	p := &f.pkts[i]
	finish := f.now + c.pace.of(int64(p.wire))
	if p.tail > finish {
		finish = p.tail // the link is faster than the previous one
	}
	c.occupy(p, i, f.now, finish)
	if !f.inNIC(lane) {
		c.queued -= int64(p.wire)
		if f.cfg.Rate.Enabled && p.role == payload && !p.marked && f.cfg.Rate.marks(c.queued, f.random) {
			p.marked = true
			c.counters.marks++
		}
	}
	if f.waited != nil {
		f.blameWaiting(c, finish-f.now)
	}

	f.headLeaves(lane)
	b.head = p.next
	b.busyUntil = finish
	f.release(p.from, int64(p.wire), finish)
	f.rooms.take(p.lane, int64(p.wire))
	p.epoch = c.epoch
	switch {
	case p.hop+1 == p.path.hops:
		f.at(finish+f.cable, atNIC, i)
	case f.cfg.StoreAndForward:
		p.tail = finish + f.cable + f.stages
		f.at(p.tail, atSwitch, i)
	default:
		p.tail = finish + f.cable + f.stages
		f.at(f.now+f.cable+f.stages, atSwitch, i)
	}
	if b.head != none {
		f.headWaits(lane)
		f.requestHead(lane)
	}
}

// blameWaiting reports to all that want a channel who is using it, for d.
func (f *fabric) blameWaiting(c *channel, d Time) {
	for lane := c.first; lane != none; lane = f.buffers[lane].next {
		f.blame(f.pkts[f.buffers[lane].head].transfer, c.holder, d, OnLink)
	}
}
