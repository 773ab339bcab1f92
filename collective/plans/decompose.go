package plans

import (
	"fmt"
	"math/bits"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/partners"
)

// Transfer is one step of one rank as the algorithm prescribes it: whom it sends to and
// what it awaits (poster, section 2, "Algorithm Decomposition").
type Transfer struct {
	Step       int   // from 1
	Chunk      int   // of a pipelined step, from 0
	Channel    int   // from 0
	Peer       int   // member it sends to
	AwaitsRank int   // member whose data it needs; None
	AwaitsStep int   // the step of that member; None
	Bytes      int64 // of this transfer
}

// Plan is a decomposed collective: the steps of every member, in order.
type Plan struct {
	Members [][]Transfer
	Steps   int // highest step number
}

// Shape describes the collective to decompose.
type Shape struct {
	Operation collective.Operation
	Algorithm collective.Algorithm
	Members   int
	Bytes     int64 // of the whole buffer
	Chunks    int   // pieces that a step is cut into and pipelined; 0: one
	Channels  int   // rings or trees side by side, each with its share of the bytes; 0: one
}

// Limits of a plan.
const (
	maxMembers   = 1 << 16
	maxTransfers = 1 << 26
)

// Decompose splits a collective into steps. Rings: all-reduce, reduce-scatter,
// all-gather. Halving-doubling: all-reduce, over any number of members. Trees, single
// and double: all-reduce, broadcast, reduce. Direct: all-to-all.
func Decompose(s Shape) (Plan, error) {
	s.Chunks, s.Channels = max(s.Chunks, 1), max(s.Channels, 1)
	if s.Members < 2 || s.Members > maxMembers || s.Bytes < 0 || s.Chunks > maxMembers || s.Channels > maxMembers {
		return Plan{}, fmt.Errorf("decompose %s: %d members, %d chunks, %d channels; want 2 to %d members", s.Algorithm, s.Members, s.Chunks, s.Channels, maxMembers)
	}
	if transfers := 2 * s.Members * s.Chunks * s.Channels; transfers > maxTransfers/s.Members && (s.Algorithm == collective.Ring || s.Algorithm == collective.Direct) {
		return Plan{}, fmt.Errorf("decompose %s: more than %d transfers", s.Algorithm, maxTransfers)
	}
	p := Plan{Members: make([][]Transfer, s.Members)}
	share := s.Bytes / int64(s.Channels)
	for channel := range s.Channels {
		var steps [][]Transfer
		switch {
		case s.Algorithm == collective.Ring && (s.Operation == collective.AllReduce || s.Operation == collective.AllGather || s.Operation == collective.ReduceScatter):
			steps = ring(s, share)
		case s.Algorithm == collective.HalvingDoubling && s.Operation == collective.AllReduce:
			steps = halvingDoubling(s.Members, share)
		case s.Algorithm == collective.Tree && (s.Operation == collective.AllReduce || s.Operation == collective.Broadcast || s.Operation == collective.Reduce):
			steps = tree(s, share, 0)
		case s.Algorithm == collective.DoubleTree && (s.Operation == collective.AllReduce || s.Operation == collective.Broadcast || s.Operation == collective.Reduce):
			steps = doubleTree(s, share)
		case s.Algorithm == collective.Direct && s.Operation == collective.AllToAll:
			steps = direct(s.Members, share)
		default:
			return Plan{}, fmt.Errorf("decompose: %s by %s is not supported; use a table of steps (algorithm custom)", s.Operation, s.Algorithm)
		}
		p.add(steps, s.Chunks, channel)
	}
	return p, nil
}

// add appends the steps of a channel, each cut into chunks.
func (p *Plan) add(steps [][]Transfer, chunks, channel int) {
	for member, list := range steps {
		for _, s := range list {
			whole := s.Bytes
			s.Channel += channel
			for chunk := range chunks {
				s.Chunk = chunk
				s.Bytes = whole/int64(chunks)*int64(chunk+1) - whole/int64(chunks)*int64(chunk)
				if chunk == chunks-1 {
					s.Bytes = whole - whole/int64(chunks)*int64(chunks-1)
				}
				p.Members[member] = append(p.Members[member], s)
			}
			p.Steps = max(p.Steps, s.Step)
		}
	}
}

// ring: in every step each member sends a part to the next; from the second step on it
// forwards what it received in the step before. All-reduce takes two passes.
func ring(s Shape, bytes int64) [][]Transfer {
	n, passes := s.Members, 1
	if s.Operation == collective.AllReduce {
		passes = 2
	}
	steps := partners.RingSteps(passes, n)
	out := make([][]Transfer, n)
	for member := range n {
		for step := 1; step <= steps; step++ {
			p := Transfer{Step: step, Peer: partners.RingNext(member, n), AwaitsRank: (member + n - 1) % n, AwaitsStep: step - 1, Bytes: bytes / int64(n)}
			if step == 1 {
				p.AwaitsRank, p.AwaitsStep = collective.None, collective.None
			}
			out[member] = append(out[member], p)
		}
	}
	return out
}

