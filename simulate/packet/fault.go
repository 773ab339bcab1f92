package packet

import (
	"fmt"

	"github.com/giverny/giverny/schema"
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
	case f.At < s.clock.now:
		return fmt.Errorf("fault at %v ns: the simulation is already at %v ns", f.At.Nanoseconds(), s.clock.now.Nanoseconds())
	case f.At > horizon:
		return fmt.Errorf("fault at %v s: a simulation lasts %v s", f.At.Nanoseconds()/1e9, horizon.Nanoseconds()/1e9)
	case f.Share != 0 && !(f.Share >= minShare && f.Share <= 1):
		return fmt.Errorf("fault that leaves a link %v of its speed: want 0 (down), or %v to 1 (whole)", f.Share, minShare)
	case f.Link != schema.NoLink && int(f.Link) >= s.paths.graph.NumLinks():
		return fmt.Errorf("fault of link %d: the fabric has %d links", f.Link, s.paths.graph.NumLinks())
	case f.Link == schema.NoLink && int(f.Device) >= s.paths.graph.NumDevices():
		return fmt.Errorf("fault of device %d: the fabric has %d devices", f.Device, s.paths.graph.NumDevices())
	}
	s.clock.at(f.At, atFault, int32(len(s.faults)))
	s.faults = append(s.faults, f)
	return nil
}

// applyFault breaks or repairs. Routes react to a failure after Config.RerouteMicros,
// in a second event of the same fault.
func (s *Sim) applyFault(number int32) {
	f, now := &s.faults[number], s.clock.now
	channels := s.paths.affected(f)
	if f.Share > 0 {
		for _, ch := range channels {
			s.fabric.mend(ch, f.Share)
			s.paths.setUp(ch, true)
		}
		return
	}
	aware := f.At + Nanos(s.cfg.RerouteMicros*1000)
	for _, ch := range channels {
		if now == f.At {
			s.fabric.cut(ch)
		}
		if now == aware && s.fabric.channels[ch].broken {
			s.paths.setUp(ch, false)
		}
	}
	if now > f.At {
		return
	}
	for _, ch := range channels {
		s.fabric.rerouteWaiting(ch)
	}
	if aware > now {
		s.clock.at(aware, atFault, number)
	}
}

// resend retransmits a lost packet, or fails its transfer.
func (s *Sim) resend(i int32) (Notice, bool) {
	p := &s.fabric.pkts[i]
	id := p.transfer
	p.tries++
	p.marked, p.torn = false, false
	switch {
	case s.transfers.all[id].state != underway:
		s.fabric.freePacket(i)
	case int(p.tries) > s.cfg.Retries:
		s.fabric.freePacket(i)
		return Notice{Kind: Failed, Transfer: TransferID(id)}, s.transfers.fail(id)
	default:
		s.senders.retransmit(i)
	}
	return Notice{}, false
}
