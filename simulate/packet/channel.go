package packet

// channel is a directed link and its sender.
type channel struct {
	pace   pace
	freeAt Time  // end of the current packet
	since  Time  // start of idling or stalling; freeAt while busy
	wakeAt Time  // of the next atLinkFree, or Never
	first  int32 // buffers whose head wants it, in order of request
	last   int32
	holder int32 // transfer carried last
	pkt    int32 // packet carried last
	turn   int32 // lane after the one served last
	stall  blockCause
	broken bool
	epoch  uint16 // incremented when it breaks, so that what it carried is lost

	queued   int64 // bytes in switch buffers that want it, without the NIC's queue
	heads    int32 // packets waiting at the head of its far buffers
	headsAt  Time  // since when heads > 0
	counters channelCounters
}

type blockCause uint8

const (
	notBlocked blockCause = iota
	noCredit
	paused
)

// channelCounters are the counters of a channel.
type channelCounters struct {
	bytes, packets          uint64
	busy, idle              Time
	creditStall, pauseStall Time
	inputStall              Time
	marks                   uint64
	drops                   [numReasons]uint64
}

// endPeriod ends the current period without sending, and counts it as stalled or idle.
func (c *channel) endPeriod(now Time) {
	switch d := now - c.since; c.stall {
	case noCredit:
		c.counters.creditStall += d
	case paused:
		c.counters.pauseStall += d
	default:
		c.counters.idle += d
	}
	c.stall, c.since = notBlocked, now
}

func (c *channel) stallFor(cause blockCause, now Time) {
	if c.stall != cause {
		c.endPeriod(now)
		c.stall = cause
	}
}

// occupy lets an idle channel carry a packet until finish.
func (c *channel) occupy(p *pkt, i int32, now, finish Time) {
	c.endPeriod(now)
	c.counters.busy += finish - now
	c.counters.bytes += uint64(p.wire)
	c.counters.packets++
	c.freeAt, c.since = finish, finish
	c.holder, c.pkt = p.transfer, i
}

// cut breaks a channel: it becomes free, and what it carried is lost. It returns the packet
// that it was carrying, or none.
func (c *channel) cut(now Time) (torn int32) {
	torn = none
	c.broken = true
	c.epoch++
	if c.freeAt > now {
		torn = c.pkt
		c.counters.busy -= c.freeAt - now
		c.freeAt, c.since = now, now
	}
	c.endPeriod(now)
	return torn
}

// headWaits and headLeaves measure the time in which a ready packet waits at the head
// of a far buffer: Gemini's input-queue stall.
func (c *channel) headWaits(now Time) {
	if c.heads == 0 {
		c.headsAt = now
	}
	c.heads++
}

func (c *channel) headLeaves(now Time) {
	if c.heads--; c.heads == 0 {
		c.counters.inputStall += now - c.headsAt
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

// read returns the counters up to now, without the pauses of the lanes.
func (c channel) read(now Time, xmitTickPicos float64) Counters {
	if c.since > now {
		c.counters.busy -= c.since - now
	} else {
		c.endPeriod(now)
	}
	if c.heads > 0 {
		c.counters.inputStall += now - c.headsAt
	}
	k := &c.counters
	return Counters{Bytes: k.bytes, Packets: k.packets, BusyNanos: k.busy.Nanoseconds(), IdleNanos: k.idle.Nanoseconds(),
		CreditStallNanos: k.creditStall.Nanoseconds(), PauseStallNanos: k.pauseStall.Nanoseconds(),
		InputStallNanos: k.inputStall.Nanoseconds(), Marks: k.marks, Drops: k.drops, QueuedBytes: c.queued,
		XmitWaitTicks: uint64(float64(k.creditStall+k.pauseStall) / (xmitTickPicos * 1000))}
}
