package packet

import (
	"fmt"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// Fault changes a link, or all links of a device, at a time.
type Fault struct {
	At     Time
	Link   schema.LinkID     // if NoLink, the fault is
	Device topology.DeviceID // of all links of this device
	Share  float64           // remaining share of the speed: 0 is down, 1 intact
}

// minShare is the least share of its speed that a degraded link keeps: slower ones are simulated as down.
const minShare = 1e-3

// Inject schedules a fault at its time, which must not be in the past. A link that
// breaks loses what it carries; the packets waiting for it take another path if there
// is one, and are otherwise lost and retransmitted.
func (s *Sim) Inject(f Fault) error {
	switch {
	case f.At < s.now:
		return fmt.Errorf("fault at %v ns: the simulation is already at %v ns", f.At.Nanoseconds(), s.now.Nanoseconds())
	case f.At > horizon:
		return fmt.Errorf("fault at %v s: a simulation lasts %v s", f.At.Nanoseconds()/1e9, horizon.Nanoseconds()/1e9)
	case f.Share != 0 && !(f.Share >= minShare && f.Share <= 1):
		return fmt.Errorf("fault that leaves a link %v of its speed: want 0 (down), or %v to 1 (whole)", f.Share, minShare)
	case f.Link != schema.NoLink && int(f.Link) >= s.graph.NumLinks():
		return fmt.Errorf("fault of link %d: the fabric has %d links", f.Link, s.graph.NumLinks())
	case f.Link == schema.NoLink && int(f.Device) >= s.graph.NumDevices():
		return fmt.Errorf("fault of device %d: the fabric has %d devices", f.Device, s.graph.NumDevices())
	}
	s.queue.push(f.At, atFault, int32(len(s.faults)))
	s.faults = append(s.faults, f)
	return nil
}

// applyFault breaks or repairs. Routes react to a failure after Config.RerouteMicros,
// in a second event of the same fault.
func (s *Sim) applyFault(number int32) {
	f := &s.faults[number]
	channels := s.links(f)
	aware := f.At + Nanos(s.cfg.RerouteMicros*1000)
	for _, ch := range channels {
		c := &s.channels[ch]
		switch {
		case f.Share > 0:
			c.broken = false
			c.pace = paceOf(s.speed(ch) * f.Share)
			s.reroute(ch, true)
			continue
		case s.now == f.At:
			s.cutChannel(int32(ch))
		}
		if s.now == aware && c.broken {
			s.reroute(ch, false)
		}
	}
	if f.Share > 0 || s.now > f.At {
		return
	}
	for _, ch := range channels {
		s.rerouteWaiting(int32(ch))
	}
	if aware > s.now {
		s.queue.push(aware, atFault, number)
	}
}

func (s *Sim) reroute(ch routing.Channel, up bool) {
	if s.routes.Up(ch) != up {
		s.routes.SetUp(ch, up)
		s.version++
		clear(s.cached)
	}
}

// cutChannel breaks a channel: it becomes free, and what it carried is lost. A packet
// whose head has passed continues torn, and is dropped at the end of its path.
func (s *Sim) cutChannel(ch int32) {
	c := &s.channels[ch]
	if c.broken {
		return
	}
	c.broken = true
	c.epoch++
	if c.freeAt > s.now {
		s.pkts[c.pkt].torn = true
		c.counters.busy -= c.freeAt - s.now
		c.freeAt, c.since = s.now, s.now
	}
	s.idle(c)
}

// rerouteWaiting redirects the packets that wait for a broken channel.
func (s *Sim) rerouteWaiting(ch int32) {
	c := &s.channels[ch]
	lane := c.first
	c.first, c.last = none, none
	for lane != none {
		b := &s.buffers[lane]
		next := b.next
		b.waiting, b.next = false, none
		s.requestHead(lane)
		lane = next
	}
}

// DropReason is why a packet was lost.
type DropReason uint8

// Reasons.
const (
	LostOnLink DropReason = iota // the link broke while or before carrying it
	BufferFull                   // PFC: the headroom was too small
	NoRoute                      // no path is left
	numReasons
)

// lose is drop for a packet that a channel has carried, or none.
func (s *Sim) lose(i, ch int32, why DropReason) {
	p := &s.pkts[i]
	if why == LostOnLink && s.cfg.FlowControl == Credits {
		s.release(p.lane, int64(p.wire), s.now)
	}
	s.drop(i, ch, why)
}

// drop counts a loss and schedules a retransmission.
func (s *Sim) drop(i, ch int32, why DropReason) {
	if ch == none {
		s.unrouted++
	} else {
		s.channels[ch].counters.drops[why]++
	}
	s.lost++
	s.later(Nanos(s.cfg.RetransmitNanos), atResend, i)
}

// resend retransmits a lost packet from the start, or fails its transfer.
func (s *Sim) resend(i int32) (Notice, bool) {
	p := &s.pkts[i]
	id := p.transfer
	t := &s.transfers[id]
	p.tries++
	p.marked, p.torn = false, false
	switch {
	case t.state != underway:
		s.freePacket(i)
	case int(p.tries) > s.cfg.Retries:
		s.freePacket(i)
		return Notice{Kind: Failed, Transfer: TransferID(id)}, s.fail(id)
	case p.role == payload:
		n := &s.nics[t.src]
		p.next = n.resend
		n.resend = i
		s.pump(t.src)
	default:
		s.launch(i)
	}
	return Notice{}, false
}
