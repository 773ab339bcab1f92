package collective

import "github.com/giverny/giverny/collective/partners"

// pairwise reports whether all steps follow one pairing, and notes which. At least
// three steps are needed: the first two of halving-doubling look the same. Whether a
// step awaits the data of the one before is taken from the records.
func (st *standstill) pairwise(c *course, communicator int32) bool {
	n := len(c.members)
	from, to := st.t.of(communicator)
	for _, p := range []partners.Pairing{partners.Onwards, partners.Backwards, partners.Exchanged} {
		if p == partners.Exchanged && n&(n-1) != 0 {
			continue
		}
		fits, most, free := true, 0, true
		for i := from; i < to && fits; i++ {
			r := &st.t.steps[i]
			fits = r.Peer >= 0 && int(r.Step) < n && p.Destination(c.position[int(r.Rank)], int(r.Step), n) == c.position[int(r.Peer)]
			most = max(most, int(r.Step))
			free = free && r.AwaitsStep == None
		}
		if fits && most >= 3 {
			c.pairs, c.free = p, free
			return true
		}
	}
	return false
}

// even reports whether all ranks ended the same step.
func (c *course) even(step int) bool {
	for _, rank := range c.members {
		if c.last[rank] != step {
			return false
		}
	}
	return true
}
