package packet

import (
	"fmt"

	"github.com/giverny/giverny/simulate/routing"
)

// pkt is a packet. It is in flight to a lane, the buffer at the end of a channel, or
// waits for that channel in the buffer before it.
type pkt struct {
	transfer int32
	next     int32 // the packet behind it in its buffer, or in the free list
	size     int32 // payload
	wire     int32 // bytes on a link
	path     hopRange
	lane     int32 // path's lane number hop
	from     int32 // lane whose room it occupies
	hop      uint16
	epoch    uint16 // of the channel that carries it
	role     role
	tries    uint8
	marked   bool
	torn     bool // a link broke after its head had passed
	tail     Time // when its tail has arrived at its current device
}

type role uint8

const (
	payload role = iota
	completion
	getRequest
	notification // of congestion
	acknowledgement
)

// channel is a directed link and its sender.
type channel struct {
	pace   pace
	freeAt Time  // end of the current packet
	since  Time  // begin of the current idle or stall period; freeAt if busy
	wakeAt Time  // time of the next atLinkFree, or Never
	first  int32 // buffers whose head wants it, in order of request
	last   int32
	holder int32 // transfer of the last packet
	pkt    int32 // the last packet
	turn   int32 // lane after the one served last
	stall  blockCause
	broken bool
	epoch  uint16 // incremented when it breaks: packets of older epochs are lost

	queued   int64 // bytes in switch buffers that want it, excluding the NIC's queue
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

// buffer is one lane of the input at the far end of a channel, of a NIC's queue for its
// first channel, or of a switch's output queue before a channel. Only the head may
// leave, one packet at a time.
type buffer struct {
	head, tail  int32
	next        int32 // in the list of the channel that its head wants
	waiting     bool  // it is in that list
	due         bool  // an atInputFree is pending
	paused      bool  // its sender is paused
	pausing     bool  // it has requested a pause
	draining    bool  // an atDrain is pending
	busyUntil   Time  // until then the previous packet is leaving
	room        int64 // credits: bytes its sender may send; PFC: bytes that fit
	firstReturn int32 // room to be returned
	lastReturn  int32
	pausedAt    Time
	pausingAt   Time
	pauseRx     Time // total time that the sender was paused
	pauseTx     Time // total time of requested pauses
}

// creditReturn is room that will be returned at a known time.
type creditReturn struct {
	at    Time
	bytes int64
	next  int32
}

func (s *Sim) makeChannels() error {
	n := s.routes.Len()
	if (2*n+s.graph.NumDevices())*s.lanes >= 1<<argBits {
		return fmt.Errorf("packet model: %d channels of %d lanes are too many", n, s.lanes)
	}
	s.channels = make([]channel, n)
	for i := range s.channels {
		ch := routing.Channel(i)
		speed := s.speed(ch)
		if speed <= 0 {
			return fmt.Errorf("packet model: link %q has no capacity; set link_gbytes", s.routes.Name(ch))
		}
		s.channels[i] = channel{pace: paceOf(speed), wakeAt: Never, first: none, last: none, holder: none, broken: !s.routes.Up(ch)}
	}
	s.outputs = (n + s.graph.NumDevices()) * s.lanes
	s.buffers = make([]buffer, s.outputs, s.outputs+n*s.lanes)
	if s.cfg.OutputQueued {
		s.buffers = s.buffers[:cap(s.buffers)]
	}
	for i := range s.buffers {
		s.buffers[i] = buffer{head: none, tail: none, next: none, room: s.cfg.BufferBytes, firstReturn: none, lastReturn: none}
	}
	return nil
}

// speed of a healthy link, GB/s.
func (s *Sim) speed(ch routing.Channel) float64 {
	if s.cfg.LinkSpeed > 0 {
		return s.cfg.LinkSpeed
	}
	return s.graph.Capacity(s.routes.Link(ch)) / 1e9
}

func (s *Sim) newPacket(p pkt) int32 {
	if s.spare != none {
		i := s.spare
		s.spare = s.pkts[i].next
		s.pkts[i] = p
		return i
	}
	s.pkts = append(s.pkts, p)
	if len(s.pkts) >= 1<<argBits {
		panic("packet: more than 2^28 packets at once")
	}
	return int32(len(s.pkts) - 1)
}

func (s *Sim) freePacket(i int32) {
	s.pkts[i].next = s.spare
	s.spare = i
}

// setHop assigns a packet lane number hop of its path.
func (s *Sim) setHop(p *pkt, hop uint16) {
	p.hop = hop
	p.lane = int32(s.hops[p.path.at+uint32(hop)])
}

// inInput and inNIC distinguish switch input buffers and NIC queues for the first
// channel from the other buffers.
func (s *Sim) inInput(lane int32) bool { return int(lane>>s.shift) < len(s.channels) }

func (s *Sim) inNIC(lane int32) bool { return !s.inInput(lane) && int(lane) < s.outputs }

// wants returns the channel that the packet needs next.
func (s *Sim) wants(p *pkt) int32 { return p.lane >> s.shift }

// arriveAtSwitch puts a packet into the buffer at the end of the channel that carried it.
func (s *Sim) arriveAtSwitch(i int32) {
	p := &s.pkts[i]
	lane := p.lane
	c := &s.channels[lane>>s.shift]
	if p.epoch != c.epoch {
		s.lose(i, lane>>s.shift, LostOnLink)
		return
	}
	if s.cfg.FlowControl == PFC && !s.admit(lane, int64(p.wire)) {
		s.lose(i, lane>>s.shift, BufferFull)
		return
	}
	s.setHop(p, p.hop+1)
	p.from = lane
	if s.watch.Queued != nil && p.role == payload {
		s.watch.Queued(Queued{From: routing.Channel(lane >> s.shift), To: routing.Channel(s.wants(p)), Transfer: TransferID(p.transfer),
			Bytes: p.size, Ahead: s.channels[s.wants(p)].queued, Paused: s.buffers[p.lane].paused})
	}
	if s.cfg.OutputQueued {
		lane = int32(s.outputs) + p.lane
	}
	s.enqueue(lane, i)
}

// enqueue appends a packet to a buffer.
func (s *Sim) enqueue(lane, i int32) {
	b := &s.buffers[lane]
	p := &s.pkts[i]
	p.next = none
	if !s.inNIC(lane) {
		s.channels[s.wants(p)].queued += int64(p.wire)
	}
	if b.head != none {
		s.pkts[b.tail].next = i
		b.tail = i
		return
	}
	b.head, b.tail = i, i
	s.headWaits(lane)
	s.requestHead(lane)
}

// headWaits and headLeaves track the time for which a ready packet waits at the head of
// a channel's far buffer: Gemini's input-queue stall.
func (s *Sim) headWaits(lane int32) {
	if s.inInput(lane) {
		c := &s.channels[lane>>s.shift]
		if c.heads == 0 {
			c.headsAt = s.now
		}
		c.heads++
	}
}

func (s *Sim) headLeaves(lane int32) {
	if s.inInput(lane) {
		c := &s.channels[lane>>s.shift]
		if c.heads--; c.heads == 0 {
			c.counters.inputStall += s.now - c.headsAt
		}
	}
}

// requestHead calls requestOutput for the head of a buffer once the previous packet has
// left the input.
func (s *Sim) requestHead(lane int32) {
	b := &s.buffers[lane]
	if b.waiting || b.due {
		return
	}
	for b.head != none {
		ch := s.wants(&s.pkts[b.head])
		c := &s.channels[ch]
		if c.broken {
			if !s.detour(lane) {
				continue
			}
			ch = s.wants(&s.pkts[b.head])
			c = &s.channels[ch]
		}
		if b.busyUntil > s.now && c.freeAt < b.busyUntil {
			b.due = true
			s.queue.push(b.busyUntil, atInputFree, lane)
			return
		}
		s.requestOutput(ch, lane)
		return
	}
}

// transmit sends the head of a buffer over an idle channel (virtual
// cut-through: its head is at the next switch while its tail is still here).
func (s *Sim) transmit(ch, lane int32) {
	c := &s.channels[ch]
	b := &s.buffers[lane]
	i := b.head
	p := &s.pkts[i]
	s.idle(c)
	finish := s.now + c.pace.of(int64(p.wire))
	if p.tail > finish {
		finish = p.tail // the link is faster than the previous one
	}
	c.counters.busy += finish - s.now
	c.counters.bytes += uint64(p.wire)
	c.counters.packets++
	c.freeAt, c.since = finish, finish
	if !s.inNIC(lane) {
		c.queued -= int64(p.wire)
		if s.cfg.Rate.Enabled && p.role == payload && !p.marked {
			p.marked = s.marks(c)
		}
	}
	if s.observer != nil {
		s.blameWaiting(c, p.transfer, finish-s.now)
	}
	c.holder, c.pkt = p.transfer, i

	s.headLeaves(lane)
	b.head = p.next
	b.busyUntil = finish
	s.release(p.from, int64(p.wire), finish)

	if s.cfg.FlowControl == Credits {
		s.buffers[p.lane].room -= int64(p.wire)
	}
	p.epoch = c.epoch
	switch {
	case p.hop+1 == p.path.hops:
		s.queue.push(finish+s.cable, atNIC, i)
	case s.cfg.StoreAndForward:
		p.tail = finish + s.cable + s.stages
		s.queue.push(p.tail, atSwitch, i)
	default:
		p.tail = finish + s.cable + s.stages
		s.queue.push(s.now+s.cable+s.stages, atSwitch, i)
	}
	if b.head != none {
		s.headWaits(lane)
		s.requestHead(lane)
	}
}