// halvingDoubling: members exchange 1/2, 1/4 and so on of the buffer with partners at
// distance 1, 2, 4 and so on, then back (Thakur, Rabenseifner, Gropp 2005; order of
// distances as in the simulation). Members beyond a power of two send their data to a
// partner in the first step and get the result in the last.
func halvingDoubling(n int, bytes int64) [][]Transfer {
	power := 1 << (bits.Len(uint(n)) - 1)
	steps, extra := partners.HalvingSteps(power), n-power
	shift := min(extra, 1) // 1 if there is the extra first step
	out := make([][]Transfer, n)
	for member := range power {
		for step := 1; step <= steps; step++ {
			p := Transfer{Step: step + shift, Peer: partners.HalvingPartner(member, step, steps), Bytes: bytes >> partners.HalvingRound(step, steps), AwaitsRank: collective.None, AwaitsStep: collective.None}
			if step > 1 {
				p.AwaitsRank, p.AwaitsStep = partners.HalvingPartner(member, step-1, steps), step-1+shift
			} else if member < extra {
				p.AwaitsRank, p.AwaitsStep = power+member, 1
			}
			out[member] = append(out[member], p)
		}
	}
	last := steps + shift + 1
	for i := range extra {
		out[power+i] = append(out[power+i], Transfer{Step: 1, Peer: i, Bytes: bytes, AwaitsRank: collective.None, AwaitsStep: collective.None})
		out[i] = append(out[i], Transfer{Step: last, Peer: power + i, Bytes: bytes, AwaitsRank: i ^ 1, AwaitsStep: last - 1})
	}
	return out
}

// tree: a binary tree of members; member m has the place (m - first + n) mod n. A
// reduce goes up from the leaves, a broadcast down from the root, an all-reduce both
// ways. Steps are numbered by depth, so that an awaited step has a lower number.
func tree(s Shape, bytes int64, first int) [][]Transfer {
	n := s.Members
	depth := bits.Len(uint(n)) - 1 // of the deepest place
	out := make([][]Transfer, n)
	at := func(place int) int { return (place + first) % n }
	level := func(place int) int { return bits.Len(uint(place+1)) - 1 }
	up, down := s.Operation != collective.Broadcast, s.Operation != collective.Reduce
	shift := 0
	if up {
		for place := n - 1; place > 0; place-- {
			p := Transfer{Step: depth - level(place) + 1, Peer: at((place - 1) / 2), Bytes: bytes, AwaitsRank: collective.None, AwaitsStep: collective.None}
			// The left child has the deeper or equal subtree, so it arrives last.
			if child := 2*place + 1; child < n {
				p.AwaitsRank, p.AwaitsStep = at(child), depth-level(child)+1
			}
			out[at(place)] = append(out[at(place)], p)
		}
		shift = depth
	}
	if down {
		for place := range n {
			for side := range 2 {
				child := 2*place + 1 + side
				if child >= n {
					continue
				}
				p := Transfer{Step: shift + 2*level(place) + 1 + side, Peer: at(child), Bytes: bytes, AwaitsRank: collective.None, AwaitsStep: collective.None}
				if place > 0 {
					parent := (place - 1) / 2
					p.AwaitsRank, p.AwaitsStep = at(parent), shift+2*level(parent)+1+(place-1)%2
				} else if up {
					p.AwaitsRank, p.AwaitsStep = at(1), depth
				}
				out[at(place)] = append(out[at(place)], p)
			}
		}
	}
	return out
}

// doubleTree: two trees, each for half of the data, with shifted places, so that most
// inner members of one are leaves of the other (as in NCCL's double binary tree). The
// second tree is its own channel.
func doubleTree(s Shape, bytes int64) [][]Transfer {
	out := tree(s, bytes-bytes/2, 0)
	for member, list := range tree(s, bytes/2, s.Members/2) {
		for _, p := range list {
			p.Channel = s.Channels
			out[member] = append(out[member], p)
		}
	}
	return out
}

// direct: in step k each member sends a part to the member k places further. No step
// awaits data of another.
func direct(n int, bytes int64) [][]Transfer {
	out := make([][]Transfer, n)
	for member := range n {
		for step := 1; step <= partners.DirectSteps(n); step++ {
			out[member] = append(out[member], Transfer{Step: step, Peer: partners.Onwards.Destination(member, step, n), Bytes: bytes / int64(n), AwaitsRank: collective.None, AwaitsStep: collective.None})
		}
	}
	return out
}

// key identifies a transfer of a plan.
type key struct{ member, step, chunk, channel int32 }

// transfers looks up the transfers of a plan, and how many arrive at a member in a
// step.
type transfers struct {
	planned  map[key]Transfer
	arrivals map[key]int
}

func (p *Plan) index() transfers {
	index := transfers{map[key]Transfer{}, map[key]int{}}
	for m, list := range p.Members {
		for _, s := range list {
			index.planned[key{int32(m), int32(s.Step), int32(s.Chunk), int32(s.Channel)}] = s
			index.arrivals[key{int32(s.Peer), int32(s.Step), int32(s.Chunk), int32(s.Channel)}]++
		}
	}
	return index
}

// memberOf maps a rank to its member number in the communicator.
func memberOf(c *collective.Communicator) map[int32]int32 {
	member := map[int32]int32{}
	for i, rank := range c.Members {
		member[int32(rank)] = int32(i)
	}
	return member
}

// Await fills in missing waits of a communicator's records from the plan; number is the
// communicator's index in Run.Communicators. Steps that are not in the plan, and steps
// that await several transfers at once, are left unchanged.
func (p *Plan) Await(steps []collective.StepRecord, communicator collective.Communicator, number int32) {
	member, index := memberOf(&communicator), p.index()
	for i := range steps {
		r := &steps[i]
		m, ok := member[r.Rank]
		if r.Communicator != number || r.AwaitsStep != 0 || !ok {
			continue
		}
		s, ok := index.planned[key{m, r.Step, r.Chunk, r.Channel}]
		switch {
		case !ok || index.arrivals[key{m, int32(s.AwaitsStep), r.Chunk, r.Channel}] > 1: // the records show which one arrives last
		case s.AwaitsStep == collective.None:
			r.AwaitsRank, r.AwaitsStep = collective.None, collective.None
		default:
			r.AwaitsRank, r.AwaitsStep = int32(communicator.Members[s.AwaitsRank]), int32(s.AwaitsStep)
		}
	}
}
