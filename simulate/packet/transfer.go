package packet

import (
	"fmt"

	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// TransferID numbers transfers consecutively in posting order.
type TransferID int32

// Verb is the kind of a transfer.
type Verb uint8

// Verbs.
const (
	Put Verb = iota // memory of From to memory of To
	Get             // memory of To to memory of From, on From's request
)

// Request is a transfer to post.
type Request struct {
	Verb     Verb
	From, To topology.DeviceID // From posts; equal devices are an intra-node transfer
	Bytes    int64
	Class    int
}

// Times of a transfer; Never for what has not happened.
type Times struct {
	Posted    Time // the call
	DMAStart  Time // the first DMA of its data begins
	Arrived   Time // the last DMA into the target memory ends (the paper's T_end)
	Completed Time // the poster is notified
}

// Paths are the channels of a transfer, in order: those of its data, and those of its
// control packets, which go in the opposite direction.
type Paths struct{ Data, Control []routing.Channel }

type state uint8

const (
	underway state = iota
	done
	failed
)

// transfer is a posted Request. Its data go from src to dst; for a get these are the
// target and the poster.
type transfer struct {
	src, dst    int32
	verb        Verb
	state       state
	class       uint8
	started     bool
	bytes       int64
	unsent      int64 // payload whose DMA has not begun
	pending     int32 // packets whose DMA at dst has not ended
	next        int32 // in the NIC's queue
	eligible    Time  // of the first DMA
	arriving    Time  // latest end of a DMA at dst
	path        hopRange
	controlPath hopRange // of its control packets
	unacked     int32    // packets not yet acknowledged to the poster
	inFlight    int64    // payload of those that were sent
	echo        bool     // the last packet received was marked
	flow        int32
	Times
}

const none = int32(-1)

// maxPackets bounds the packets of one transfer.
const maxPackets = 1 << 30

// newTransfer is a transfer without its paths.
func newTransfer(r Request, packetBytes int64, posted Time) transfer {
	t := transfer{src: int32(r.From), dst: int32(r.To), verb: r.Verb, class: uint8(r.Class), bytes: r.Bytes, unsent: r.Bytes, next: none, flow: none,
		pending: int32(max(1, (r.Bytes+packetBytes-1)/packetBytes)),
		Times:   Times{Posted: posted, DMAStart: Never, Arrived: Never, Completed: Never}}
	if r.Verb == Get {
		t.src, t.dst = t.dst, t.src
	}
	t.unacked = t.pending
	return t
}

// lastBytes is the payload of a transfer's last packet.
func (t *transfer) lastBytes(packet int64) int32 {
	if t.bytes == 0 {
		return 0
	}
	return int32((t.bytes-1)%packet + 1)
}

// transfers are all that were posted, and how they end: the library notifies a program
// of an end after its overhead.
type transfers struct {
	*clock
	overhead Time
	all      []transfer
	underway int // neither complete nor failed
}

func (x *transfers) add(t transfer) int32 {
	x.all = append(x.all, t)
	x.underway++
	return int32(len(x.all) - 1)
}

// destination is where a packet goes, and in which class.
func (x *transfers) destination(p *pkt) (node int32, class int) {
	t := &x.all[p.transfer]
	if p.role != payload {
		return t.src, int(t.class)
	}
	return t.dst, int(t.class)
}

// arrived records that a transfer's data are in the target's memory.
func (x *transfers) arrived(id int32) *transfer {
	t := &x.all[id]
	t.Arrived = x.now
	if t.verb == Put {
		x.later(x.overhead, atArrived, id)
	}
	return t
}

// confirm notifies a transfer's poster.
func (x *transfers) confirm(id int32) { x.later(x.overhead, atCompleted, id) }

func (x *transfers) complete(id int32) {
	t := &x.all[id]
	t.Completed = x.now
	t.state = done
	x.underway--
}

// fail reports whether a transfer was underway; it has now failed.
func (x *transfers) fail(id int32) bool {
	t := &x.all[id]
	if t.state != underway {
		return false
	}
	t.state = failed
	x.underway--
	return true
}

// Post starts a transfer now.
func (s *Sim) Post(r Request) (TransferID, error) { return s.PostAlong(r, Paths{}) }

// PostAlong is Post on given paths, until a fault changes the routes; the router finds
// the empty ones.
func (s *Sim) PostAlong(r Request, along Paths) (TransferID, error) {
	if err := s.check(r); err != nil {
		return 0, err
	}
	t := newTransfer(r, s.cfg.PacketBytes, s.clock.now)
	var err error
	if t.path, err = s.paths.given(along.Data, t.src, t.dst, r.Class); err != nil {
		return 0, err
	}
	if t.controlPath, err = s.paths.given(along.Control, t.dst, t.src, r.Class); err != nil {
		return 0, err
	}
	id := s.transfers.add(t)
	overhead := s.transfers.overhead
	switch {
	case r.Verb == Put || t.src == t.dst:
		s.senders.submit(id, s.clock.now+overhead)
	case overhead > 0:
		s.clock.later(overhead, atRequest, id)
	default:
		s.senders.sendControl(id, getRequest)
	}
	return TransferID(id), nil
}

func (s *Sim) check(r Request) error {
	g, now := s.paths.graph, s.clock.now
	n := topology.DeviceID(g.NumDevices())
	switch {
	case r.From >= n || r.To >= n:
		return fmt.Errorf("transfer from device %d to %d: the fabric has %d devices", r.From, r.To, n)
	case g.IsSwitch(r.From) != s.switches || g.IsSwitch(r.To) != s.switches:
		return fmt.Errorf("transfer from %q to %q: both must be nodes of the fabric", g.Device(r.From).Name, g.Device(r.To).Name)
	case r.Bytes < 0 || r.Bytes/s.cfg.PacketBytes >= maxPackets:
		return fmt.Errorf("transfer of %d bytes: want 0 to %d packets of %d", r.Bytes, maxPackets, s.cfg.PacketBytes)
	case now > horizon:
		return fmt.Errorf("transfer at %v s: a simulation lasts %v s", now.Nanoseconds()/1e9, horizon.Nanoseconds()/1e9)
	case r.Class < 0 || r.Class >= s.cfg.Classes:
		return fmt.Errorf("transfer in class %d: the model has classes=%d", r.Class, s.cfg.Classes)
	case len(s.transfers.all) >= 1<<argBits-1:
		return fmt.Errorf("more than %d transfers", len(s.transfers.all))
	}
	return nil
}

// Times returns the times of a transfer so far.
func (s *Sim) Times(id TransferID) Times { return s.transfers.all[id].Times }

// Paths returns the last paths of a transfer; they are empty for an intra-node transfer
// and for what has not been sent.
func (s *Sim) Paths(id TransferID) Paths {
	t := &s.transfers.all[id]
	return Paths{s.paths.channelsOf(t.path), s.paths.channelsOf(t.controlPath)}
}
