package packet

import (
	"fmt"
	"math/rand/v2"

	"github.com/giverny/giverny/simulate/routing"
)

// buffer is the queue of one lane: of the input at the far end of a channel, of a NIC's
// packets for its first channel, or of a switch's output before a channel. Only the head
// may leave, one packet at a time.
type buffer struct {
	head, tail int32
	next       int32 // in the list of the channel that its head wants
	waiting    bool  // it is in that list
	due        bool  // an atInputFree is pending
	busyUntil  Time  // the previous packet is leaving until then
}

// fabric is the links and switches: packets wait in buffers, request the channel of their
// next hop, and are sent over it when arbitration and flow control allow.
type fabric struct {
	*clock
	*observers
	packets
	lanes
	cfg       Config
	paths     *paths
	transfers *transfers
	rooms     rooms
	random    *rand.Rand // of marks
	cable     Time
	stages    Time                          // of a switch
	leftNIC   func(node int32, bytes int64) // a packet leaves a NIC's queue

	channels []channel
	buffers  []buffer // by channel and lane, then by NIC and lane, then output queues by channel and lane
	outputs  int32    // index of the first output queue in buffers
	lost     uint64
	unrouted uint64
}

func newFabric(cfg Config, c *clock, o *observers, t *transfers, p *paths, random *rand.Rand) (*fabric, error) {
	n, nodes := p.routes.Len(), p.graph.NumDevices()
	if (2*n+nodes)*p.perChannel >= 1<<argBits {
		return nil, fmt.Errorf("packet model: %d channels of %d lanes are too many", n, p.perChannel)
	}
	f := &fabric{cfg: cfg, clock: c, observers: o, packets: packets{spare: none}, lanes: p.lanes, transfers: t, paths: p, random: random,
		rooms: newRooms(c, cfg, n*p.perChannel), cable: Nanos(cfg.CableNanos), stages: cfg.switchLatency(), channels: make([]channel, n)}
	for i := range f.channels {
		ch := routing.Channel(i)
		speed := f.speed(ch)
		if speed <= 0 {
			return nil, fmt.Errorf("packet model: link %q has no capacity; set link_gbytes", p.routes.Name(ch))
		}
		f.channels[i] = channel{pace: paceOf(speed), wakeAt: Never, first: none, last: none, holder: none, broken: !p.routes.Up(ch)}
	}
	f.outputs = int32((n + nodes) * p.perChannel)
	queues := int(f.outputs)
	if cfg.OutputQueued {
		queues += n * p.perChannel
	}
	f.buffers = make([]buffer, queues)
	for i := range f.buffers {
		f.buffers[i] = buffer{head: none, tail: none, next: none}
	}
	return f, nil
}

// speed is that of an intact link, in GB/s.
func (f *fabric) speed(ch routing.Channel) float64 {
	if f.cfg.LinkSpeed > 0 {
		return f.cfg.LinkSpeed
	}
	return f.paths.graph.Capacity(f.paths.routes.Link(ch)) / 1e9
}

// inInput and inNIC distinguish a switch's input buffer and a NIC's queue for its first
// channel from other buffers.
func (f *fabric) inInput(lane int32) bool { return int(f.channel(lane)) < len(f.channels) }

func (f *fabric) inNIC(lane int32) bool { return !f.inInput(lane) && lane < f.outputs }

// wants is the channel that a packet needs next.
func (f *fabric) wants(p *pkt) int32 { return f.channel(p.lane) }

// depart puts a packet with a path into its NIC's queue.
func (f *fabric) depart(node, i int32) {
	p := &f.pkts[i]
	f.paths.enter(p, 0)
	p.from = (int32(len(f.channels))+node)<<f.shift | p.lane&int32(f.perChannel-1)
	f.enqueue(p.from, i)
}

