package packet

import (
	"fmt"
	"math/rand/v2"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// kind is the kind of an event; each comment begins with what its index refers to.
type kind uint8

const (
	atSwitch    kind = iota // pkt: its head, or tail, has passed through the switch's stages
	atNIC                   // pkt: its tail has reached its last device
	atLinkFree              // channel: it may send again
	atInputFree             // lane: the next packet may leave the input
	atDMADone               // pkt: it may leave the NIC
	atPump                  // NIC: a DMA may begin
	atDelivered             // transfer: its last DMA has ended
	atArrived               // transfer: the target's library is notified
	atCompleted             // transfer: the poster's library is notified
	atRequest               // transfer: a get's request leaves
	atTimer                 // number passed to Timer
	atFault                 // fault
	atResend                // pkt: it was lost
	atPause                 // lane: its sender pauses or resumes
	atDrain                 // lane: a paused buffer may have room
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

// Sim is one simulation. It is not safe for concurrent use.
type Sim struct {
	cfg      Config
	graph    *topology.Graph
	routes   *routing.Channels
	router   *routing.Router
	now      Time
	queue    queue
	random   *rand.Rand
	overhead Time
	stages   Time // of a switch
	cable    Time
	dma      pace
	lanes    int // per channel, a power of two
	shift    int // log2 of lanes
	vcs      int // per class

	channels    []channel
	buffers     []buffer // by channel and lane, then by NIC and lane, then output queues by channel and lane
	outputs     int      // index of the first output queue in buffers
	nics        []nic
	dmaFree     []Time // by NIC, side and DMA channel
	pkts        []pkt
	spare       int32 // first free pkt
	transfers   []transfer
	underway    int
	returns     []creditReturn
	spareReturn int32

	hops     []uint32 // arena of hops: indices into buffers
	cached   map[uint64]hopRange
	version  uint16 // of the routes
	scratch  []routing.Channel
	flows    []flow
	flowOf   map[uint64]int32
	faults   []Fault
	observer func(waiting, holder TransferID, d Time, where Place)
	watch    Watch
	events   uint64
	lost     uint64
	unrouted uint64
}

// New returns a simulation of a fabric at time 0.
func New(g *topology.Graph, cfg Config) (*Sim, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("packet model: %w", err)
	}
	s := &Sim{cfg: cfg, graph: g, routes: routing.NewChannels(g), cached: map[uint64]hopRange{}, flowOf: map[uint64]int32{},
		random: rand.New(rand.NewPCG(uint64(cfg.Seed), 0)), overhead: Nanos(cfg.OverheadNanos),
		stages: cfg.switchLatency(), cable: Nanos(cfg.CableNanos), dma: paceOf(cfg.DMASpeed), spare: none, spareReturn: none}
	policy := cfg.Routing
	if policy == routing.Default && g.Grid() == nil && !hasGlobals(g) {
		policy = routing.DModK
	}
	var err error
	if s.router, err = routing.New(s.routes, policy); err != nil {
		return nil, fmt.Errorf("packet model: %w", err)
	}
	if err := s.assignLanes(); err != nil {
		return nil, err
	}
	if err := s.makeChannels(); err != nil {
		return nil, err
	}
	s.makeNICs()
	return s, nil
}

func hasGlobals(g *topology.Graph) bool {
	for l := range g.NumLinks() {
		if g.Link(schema.LinkID(l)).Class == topology.ClassGlobal {
			return true
		}
	}
	return false
}

// Now is the simulated time.
func (s *Sim) Now() Time { return s.now }

// Underway is the number of transfers that are neither complete nor failed.
func (s *Sim) Underway() int { return s.underway }

// Idle reports whether no events are pending.
func (s *Sim) Idle() bool { return s.queue.peek() == Never }

// Timer requests a Timed notice, with a number below 2^28, after a delay.
func (s *Sim) Timer(delay Time, number int32) error {
	if delay < 0 || delay > horizon || s.now+delay > horizon {
		return fmt.Errorf("a delay of %v s at %v s: a simulation lasts %v s", delay.Nanoseconds()/1e9, s.now.Nanoseconds()/1e9, horizon.Nanoseconds()/1e9)
	}
	s.later(delay, atTimer, number)
	return nil
}

// Next advances to the next notice, or to limit if there is none up to then. It returns
// false at the limit, or, with limit Never, if no events are left.
func (s *Sim) Next(limit Time) (Notice, bool) {
	for {
		at := s.queue.peek()
		if at > limit || at == Never {
			if limit != Never {
				s.now = max(s.now, limit)
			}
			return Notice{}, false
		}
		e := s.queue.pop()
		s.now = Time(e.Key)
		s.events++
		if notice, ok := s.handle(kindOf(e), indexOf(e)); ok {
			return notice, true
		}
	}
}

func (s *Sim) handle(k kind, i int32) (Notice, bool) {
	switch k {
	case atSwitch:
		s.arriveAtSwitch(i)
	case atNIC:
		s.receive(i)
	case atLinkFree:
		s.wake(i)
	case atInputFree:
		s.buffers[i].due = false
		s.requestHead(i)
	case atDMADone:
		s.inject(i)
	case atPump:
		s.pumpDue(i)
	case atDelivered:
		s.delivered(i)
	case atArrived:
		return Notice{Kind: Arrived, Transfer: TransferID(i)}, true
	case atCompleted:
		s.completed(i)
		return Notice{Kind: Completed, Transfer: TransferID(i)}, true
	case atRequest:
		s.sendControl(i, getRequest)
	case atTimer:
		return Notice{Kind: Timed, Timer: i}, true
	case atFault:
		s.applyFault(i)
	case atResend:
		return s.resend(i)
	case atPause:
		s.setPaused(i)
	case atDrain:
		s.drain(i)
	}
	return Notice{}, false
}
