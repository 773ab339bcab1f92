package incident

import (
	"math/bits"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/plans"
)

// send is one step of one rank.
type send struct {
	peer       int // rank; collective.None: nothing is sent
	bytes      int64
	awaitsRank int // whose data the step awaits, or collective.None
	awaitsStep int // from 1
}

// program is what each rank sends, by rank and step.
type program [][]send

// newProgram decomposes a collective over the ranks in order; bytes is the chunk of a
// ring or an all-to-all, otherwise an eighth of the data.
func newProgram(algorithm collective.Algorithm, order []int, bytes int64) program {
	p := len(order)
	prog := make(program, p)
	step := func(at, peer int, bytes int64, awaits, awaitsStep int) {
		s := send{peer: collective.None, bytes: bytes, awaitsRank: collective.None, awaitsStep: awaitsStep}
		if peer >= 0 {
			s.peer = order[peer]
		}
		if awaits >= 0 && awaitsStep > 0 {
			s.awaitsRank = order[awaits]
		}
		prog[order[at]] = append(prog[order[at]], s)
	}
	if algorithm == collective.Tree {
		binomial(p, bytes*int64(p), step)
		return prog
	}
	plan, err := plans.Decompose(plans.Shape{Operation: operation(algorithm), Algorithm: algorithm, Members: p, Bytes: bytes * int64(p)})
	if err != nil {
		panic(err) // every Spec that Validate passes has a plan
	}
	for at, list := range plan.Members {
		for _, s := range list {
			step(at, s.Peer, s.Bytes, s.AwaitsRank, max(s.AwaitsStep, 0))
		}
	}
	return prog
}

// operation is the operation simulated with an algorithm.
func operation(algorithm collective.Algorithm) collective.Operation {
	if algorithm == collective.Direct {
		return collective.AllToAll
	}
	return collective.AllReduce
}

// binomial reduces to the first rank and broadcasts from it, each in log2 p rounds, rounded
// up. A rank that receives in a round has a step without a transfer there. If p is not a
// power of two, a rank with nothing to wait for sends only when its receiver has finished
// the previous round (rendezvous); otherwise two would send to it at once.
func binomial(p int, bytes int64, step func(at, peer int, bytes int64, awaits, awaitsStep int)) {
	rounds := bits.Len(uint(p - 1))
	// from is who sends to at in round s, or -1; to is whom at sends to.
	from := func(at, s int) int {
		k := min(s, 2*rounds-1-s)
		switch {
		case s < rounds && at%(2<<k) == 0 && at+1<<k < p:
			return at + 1<<k
		case s >= rounds && at%(2<<k) == 1<<k:
			return at - 1<<k
		}
		return -1
	}
	to := func(at, s int) int {
		k := min(s, 2*rounds-1-s)
		switch {
		case s < rounds && at%(2<<k) == 1<<k:
			return at - 1<<k
		case s >= rounds && at%(2<<k) == 0 && at+1<<k < p:
			return at + 1<<k
		}
		return -1
	}
	for s := range 2 * rounds {
		for at := range p {
			awaits := -1
			if s > 0 {
				awaits = from(at, s-1)
			}
			peer, size := to(at, s), bytes
			if s > 0 && s < rounds && peer >= 0 && awaits < 0 {
				awaits = from(peer, s-1)
			}
			if peer < 0 {
				size = 0
			}
			step(at, peer, size, awaits, s)
		}
	}
}