// arriveAtSwitch puts a packet into the buffer at the end of the channel that carried it.
func (f *fabric) arriveAtSwitch(i int32) {
	p := &f.pkts[i]
	lane := p.lane
	if !f.arrive(i, p.epoch != f.channels[f.channel(lane)].epoch) {
		return
	}
	f.paths.enter(p, p.hop+1)
	p.from = lane
	if f.watch.Queued != nil && p.role == payload {
		f.watch.Queued(Queued{From: routing.Channel(f.channel(lane)), To: routing.Channel(f.wants(p)), Transfer: TransferID(p.transfer),
			Bytes: p.size, Ahead: f.channels[f.wants(p)].queued, Paused: f.rooms.lanes[p.lane].paused})
	}
	if f.cfg.OutputQueued {
		lane = f.outputs + p.lane
	}
	f.enqueue(lane, i)
}

// arrive takes a packet whose channel ends here into the far buffer's room, and otherwise
// loses it.
func (f *fabric) arrive(i int32, broken bool) bool {
	p := &f.pkts[i]
	switch {
	case broken:
		f.lose(i, LostOnLink)
		return false
	case !f.rooms.admit(p.lane, int64(p.wire)):
		f.lose(i, BufferFull)
		return false
	}
	return true
}

// release returns a packet's room in a buffer at a time, when the packet has left. In a
// NIC's queue the room is free as soon as the packet begins to leave.
func (f *fabric) release(lane int32, bytes int64, at Time) {
	ch := f.channel(lane)
	if node := ch - int32(len(f.channels)); node >= 0 {
		f.leftNIC(node, bytes)
		return
	}
	f.rooms.giveBack(lane, bytes, at)
	if f.channels[ch].stall == noCredit {
		f.wakeLater(ch, f.rooms.nextReturn(lane))
	}
}

// enqueue appends a packet to a buffer.
func (f *fabric) enqueue(lane, i int32) {
	b := &f.buffers[lane]
	p := &f.pkts[i]
	p.next = none
	if !f.inNIC(lane) {
		f.channels[f.wants(p)].queued += int64(p.wire)
	}
	if b.head != none {
		f.pkts[b.tail].next = i
		b.tail = i
		return
	}
	b.head, b.tail = i, i
	f.headWaits(lane)
	f.requestHead(lane)
}

func (f *fabric) headWaits(lane int32) {
	if f.inInput(lane) {
		f.channels[f.channel(lane)].headWaits(f.now)
	}
}

func (f *fabric) headLeaves(lane int32) {
	if f.inInput(lane) {
		f.channels[f.channel(lane)].headLeaves(f.now)
	}
}

// inputFree lets the next packet of a buffer request its channel.
func (f *fabric) inputFree(lane int32) {
	f.buffers[lane].due = false
	f.requestHead(lane)
}

// requestHead makes the head of a buffer request its channel, once the previous packet has
// left the input.
func (f *fabric) requestHead(lane int32) {
	b := &f.buffers[lane]
	if b.waiting || b.due {
		return
	}
	for b.head != none {
		ch := f.wants(&f.pkts[b.head])
		c := &f.channels[ch]
		if c.broken {
			if !f.detour(lane) {
				continue
			}
			ch = f.wants(&f.pkts[b.head])
			c = &f.channels[ch]
		}
		if b.busyUntil > f.now && c.freeAt < b.busyUntil {
			b.due = true
			f.at(b.busyUntil, atInputFree, lane)
			return
		}
		f.requestOutput(ch, lane)
		return
	}
}

// togglePause pauses a lane's sender, or lets it resume.
func (f *fabric) togglePause(lane int32) {
	ch := f.channel(lane)
	isPaused := f.rooms.togglePause(lane)
	if f.watch.Paused != nil {
		f.watch.Paused(routing.Channel(ch), isPaused)
	}
	if c := &f.channels[ch]; !isPaused && c.freeAt <= f.now {
		f.serve(ch)
	}
}

// counters reads a channel's counters.
func (f *fabric) counters(ch routing.Channel) Counters {
	out := f.channels[ch].read(f.now, f.cfg.XmitTickPicos)
	for lane := range f.perChannel {
		rx, tx := f.rooms.pauses(int32(ch)<<f.shift + int32(lane))
		out.PauseRxNanos[lane], out.PauseTxNanos[lane] = rx.Nanoseconds(), tx.Nanoseconds()
	}
	return out
}
