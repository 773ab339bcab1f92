package packet

// room is the free space of a channel's far buffer, one per lane.
type room struct {
	free        int64 // credits: bytes its sender may send; PFC: bytes that fit
	firstReturn int32 // list of room to be returned
	lastReturn  int32
	paused      bool // its sender is paused
	pausing     bool // it has requested a pause that is still in effect
	draining    bool // an atDrain is pending
	pausedAt    Time
	pausingAt   Time
	pauseRx     Time // total time its sender was paused
	pauseTx     Time // total time for which it requested a pause
}

// roomReturn is room that will be returned at a known time.
type roomReturn struct {
	at    Time
	bytes int64
	next  int32
}

// rooms is the flow control of all lanes: who may send, and how room returns. It does not
// know what waits for the room; see fabric.
type rooms struct {
	*clock
	cfg     Config
	credits bool // FlowControl is Credits
	pfc     bool // FlowControl is PFC
	cable   Time
	notice  Time // from a threshold of PFC until the sender pauses or resumes
	lanes   []room
	returns []roomReturn
	spare   int32 // first free roomReturn
}

func newRooms(c *clock, cfg Config, lanes int) rooms {
	r := rooms{clock: c, cfg: cfg, credits: cfg.FlowControl == Credits, pfc: cfg.FlowControl == PFC, cable: Nanos(cfg.CableNanos), lanes: make([]room, lanes), spare: none}
	r.notice = r.cable + Nanos(cfg.PauseNanos)
	for i := range r.lanes {
		r.lanes[i] = room{free: cfg.BufferBytes, firstReturn: none, lastReturn: none}
	}
	return r
}

// blocks returns why a packet may not enter its lane.
func (r *rooms) blocks(p *pkt) blockCause {
	switch {
	case r.credits:
		m := &r.lanes[p.lane]
		if m.free < int64(p.wire) {
			r.collect(m)
			if m.free < int64(p.wire) {
				return noCredit
			}
		}
	case r.pfc:
		if r.lanes[p.lane].paused {
			return paused
		}
	}
	return notBlocked
}

// take uses the credits for a packet that leaves for a lane; with PFC admit does so on
// arrival.
func (r *rooms) take(lane int32, bytes int64) {
	if r.credits {
		r.lanes[lane].free -= bytes
	}
}

// giveBack returns a packet's room at the time at which it has left; credits travel back
// over the cable.
func (r *rooms) giveBack(lane int32, bytes int64, at Time) {
	switch {
	case r.credits:
		at += r.cable
	case !r.pfc:
		return
	}
	m := &r.lanes[lane]
	r.collect(m)
	if m.lastReturn != none {
		at = max(at, r.returns[m.lastReturn].at) // credits return in order
	}
	g := roomReturn{at, bytes, none}
	i := r.spare
	if i != none {
		r.spare = r.returns[i].next
		r.returns[i] = g
	} else {
		i = int32(len(r.returns))
		r.returns = append(r.returns, g)
	}
	if m.lastReturn == none {
		m.firstReturn = i
	} else {
		r.returns[m.lastReturn].next = i
	}
	m.lastReturn = i
	if m.pausing {
		r.drainLater(lane)
	}
}

// nextReturn is when the first credit will return to a lane, Never if none is on its way.
func (r *rooms) nextReturn(lane int32) Time {
	if back := r.lanes[lane].firstReturn; back != none {
		return r.returns[back].at
	}
	return Never
}

// collect adds the room that has returned by now.
func (r *rooms) collect(m *room) {
	for m.firstReturn != none {
		i := m.firstReturn
		g := &r.returns[i]
		if g.at > r.now {
			return
		}
		m.free += g.bytes
		m.firstReturn = g.next
		if m.firstReturn == none {
			m.lastReturn = none
		}
		g.next = r.spare
		r.spare = i
	}
}

// admit reserves room for a packet that has arrived. With PFC it requests a pause above
// Xoff (IEEE 802.1Qbb), and returns false if the headroom above Xoff was too small.
func (r *rooms) admit(lane int32, bytes int64) bool {
	if !r.pfc {
		return true
	}
	m := &r.lanes[lane]
	r.collect(m)
	if m.free < bytes {
		return false
	}
	m.free -= bytes
	if !m.pausing && r.cfg.BufferBytes-m.free > r.cfg.XoffBytes {
		m.pausing, m.pausingAt = true, r.now
		r.later(r.notice, atPause, lane)
		r.drainLater(lane)
	}
	return true
}

func (r *rooms) drainLater(lane int32) {
	m := &r.lanes[lane]
	if !m.draining && m.firstReturn != none {
		m.draining = true
		r.at(r.returns[m.firstReturn].at, atDrain, lane)
	}
}

// drain ends the pause of a lane if it has drained to Xon.
func (r *rooms) drain(lane int32) {
	m := &r.lanes[lane]
	m.draining = false
	r.collect(m)
	if !m.pausing {
		return
	}
	if r.cfg.BufferBytes-m.free > r.cfg.XonBytes {
		r.drainLater(lane)
		return
	}
	m.pausing = false
	m.pauseTx += r.now - m.pausingAt
	r.later(r.notice, atPause, lane)
}

// togglePause pauses a lane's sender or lets it resume, and returns whether it is paused:
// Xoff and Xon alternate and have equal delays.
func (r *rooms) togglePause(lane int32) bool {
	m := &r.lanes[lane]
	m.paused = !m.paused
	if m.paused {
		m.pausedAt = r.now
	} else {
		m.pauseRx += r.now - m.pausedAt
	}
	return m.paused
}

// pauses are the total times for which a lane's sender was paused, and for which it
// requested a pause.
func (r *rooms) pauses(lane int32) (rx, tx Time) {
	m := &r.lanes[lane]
	rx, tx = m.pauseRx, m.pauseTx
	if m.paused {
		rx += r.now - m.pausedAt
	}
	if m.pausing {
		tx += r.now - m.pausingAt
	}
	return rx, tx
}
