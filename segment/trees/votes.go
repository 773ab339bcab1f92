package trees

import (
	"cmp"
	"slices"
)

// vote records that n links of one cause lie beside another's.
type vote struct {
	cause, beside causeID
	n             int
}

// tallyVotes sums the votes per pair of causes.
func (c *causes) tallyVotes() {
	slices.SortFunc(c.votes, func(a, b vote) int { return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.beside, b.beside)) })
	c.tally = c.tally[:0]
	for _, v := range c.votes {
		if k := len(c.tally) - 1; k >= 0 && c.tally[k].cause == v.cause && c.tally[k].beside == v.beside {
			c.tally[k].n += v.n
		} else {
			c.tally = append(c.tally, v)
		}
	}
}

// mostVoted is the cause with most votes, or -1 if there is none or a tie.
func (c *causes) mostVoted() causeID {
	c.tallyVotes()
	best, isTied := vote{cause: -1}, false
	for _, v := range c.tally {
		isTied = v.n == best.n || isTied && v.n < best.n
		if v.n > best.n {
			best = v
		}
	}
	if isTied {
		return -1
	}
	return best.cause
}
