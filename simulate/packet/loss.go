package packet

import (
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// DropReason is why a packet was lost.
type DropReason uint8

// Reasons.
const (
	LostOnLink DropReason = iota // the link broke while or before carrying it
	BufferFull                   // PFC: the headroom was too small
	NoRoute                      // no path is left
	numReasons
)

// cut breaks a channel. A packet whose head has passed continues torn, and is dropped at
// the end of its path.
func (f *fabric) cut(ch routing.Channel) {
	c := &f.channels[ch]
	if c.broken {
		return
	}
	if torn := c.cut(f.now); torn != none {
		f.pkts[torn].torn = true
	}
}

// mend makes a channel work with a share of its speed.
func (f *fabric) mend(ch routing.Channel, share float64) {
	c := &f.channels[ch]
	c.broken = false
	c.pace = paceOf(f.speed(ch) * share)
}

// rerouteWaiting redirects the packets that wait for a broken channel.
func (f *fabric) rerouteWaiting(ch routing.Channel) {
	c := &f.channels[ch]
	lane := c.first
	c.first, c.last = none, none
	for lane != none {
		b := &f.buffers[lane]
		next := b.next
		b.waiting, b.next = false, none
		f.requestHead(lane)
		lane = next
	}
}

// detour redirects the head of a buffer whose channel is broken; if there is no other
// path the packet is lost and detour returns false.
func (f *fabric) detour(lane int32) bool {
	i := f.buffers[lane].head
	p := &f.pkts[i]
	to, class := f.transfers.destination(p)
	ch := f.wants(p)
	here, _ := f.paths.routes.Ends(routing.Channel(ch))
	w, ok := f.paths.find(here, topology.DeviceID(to), class, uint64(p.transfer))
	if !f.inNIC(lane) {
		f.channels[ch].queued -= int64(p.wire)
	}
	if ok && !f.channels[f.paths.first(w)].broken {
		p.path = w
		f.paths.enter(p, 0)
		if !f.inNIC(lane) {
			f.channels[f.wants(p)].queued += int64(p.wire)
		}
		return true
	}
	b := &f.buffers[lane]
	f.headLeaves(lane)
	b.head = p.next
	f.release(p.from, int64(p.wire), f.now)
	f.drop(i, ch, LostOnLink)
	if b.head != none {
		f.headWaits(lane)
	}
	return false
}

// lose drops a packet that a channel has carried.
func (f *fabric) lose(i int32, why DropReason) {
	p := &f.pkts[i]
	if why == LostOnLink && f.cfg.FlowControl == Credits {
		f.release(p.lane, int64(p.wire), f.now)
	}
	f.drop(i, f.channel(p.lane), why)
}

// drop counts a loss, at a channel or none, and schedules a retransmission.
func (f *fabric) drop(i, ch int32, why DropReason) {
	if ch == none {
		f.unrouted++
	} else {
		f.channels[ch].counters.drops[why]++
	}
	f.lost++
	f.later(Nanos(f.cfg.RetransmitNanos), atResend, i)
}
