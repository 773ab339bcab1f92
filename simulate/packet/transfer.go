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

// Paths are the channels of a transfer, in order: those of its data, and those of its
// control packets, which go in the opposite direction.
type Paths struct{ Data, Control []routing.Channel }

// Paths returns the last paths of a transfer; they are empty for an intra-node transfer
// and for what has not been sent.
func (s *Sim) Paths(id TransferID) Paths {
	t := &s.transfers[id]
	return Paths{s.channelsOf(t.path), s.channelsOf(t.controlPath)}
}

func (s *Sim) channelsOf(p hopRange) (path []routing.Channel) {
	for _, lane := range s.hops[p.at : p.at+uint32(p.hops)] {
		path = append(path, routing.Channel(lane>>s.shift))
	}
	return path
}

// Post starts a transfer now.
func (s *Sim) Post(r Request) (TransferID, error) { return s.PostAlong(r, Paths{}) }

// PostAlong is Post on given paths, until a fault changes the routes; the router finds
// the empty ones.
func (s *Sim) PostAlong(r Request, along Paths) (TransferID, error) {
	if err := s.check(r); err != nil {
		return 0, err
	}
	id := int32(len(s.transfers))
	t := transfer{src: int32(r.From), dst: int32(r.To), verb: r.Verb, class: uint8(r.Class), bytes: r.Bytes, unsent: r.Bytes, next: none, flow: none,
		pending: int32(max(1, (r.Bytes+s.cfg.PacketBytes-1)/s.cfg.PacketBytes)),
		Times:   Times{Posted: s.now, DMAStart: Never, Arrived: Never, Completed: Never}}
	if r.Verb == Get {
		t.src, t.dst = t.dst, t.src
	}
	t.unacked = t.pending
	var err error
	if t.path, err = s.along(along.Data, t.src, t.dst, r.Class); err != nil {
		return 0, err
	}
	if t.controlPath, err = s.along(along.Control, t.dst, t.src, r.Class); err != nil {
		return 0, err
	}
	s.transfers = append(s.transfers, t)
	s.underway++
	switch {
	case r.Verb == Put || t.src == t.dst:
		s.submit(id, s.now+s.overhead)
	case s.overhead > 0:
		s.queue.push(s.now+s.overhead, atRequest, id)
	default:
		s.sendControl(id, getRequest)
	}
	return TransferID(id), nil
}

// along validates a given path.
func (s *Sim) along(path []routing.Channel, from, to int32, class int) (hopRange, error) {
	if len(path) == 0 {
		return hopRange{}, nil
	}
	at := topology.DeviceID(from)
	for _, ch := range path {
		start, end := s.routes.Ends(ch)
		if start != at || !s.routes.Up(ch) {
			return hopRange{}, fmt.Errorf("path from %q: link %q does not go on from %q, or is down", s.graph.Device(topology.DeviceID(from)).Name, s.routes.Name(ch), s.graph.Device(at).Name)
		}
		at = end
	}
	if at != topology.DeviceID(to) {
		return hopRange{}, fmt.Errorf("path to %q: it ends at %q", s.graph.Device(topology.DeviceID(to)).Name, s.graph.Device(at).Name)
	}
	return s.addPath(path, class), nil
}

func (s *Sim) check(r Request) error {
	n := topology.DeviceID(len(s.nics))
	switch {
	case r.From >= n || r.To >= n:
		return fmt.Errorf("transfer from device %d to %d: the fabric has %d devices", r.From, r.To, n)
	case s.graph.IsSwitch(r.From) != s.graph.IsSwitch(s.graph.Hosts()[0]) || s.graph.IsSwitch(r.To) != s.graph.IsSwitch(r.From):
		return fmt.Errorf("transfer from %q to %q: both must be nodes of the fabric", s.graph.Device(r.From).Name, s.graph.Device(r.To).Name)
	case r.Bytes < 0 || r.Bytes/s.cfg.PacketBytes >= maxPackets:
		return fmt.Errorf("transfer of %d bytes: want 0 to %d packets of %d", r.Bytes, maxPackets, s.cfg.PacketBytes)
	case s.now > horizon:
		return fmt.Errorf("transfer at %v s: a simulation lasts %v s", s.now.Nanoseconds()/1e9, horizon.Nanoseconds()/1e9)
	case r.Class < 0 || r.Class >= s.cfg.Classes:
		return fmt.Errorf("transfer in class %d: the model has classes=%d", r.Class, s.cfg.Classes)
	case len(s.transfers) >= 1<<argBits-1:
		return fmt.Errorf("more than %d transfers", len(s.transfers))
	}
	return nil
}

// Times returns the times of a transfer so far.
func (s *Sim) Times(id TransferID) Times { return s.transfers[id].Times }

// delivered is called when the last DMA of a transfer's data has ended.
func (s *Sim) delivered(id int32) {
	t := &s.transfers[id]
	t.Arrived = s.now
	if t.verb == Put {
		s.later(s.overhead, atArrived, id)
	}
	switch {
	case t.verb == Get || t.src == t.dst:
		s.later(s.overhead, atCompleted, id)
	case s.cfg.AckBytes > 0:
		s.acknowledge(id, t.lastBytes(s.cfg.PacketBytes), t.echo)
	default:
		s.sendControl(id, completion)
	}
}

// lastBytes is the payload of a transfer's last packet.
func (t *transfer) lastBytes(packet int64) int32 {
	if t.bytes == 0 {
		return 0
	}
	return int32((t.bytes-1)%packet + 1)
}

// later schedules an event; with delay 0 it happens within the current instant.
func (s *Sim) later(delay Time, k kind, index int32) { s.queue.push(s.now+delay, k, index) }

func (s *Sim) completed(id int32) {
	t := &s.transfers[id]
	t.Completed = s.now
	t.state = done
	s.underway--
}

// fail fails a transfer.
func (s *Sim) fail(id int32) bool {
	t := &s.transfers[id]
	if t.state != underway {
		return false
	}
	t.state = failed
	s.underway--
	return true
}
