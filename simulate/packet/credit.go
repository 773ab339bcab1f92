package packet

import "github.com/giverny/giverny/simulate/routing"

// release frees a packet's room in a buffer at a given time, the end of its departure.
// A packet in a NIC's queue frees room as soon as it begins to leave.
func (s *Sim) release(lane int32, bytes int64, at Time) {
	ch := lane >> s.shift
	if int(ch) >= len(s.channels) {
		s.nicRoom(ch-int32(len(s.channels)), bytes)
		return
	}
	switch s.cfg.FlowControl {
	case Credits:
		s.returnRoom(lane, bytes, at+s.cable)
		if s.channels[ch].stall == noCredit {
			s.wakeLater(ch, s.returns[s.buffers[lane].firstReturn].at)
		}
	case PFC:
		s.returnRoom(lane, bytes, at)
		if s.buffers[lane].pausing {
			s.drainLater(lane)
		}
	}
}

func (s *Sim) returnRoom(lane int32, bytes int64, at Time) {
	b := &s.buffers[lane]
	s.collect(b)
	if b.lastReturn != none {
		at = max(at, s.returns[b.lastReturn].at) // room returns in order
	}
	g := creditReturn{at, bytes, none}
	i := s.spareReturn
	if i != none {
		s.spareReturn = s.returns[i].next
		s.returns[i] = g
	} else {
		i = int32(len(s.returns))
		s.returns = append(s.returns, g)
	}
	if b.lastReturn == none {
		b.firstReturn = i
	} else {
		s.returns[b.lastReturn].next = i
	}
	b.lastReturn = i
}

// collect adds the room that has returned by now.
func (s *Sim) collect(b *buffer) {
	for b.firstReturn != none {
		i := b.firstReturn
		g := &s.returns[i]
		if g.at > s.now {
			return
		}
		b.room += g.bytes
		b.firstReturn = g.next
		if b.firstReturn == none {
			b.lastReturn = none
		}
		g.next = s.spareReturn
		s.spareReturn = i
	}
}

// admit takes room for a packet that arrived over a PFC link, and requests a pause
// above Xoff (IEEE 802.1Qbb). It returns false if the headroom above Xoff was too
// small.
func (s *Sim) admit(lane int32, bytes int64) bool {
	b := &s.buffers[lane]
	s.collect(b)
	if b.room < bytes {
		return false
	}
	b.room -= bytes
	if !b.pausing && s.cfg.BufferBytes-b.room > s.cfg.XoffBytes {
		b.pausing, b.pausingAt = true, s.now
		s.later(s.cable+Nanos(s.cfg.PauseNanos), atPause, lane)
		s.drainLater(lane)
	}
	return true
}

func (s *Sim) drainLater(lane int32) {
	b := &s.buffers[lane]
	if !b.draining && b.firstReturn != none {
		b.draining = true
		s.queue.push(s.returns[b.firstReturn].at, atDrain, lane)
	}
}

func (s *Sim) drain(lane int32) {
	b := &s.buffers[lane]
	b.draining = false
	s.collect(b)
	if !b.pausing {
		return
	}
	if s.cfg.BufferBytes-b.room > s.cfg.XonBytes {
		s.drainLater(lane)
		return
	}
	b.pausing = false
	b.pauseTx += s.now - b.pausingAt
	s.later(s.cable+Nanos(s.cfg.PauseNanos), atPause, lane)
}

// setPaused toggles the pause of a lane's sender: Xoff and Xon alternate and take
// equally long.
func (s *Sim) setPaused(lane int32) {
	b := &s.buffers[lane]
	b.paused = !b.paused
	if s.watch.Paused != nil {
		s.watch.Paused(routing.Channel(lane>>s.shift), b.paused)
	}
	if b.paused {
		b.pausedAt = s.now
		return
	}
	b.pauseRx += s.now - b.pausedAt
	ch := lane >> s.shift
	if c := &s.channels[ch]; c.freeAt <= s.now {
		s.serve(ch)
	}
}
