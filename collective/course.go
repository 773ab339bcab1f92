package collective

import (
	"slices"

	"github.com/giverny/giverny/collective/partners"
)

// course is how far the ranks of a communicator got in its last collective, where the
// records show which algorithm ran.
type course struct {
	members   []int
	iteration int32
	steps     int // of the whole collective
	last      map[int]int
	ended     map[int]int64
	next      map[int]int // ring: the receiver of each rank; nil: halving-doubling or direct
	position  map[int]int
	pairs     partners.Pairing // direct: who sends to whom; otherwise unpaired
	free      bool             // the records say that steps await no data
}

func (c *course) complete() bool {
	for _, rank := range c.members {
		if c.last[rank] < c.steps {
			return false
		}
	}
	return true
}

// receiver is the rank that a rank sends to in a step; sender the one it receives from.
func (c *course) receiver(rank, step int) int {
	if c.next != nil {
		if to, ok := c.next[rank]; ok {
			return to
		}
		return None
	}
	return c.partner(rank, step)
}

func (c *course) sender(rank, step int) int {
	switch {
	case c.free:
		return None
	case c.pairs != partners.Unpaired:
		if step < 1 || step > c.steps {
			return None
		}
		return c.members[c.pairs.Source(c.position[rank], step, len(c.members))]
	case c.next == nil:
		return c.partner(rank, step)
	}
	for from, to := range c.next {
		if to == rank {
			return from
		}
	}
	return None
}

func (c *course) partner(rank, step int) int {
	if step < 1 || step > c.steps {
		return None
	}
	if c.pairs != partners.Unpaired {
		return c.members[c.pairs.Destination(c.position[rank], step, len(c.members))]
	}
	other := partners.HalvingPartner(c.position[rank], step, c.steps)
	if other >= len(c.members) {
		return None
	}
	return c.members[other]
}

// course recognises a ring, halving-doubling over a power of two ranks or a direct
// all-to-all by who sent to whom; nil for anything else.
func (st *standstill) course(communicator int32) *course {
	c := &course{last: map[int]int{}, ended: map[int]int64{}, position: map[int]int{}}
	if int(communicator) < len(st.t.run.Communicators) {
		c.members = st.t.run.Communicators[communicator].Members
		c.steps = st.t.run.Communicators[communicator].Steps
	}
	for i, rank := range c.members {
		c.position[rank] = i
	}
	most := st.progress(c, communicator)
	if c.steps > 0 && c.complete() {
		return c
	}
	if most == 0 || len(c.members) < 2 {
		return nil
	}
	if !st.ring(c, communicator) && !st.halving(c, communicator) && !st.pairwise(c, communicator) {
		return nil
	}
	c.length(most)
	return c
}

// progress sets how far each rank got in the communicator's last collective, and
// returns the highest step. The last collective is the one that some ranks are still
// in; ranks that finished it may already have begun the next.
func (st *standstill) progress(c *course, communicator int32) (most int) {
	known := c.steps
	from, to := st.t.of(communicator)
	for {
		most, to = st.progressUpTo(c, from, to)
		if to <= from || !st.behindIn(c, from, to) {
			return most
		}
		clear(c.last)
		clear(c.ended)
		c.steps = known
	}
}

// progressUpTo is progress by the last iteration among steps [from, to). begin is where
// that iteration begins if there is one before it, otherwise from. Steps are in order,
// so the first one of a rank seen from the end is its last. The length of the
// collective is that of the iteration before, if any.
func (st *standstill) progressUpTo(c *course, from, to int) (most, begin int) {
	t := st.t
	for i := to - 1; i >= from; i-- {
		r := &t.steps[i]
		switch {
		case i == to-1:
			c.iteration, most = r.Iteration, int(r.Step)
		case r.Iteration < c.iteration:
			if c.steps == 0 {
				c.steps = int(r.Step)
			}
			return most, i + 1
		case len(c.last) == len(c.members) && (c.iteration == 0 || c.steps > 0):
			return most, from
		}
		if _, ok := c.last[int(r.Rank)]; !ok {
			c.last[int(r.Rank)], c.ended[int(r.Rank)] = int(r.Step), t.end[i]
		}
	}
	return most, from
}

// behindIn reports whether some rank without a record of the iteration that begins at
// begin did not finish the one before.
func (st *standstill) behindIn(c *course, from, begin int) bool {
	t := st.t
	iteration, longest := t.steps[begin-1].Iteration, int(t.steps[begin-1].Step)
	last := map[int]int{}
	for i := begin - 1; i >= from && t.steps[i].Iteration == iteration; i-- {
		if rank := int(t.steps[i].Rank); last[rank] == 0 {
			last[rank] = int(t.steps[i].Step)
		}
	}
	return slices.ContainsFunc(c.members, func(rank int) bool {
		_, went := c.last[rank]
		return !went && last[rank] < longest
	})
}

// length sets the number of steps if unknown: a ring that all ranks finished after one
// pass has one pass (all-gather), any other two (all-reduce).
func (c *course) length(most int) {
	if c.steps > 0 {
		return
	}
	n := len(c.members)
	if c.pairs != partners.Unpaired {
		c.steps = partners.DirectSteps(n)
		if c.even(most) {
			c.steps = most // parts that are empty are not sent
		}
		return
	}
	if c.next == nil {
		c.steps = partners.HalvingSteps(n)
		return
	}
	c.steps = partners.RingSteps(1, n)
	if most == c.steps && c.complete() {
		return
	}
	c.steps = max(partners.RingSteps(2, n), most)
}

// ring reports whether every rank always sends to the same other one, and notes which.
// If a single rank has no record, it is assumed to close the ring.
func (st *standstill) ring(c *course, communicator int32) bool {
	to := make([]int32, len(st.t.run.Ranks))
	for i := range to {
		to[i] = None
	}
	first, last := st.t.of(communicator)
	for i := first; i < last; i++ {
		r := &st.t.steps[i]
		if r.Peer < 0 {
			continue
		}
		if at := to[r.Rank]; at != None && at != r.Peer {
			return false
		}
		to[r.Rank] = r.Peer
	}
	next := map[int]int{}
	for rank, peer := range to {
		if peer != None {
			next[rank] = int(peer)
		}
	}
	received := map[int]bool{}
	for _, to := range next {
		if received[to] {
			return false
		}
		received[to] = true
	}
	for i, rank := range c.members {
		to := c.members[partners.RingNext(i, len(c.members))]
		if _, ok := next[rank]; !ok && !received[to] {
			next[rank] = to
			received[to] = true
		}
	}
	if len(next) != len(c.members) {
		return false
	}
	c.next = next
	return true
}

// halving reports whether all steps are those of halving-doubling over a power of two
// ranks.
func (st *standstill) halving(c *course, communicator int32) bool {
	n := len(c.members)
	if n&(n-1) != 0 {
		return false
	}
	steps := partners.HalvingSteps(n)
	from, to := st.t.of(communicator)
	for i := from; i < to; i++ {
		r := &st.t.steps[i]
		if int(r.Step) > steps || r.Peer < 0 || c.position[int(r.Peer)] != partners.HalvingPartner(c.position[int(r.Rank)], int(r.Step), steps) {
			return false
		}
	}
	return true
}
