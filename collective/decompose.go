package collective

import (
	"fmt"
	"math/bits"
)

// Planned is one step of one rank as the algorithm prescribes it: whom it sends to and
// what it awaits (poster, section 2, "Algorithm Decomposition").
type Planned struct {
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
	Members [][]Planned
	Steps   int // highest step number
}

// Shape describes the collective to decompose.
type Shape struct {
	Operation Operation
	Algorithm Algorithm
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
	if transfers := 2 * s.Members * s.Chunks * s.Channels; transfers > maxTransfers/s.Members && (s.Algorithm == Ring || s.Algorithm == Direct) {
		return Plan{}, fmt.Errorf("decompose %s: more than %d transfers", s.Algorithm, maxTransfers)
	}
	p := Plan{Members: make([][]Planned, s.Members)}
	share := s.Bytes / int64(s.Channels)
	for channel := range s.Channels {
		var steps [][]Planned
		switch {
		case s.Algorithm == Ring && (s.Operation == AllReduce || s.Operation == AllGather || s.Operation == ReduceScatter):
			steps = ring(s, share)
		case s.Algorithm == HalvingDoubling && s.Operation == AllReduce:
			steps = halvingDoubling(s.Members, share)
		case s.Algorithm == Tree && (s.Operation == AllReduce || s.Operation == Broadcast || s.Operation == Reduce):
			steps = tree(s, share, 0)
		case s.Algorithm == DoubleTree && (s.Operation == AllReduce || s.Operation == Broadcast || s.Operation == Reduce):
			steps = doubleTree(s, share)
		case s.Algorithm == Direct && s.Operation == AllToAll:
			steps = direct(s.Members, share)
		default:
			return Plan{}, fmt.Errorf("decompose: %s by %s is not supported; use a table of steps (algorithm custom)", s.Operation, s.Algorithm)
		}
		p.add(steps, s.Chunks, channel)
	}
	return p, nil
}

// add appends the steps of a channel, each cut into chunks.
func (p *Plan) add(steps [][]Planned, chunks, channel int) {
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
func ring(s Shape, bytes int64) [][]Planned {
	n := s.Members
	steps := ringSteps(s.Operation, n)
	out := make([][]Planned, n)
	for member := range n {
		for step := 1; step <= steps; step++ {
			p := Planned{Step: step, Peer: ringNext(member, n), AwaitsRank: (member + n - 1) % n, AwaitsStep: step - 1, Bytes: bytes / int64(n)}
			if step == 1 {
				p.AwaitsRank, p.AwaitsStep = None, None
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
func halvingDoubling(n int, bytes int64) [][]Planned {
	power := 1 << (bits.Len(uint(n)) - 1)
	steps, extra := halvingSteps(power), n-power
	shift := min(extra, 1) // 1 if there is the extra first step
	out := make([][]Planned, n)
	for member := range power {
		for step := 1; step <= steps; step++ {
			p := Planned{Step: step + shift, Peer: halvingPartner(member, step, steps), Bytes: bytes >> halvingRound(step, steps), AwaitsRank: None, AwaitsStep: None}
			if step > 1 {
				p.AwaitsRank, p.AwaitsStep = halvingPartner(member, step-1, steps), step-1+shift
			} else if member < extra {
				p.AwaitsRank, p.AwaitsStep = power+member, 1
			}
			out[member] = append(out[member], p)
		}
	}
	last := steps + shift + 1
	for i := range extra {
		out[power+i] = append(out[power+i], Planned{Step: 1, Peer: i, Bytes: bytes, AwaitsRank: None, AwaitsStep: None})
		out[i] = append(out[i], Planned{Step: last, Peer: power + i, Bytes: bytes, AwaitsRank: i ^ 1, AwaitsStep: last - 1})
	}
	return out
}

// tree: a binary tree of members; member m has the place (m - first + n) mod n. A
// reduce goes up from the leaves, a broadcast down from the root, an all-reduce both
// ways. Steps are numbered by depth, so that an awaited step has a lower number.
func tree(s Shape, bytes int64, first int) [][]Planned {
	n := s.Members
	depth := bits.Len(uint(n)) - 1 // of the deepest place
	out := make([][]Planned, n)
	at := func(place int) int { return (place + first) % n }
	level := func(place int) int { return bits.Len(uint(place+1)) - 1 }
	up, down := s.Operation != Broadcast, s.Operation != Reduce
	shift := 0
	if up {
		for place := n - 1; place > 0; place-- {
			p := Planned{Step: depth - level(place) + 1, Peer: at((place - 1) / 2), Bytes: bytes, AwaitsRank: None, AwaitsStep: None}
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
				p := Planned{Step: shift + 2*level(place) + 1 + side, Peer: at(child), Bytes: bytes, AwaitsRank: None, AwaitsStep: None}
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
func doubleTree(s Shape, bytes int64) [][]Planned {
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
func direct(n int, bytes int64) [][]Planned {
	out := make([][]Planned, n)
	for member := range n {
		for step := 1; step <= directSteps(n); step++ {
			out[member] = append(out[member], Planned{Step: step, Peer: onwards.destination(member, step, n), Bytes: bytes / int64(n), AwaitsRank: None, AwaitsStep: None})
		}
	}
	return out
}

// planKey identifies a transfer of a plan.
type planKey struct{ member, step, chunk, channel int32 }

// planIndex looks up the transfers of a plan, and how many arrive at a member in a
// step.
type planIndex struct {
	planned  map[planKey]Planned
	arrivals map[planKey]int
}

func (p *Plan) index() planIndex {
	index := planIndex{map[planKey]Planned{}, map[planKey]int{}}
	for m, list := range p.Members {
		for _, s := range list {
			index.planned[planKey{int32(m), int32(s.Step), int32(s.Chunk), int32(s.Channel)}] = s
			index.arrivals[planKey{int32(s.Peer), int32(s.Step), int32(s.Chunk), int32(s.Channel)}]++
		}
	}
	return index
}

// memberOf maps a rank to its member number in the communicator.
func memberOf(c *Communicator) map[int32]int32 {
	member := map[int32]int32{}
	for i, rank := range c.Members {
		member[int32(rank)] = int32(i)
	}
	return member
}

// Await fills in missing waits of a communicator's records from the plan; number is the
// communicator's index in Run.Communicators. Steps that are not in the plan, and steps
// that await several transfers at once, are left unchanged.
func (p *Plan) Await(steps []StepRecord, communicator Communicator, number int32) {
	member, index := memberOf(&communicator), p.index()
	for i := range steps {
		r := &steps[i]
		m, ok := member[r.Rank]
		if r.Communicator != number || r.AwaitsStep != 0 || !ok {
			continue
		}
		s, ok := index.planned[planKey{m, r.Step, r.Chunk, r.Channel}]
		switch {
		case !ok || index.arrivals[planKey{m, int32(s.AwaitsStep), r.Chunk, r.Channel}] > 1: // the records show which one arrives last
		case s.AwaitsStep == None:
			r.AwaitsRank, r.AwaitsStep = None, None
		default:
			r.AwaitsRank, r.AwaitsStep = int32(communicator.Members[s.AwaitsRank]), int32(s.AwaitsStep)
		}
	}
}
