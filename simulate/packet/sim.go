package packet

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// Notice is an event that a program may wait for.
type Notice struct {
	Kind     NoticeKind
	Transfer TransferID
	Timer    int32
}

// NoticeKind is the kind of a notice.
type NoticeKind uint8

// Kinds of notices.
const (
	Arrived   NoticeKind = iota // a put's data are in the target's memory
	Completed                   // the poster's transfer is complete
	Failed                      // the transfer has failed
	Timed                       // a timer has expired
)

// Sim is one simulation. It is not safe for concurrent use. Each part owns one kind of
// state and calls the parts above it only; what happens later it schedules.
type Sim struct {
	cfg       Config
	clock     *clock     // time and events
	observers *observers // callbacks
	transfers *transfers // what was posted, and how it ends
	paths     *paths     // routes, lanes
	fabric    *fabric    // links, switches and the packets in them
	flows     *flows     // congestion control
	dmas      *dmas      // memory access
	senders   *senders   // NICs' sending sides; fabric tells them what has left their queues
	receivers *receivers // NICs' receiving sides
	faults    []Fault
	events    uint64
	switches  bool // nodes are switches with NICs, as in a torus without hosts
}

// New returns a simulation of a fabric at time 0.
func New(g *topology.Graph, cfg Config) (*Sim, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("packet model: %w", err)
	}
	s := &Sim{cfg: cfg, clock: &clock{}, observers: &observers{}}
	s.transfers = &transfers{clock: s.clock, overhead: Nanos(cfg.OverheadNanos)}
	random := rand.New(rand.NewPCG(uint64(cfg.Seed), 0))
	var err error
	if s.paths, err = newPaths(g, cfg, random); err != nil {
		return nil, err
	}
	s.switches = g.IsSwitch(g.Hosts()[0])
	if s.fabric, err = newFabric(cfg, s.clock, s.observers, s.transfers, s.paths, random); err != nil {
		return nil, err
	}
	s.flows = &flows{clock: s.clock, cfg: &s.cfg.Rate, paths: s.paths, fabric: s.fabric,
		nic: cfg.DMASpeed * float64(cfg.DMAChannels), shared: map[uint64]int32{}}
	s.dmas = newDMAs(cfg, g.NumDevices())
	s.senders = newSenders(s)
	s.fabric.leftNIC = s.senders.left
	s.receivers = newReceivers(s)
	return s, nil
}

// Now is the simulated time.
func (s *Sim) Now() Time { return s.clock.now }

// Underway is the number of transfers that are neither complete nor failed.
func (s *Sim) Underway() int { return s.transfers.underway }

// Idle reports whether no events are pending.
func (s *Sim) Idle() bool { return s.clock.queue.peek() == Never }

// Channels are the directed links, for Counters.
func (s *Sim) Channels() *routing.Channels { return s.paths.routes }

// Counters reads a channel's counters at Now.
func (s *Sim) Counters(ch routing.Channel) Counters { return s.fabric.counters(ch) }

// LinkPackets is the number of packets sent so far, summed over all links.
func (s *Sim) LinkPackets() (n uint64) {
	for i := range s.fabric.channels {
		n += s.fabric.channels[i].counters.packets
	}
	return n
}

// Profile hashes the link speeds of paths: paths with equal profiles take the same time
// on an idle fabric.
func (s *Sim) Profile(along Paths) uint64 {
	h := uint64(14695981039346656037)
	for _, path := range [2][]routing.Channel{along.Data, along.Control} {
		for _, ch := range path {
			h = (h ^ math.Float64bits(float64(s.fabric.channels[ch].pace))) * 1099511628211
		}
		h = (h ^ uint64(len(path))) * 1099511628211
	}
	return h
}

// Timer requests a Timed notice, with a number below 2^28, after a delay.
func (s *Sim) Timer(delay Time, number int32) error {
	now := s.clock.now
	if delay < 0 || delay > horizon || now+delay > horizon {
		return fmt.Errorf("a delay of %v s at %v s: a simulation lasts %v s", delay.Nanoseconds()/1e9, now.Nanoseconds()/1e9, horizon.Nanoseconds()/1e9)
	}
	s.clock.later(delay, atTimer, number)
	return nil
}

// Next advances to the next notice, or to limit if there is none up to then. It returns
// false at the limit, or, with limit Never, if no events are left.
func (s *Sim) Next(limit Time) (Notice, bool) {
	for {
		at := s.clock.queue.peek()
		if at > limit || at == Never {
			if limit != Never {
				s.clock.now = max(s.clock.now, limit)
			}
			return Notice{}, false
		}
		e := s.clock.next()
		s.events++
		if notice, ok := s.handle(kindOf(e), indexOf(e)); ok {
			return notice, true
		}
	}
}

func (s *Sim) handle(k kind, i int32) (Notice, bool) {
	switch k {
	case atSwitch:
		s.fabric.arriveAtSwitch(i)
	case atNIC:
		s.receivers.receive(i)
	case atLinkFree:
		s.fabric.wake(i)
	case atInputFree:
		s.fabric.inputFree(i)
	case atDMADone:
		s.senders.inject(i)
	case atPump:
		s.senders.pumpDue(i)
	case atDelivered:
		s.receivers.delivered(i)
	case atArrived:
		return Notice{Kind: Arrived, Transfer: TransferID(i)}, true
	case atCompleted:
		s.transfers.complete(i)
		return Notice{Kind: Completed, Transfer: TransferID(i)}, true
	case atRequest:
		s.senders.sendControl(i, getRequest)
	case atTimer:
		return Notice{Kind: Timed, Timer: i}, true
	case atFault:
		s.applyFault(i)
	case atResend:
		return s.resend(i)
	case atPause:
		s.fabric.togglePause(i)
	case atDrain:
		s.fabric.rooms.drain(i)
	}
	return Notice{}, false
}
