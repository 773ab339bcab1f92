package credits

import (
	"fmt"
	"slices"

	"github.com/giverny/giverny/simulate/heap"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// Flow is what a host sends to another over one route.
type Flow struct {
	From, To topology.DeviceID
	Path     []routing.Channel // not empty
}

// Work is traffic that a job repeats.
type Work struct {
	Flows []Flow
	Cells int // that every flow sends at a time
	// Barrier makes it an exchange: all flows start together, PauseSteps after the last cell of the last exchange has
	// arrived. Otherwise every flow is a stream: it sends again PauseSteps after it began, or when its last cell has
	// arrived if that is later.
	Barrier    bool
	PauseSteps float64
	// Rounds of an exchange, each with a pause and an end of its own: flow i takes part in round i modulo Rounds. 0 is one.
	Rounds int
	// Seed of its pauses, which differ by a fifth, and of when it first begins. What has the same seed in two networks pauses
	// alike in both, whatever else is in them (common random numbers).
	Seed uint64
}

// Speeds are the rates of a fabric's parts, in cells per step, at most 1.
type Speeds struct {
	Channel []float64 // by channel
	Send    []float64 // by device: what a host passes to the fabric, by each of its ports
	Receive []float64 // by device: what a host accepts, by each of its ports
}

// Validate checks the rates for a graph's channels.
func (s *Speeds) Validate(c *routing.Channels) error {
	devices := c.Graph().NumDevices()
	if len(s.Channel) != c.Len() || len(s.Send) != devices || len(s.Receive) != devices {
		return fmt.Errorf("credits: rates of %d channels and %d, %d devices: want %d and %d", len(s.Channel), len(s.Send), len(s.Receive), c.Len(), devices)
	}
	for _, list := range [][]float64{s.Channel, s.Send, s.Receive} {
		for _, r := range list {
			if !(r > 0 && r <= 1) {
				return fmt.Errorf("credits: rate %v: want more than 0, at most 1 cell per step", r)
			}
		}
	}
	return nil
}

// bufferCells is the room of a lane at the receiving end of a channel. Two cells keep a channel busy, since a credit takes
// a step to return.
const bufferCells = 3

// Network is a fabric with work in it. It is not safe for concurrent use.
type Network struct {
	channels int // outputs below are channels; output channels+p is what port p of a host accepts
	ports    ports
	speeds   *Speeds
	now      int64

	// Outputs.
	pacers  []pacer
	waiting []int32 // cells and flows at hosts that want to use the output
	next    []int32 // the turn that is tried first
	turnOff []int32 // CSR: turns of an output
	active  []int32 // outputs with waiting cells, in any order
	listed  []bool  // is in active
	blocked []blocking

	// A turn is the queue of an input for an output. An input is a buffer, one per channel and lane, or a port of a host.
	turns    []turn
	ring     []int32 // memory of the queues
	occupied []int32 // by buffer: cells in it, and those on the way
	senders  []pacer // by port

	// Hops of all flows in a row: where a cell waits.
	hops    []hop
	units   []unit
	left    []int32 // by flow: cells that its host has not yet sent
	unitOf  []int32 // by flow
	first   []int32 // by flow: its first hop
	timers  heap.Heap
	moved   []int32 // hops that cells have reached in this step
	freed   []int32 // buffers that a cell has left in this step
	stats   Stats
	exits   exits
	samples []uint64
}

// pacer limits a rate: an allowance of cells that grows with time.
type pacer struct {
	allowance float64
	at        int64 // step of the allowance
}

// refill returns the allowance now.
func (p *pacer) refill(now int64, rate float64) float64 {
	p.allowance, p.at = min(1+rate, p.allowance+rate*float64(now-p.at)), now
	return p.allowance
}

// blocking is when an output last lacked credits, and the full buffer.
type blocking struct {
	at     int64
	buffer int32
}

type turn struct {
	input      int32 // buffer, or buffers+port for a host
	output     int32
	off, size  int32 // of its part of the ring
	head, many int32
}

type hop struct {
	turn int32
	flow int32
}

// unit is what starts together: all flows of an exchange, or one of a stream.
type unit struct {
	first, flows int32
	cells        int32
	work         int32
	barrier      bool
	pause        float64
	seed         uint64
	began        int64
	outstanding  int32 // cells not yet arrived
	rounds       int32
	round        int32 // the next
}

// draw returns the next random number of a unit, 0 to 1 (splitmix64; Steele et al., OOPSLA 2014).
func (u *unit) draw() float64 {
	u.seed += 0x9e3779b97f4a7c15
	x := u.seed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

// Stats are counts since the last Reset.
type Stats struct {
	Steps     int
	Waited    []int32 // by channel: steps in which cells waited for lack of credits
	Sent      []int32 // by channel: cells
	Delivered []int64 // by work: cells
	// By work: the rounds and requests that ended, and for how many steps they lasted in all with their pauses, taken as usual.
	// Their ratio is a rate that does not depend on how many ended by chance.
	Ended       []int64
	PeriodSteps []float64
}

// New returns a network at rest with the work's first exchanges spread over time at random. The speeds are kept, not copied.
func New(c *routing.Channels, speeds *Speeds, work []Work) (*Network, error) {
	if err := speeds.Validate(c); err != nil {
		return nil, err
	}
	ports := newPorts(c)
	outputs := c.Len() + len(ports.device)
	n := &Network{channels: c.Len(), ports: ports, speeds: speeds, pacers: make([]pacer, outputs), waiting: make([]int32, outputs), next: make([]int32, outputs),
		listed: make([]bool, outputs), blocked: make([]blocking, outputs), occupied: make([]int32, c.Len()*maxLanes), senders: make([]pacer, len(ports.device))}
	for i := range n.blocked {
		n.blocked[i].at = -recent - 1
	}
	n.stats = Stats{Waited: make([]int32, c.Len()), Sent: make([]int32, c.Len()), Delivered: make([]int64, len(work)), Ended: make([]int64, len(work)), PeriodSteps: make([]float64, len(work))}
	keys := n.addFlows(c, work)
	n.addTurns(keys)
	n.exits = newExits(n)
	for u := range n.units {
		n.timers.Push(heap.Item{Key: int64(n.units[u].draw() * (n.units[u].pause + 1)), Tie: uint32(u), Value: uint32(u)})
	}
	return n, nil
}

// addFlows lays out flows, units and hops, and returns the turn of every hop as output and input.
func (n *Network) addFlows(c *routing.Channels, work []Work) (keys []uint64) {
	var lanes []uint8
	hosts := int32(len(n.occupied)) // the first input that is a host
	for w := range work {
		start := int32(len(n.first))
		for i := range work[w].Flows {
			f := &work[w].Flows[i]
			flow, input := int32(len(n.first)), hosts+n.ports.sender[f.Path[0]]
			n.first = append(n.first, int32(len(keys)))
			lanes = appendLanes(lanes[:0], c, f.Path)
			for k, ch := range f.Path {
				keys = append(keys, uint64(ch)<<32|uint64(input))
				n.hops = append(n.hops, hop{flow: flow})
				input = int32(ch)*maxLanes + int32(lanes[k])
			}
			keys = append(keys, uint64(n.channels+int(n.ports.receiver[f.Path[len(f.Path)-1]]))<<32|uint64(input))
			n.hops = append(n.hops, hop{flow: flow})
			if !work[w].Barrier {
				n.units = append(n.units, unit{first: flow, flows: 1, cells: int32(work[w].Cells), work: int32(w), pause: work[w].PauseSteps, rounds: 1, seed: work[w].Seed + uint64(i)<<40})
			}
		}
		if many := int32(len(n.first)) - start; work[w].Barrier && many > 0 {
			n.units = append(n.units, unit{first: start, flows: many, cells: int32(work[w].Cells), work: int32(w), barrier: true, pause: work[w].PauseSteps, rounds: max(1, min(many, int32(work[w].Rounds))), seed: work[w].Seed})
		}
	}
	n.left, n.unitOf = make([]int32, len(n.first)), make([]int32, len(n.first))
	for u := range n.units {
		for f := n.units[u].first; f < n.units[u].first+n.units[u].flows; f++ {
			n.unitOf[f] = int32(u)
		}
	}
	return keys
}

// addTurns makes a queue for every pair of an output and an input.
func (n *Network) addTurns(keys []uint64) {
	distinct := slices.Clone(keys)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	n.turns, n.turnOff = make([]turn, len(distinct)), make([]int32, len(n.pacers)+1)
	for i, k := range distinct {
		n.turns[i] = turn{input: int32(k & (1<<32 - 1)), output: int32(k >> 32), size: bufferCells}
		if int(n.turns[i].input) >= len(n.occupied) {
			n.turns[i].size = 0 // room for every flow of the host
		}
		n.turnOff[k>>32+1]++
	}
	for o := range n.pacers {
		n.turnOff[o+1] += n.turnOff[o]
	}
	for h, k := range keys {
		t, _ := slices.BinarySearch(distinct, k)
		n.hops[h].turn = int32(t)
		if int(n.turns[t].input) >= len(n.occupied) {
			n.turns[t].size++
		}
	}
	size := int32(0)
	for i := range n.turns {
		n.turns[i].off = size
		size += n.turns[i].size
	}
	n.ring = make([]int32, size)
}
