package packet

import "github.com/giverny/giverny/simulate/routing"

// channelCounters are the counters of a channel.
type channelCounters struct {
	bytes, packets          uint64
	busy, idle              Time
	creditStall, pauseStall Time
	inputStall              Time
	marks                   uint64
	drops                   [numReasons]uint64
}

// idle ends the current period without sending, and counts it as stalled or idle.
func (s *Sim) idle(c *channel) {
	switch d := s.now - c.since; c.stall {
	case noCredit:
		c.counters.creditStall += d
	case paused:
		c.counters.pauseStall += d
	default:
		c.counters.idle += d
	}
	c.stall, c.since = notBlocked, s.now
}

func (s *Sim) stall(c *channel, cause blockCause) {
	if c.stall != cause {
		s.idle(c)
		c.stall = cause
	}
}

// Counters of a directed link since the start, as reported by its two ends. BusyNanos +
// IdleNanos + CreditStallNanos + PauseStallNanos is the total time.
type Counters struct {
	Bytes, Packets   uint64 // sent
	BusyNanos        float64
	IdleNanos        float64
	CreditStallNanos float64           // a packet waited because the far buffer had no room
	PauseStallNanos  float64           // a packet waited because its priority was paused
	InputStallNanos  float64           // at the far end: a packet at the head of a buffer could not proceed
	XmitWaitTicks    uint64            // InfiniBand's PortXmitWait: the stalls in ticks
	PauseRxNanos     [maxLanes]float64 // per lane: the sender was paused
	PauseTxNanos     [maxLanes]float64 // per lane: the receiver requested a pause
	Marks            uint64            // packets with a congestion mark
	Drops            [numReasons]uint64
	QueuedBytes      int64 // currently, in switch buffers before the link
}

// Counters reads a channel's counters at Now.
func (s *Sim) Counters(ch routing.Channel) Counters {
	c := s.channels[ch]
	if c.since > s.now {
		c.counters.busy -= c.since - s.now
	} else {
		s.idle(&c)
	}
	if c.heads > 0 {
		c.counters.inputStall += s.now - c.headsAt
	}
	k := &c.counters
	out := Counters{Bytes: k.bytes, Packets: k.packets, BusyNanos: k.busy.Nanoseconds(), IdleNanos: k.idle.Nanoseconds(),
		CreditStallNanos: k.creditStall.Nanoseconds(), PauseStallNanos: k.pauseStall.Nanoseconds(),
		InputStallNanos: k.inputStall.Nanoseconds(), Marks: k.marks, Drops: k.drops, QueuedBytes: c.queued,
		XmitWaitTicks: uint64(float64(k.creditStall+k.pauseStall) / (s.cfg.XmitTickPicos * 1000))}
	for lane := range s.lanes {
		b := &s.buffers[int(ch)<<s.shift+lane]
		rx, tx := b.pauseRx, b.pauseTx
		if b.paused {
			rx += s.now - b.pausedAt
		}
		if b.pausing {
			tx += s.now - b.pausingAt
		}
		out.PauseRxNanos[lane], out.PauseTxNanos[lane] = rx.Nanoseconds(), tx.Nanoseconds()
	}
	return out
}

// LinkPackets is the number of packets sent so far, summed over all links.
func (s *Sim) LinkPackets() (n uint64) {
	for i := range s.channels {
		n += s.channels[i].counters.packets
	}
	return n
}

// Channels are the directed links, for Counters.
func (s *Sim) Channels() *routing.Channels { return s.routes }
