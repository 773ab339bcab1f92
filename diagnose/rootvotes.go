package diagnose

import (
	"slices"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
)

// rootVotes are the roots found for a region in its last intervals. If several are about as likely, noise alone would
// pick another one in each interval.
type rootVotes struct {
	roots []rootVote
	seen  int64 // slot in which the region was last there
}

// rootVote is the decayed count of a root: the last interval counts 1, each earlier one voteDecay times the next. An
// empty device stands for no root.
type rootVote struct {
	root     schema.Root
	weight   float64
	reported bool // as the last result
}

// voteDecay gives votes the memory of meanScores: a root must be found in three intervals in a row to replace another
// that was always found. clearlyMore is the factor by which it must lead: less than the lead of what is found in a
// region's second interval over what was in the first.
const voteDecay, clearlyMore = 1 - 1./meanIntervals, 1.3

// steadyRoot returns the root with the most votes of a region, counting the one found now, if it lies in the region.
// Failures and deadlocks become roots at once.
func (rc *regionCase) steadyRoot(now *schema.Root) *schema.Root {
	id := rc.region.ID
	if rc.verdict.blamed > 0 || rc.back.Root.Kind == schema.RootDeadlock {
		delete(rc.in.earlier.roots, id)
		return now
	}
	votes := rc.in.earlier.roots[id]
	if votes == nil || rc.in.history.Clock.Now-votes.seen > meanIntervals {
		votes = &rootVotes{}
		rc.in.earlier.roots[id] = votes
	}
	votes.seen = rc.in.history.Clock.Now
	best := votes.add(now)
	if best.root.Device == "" {
		return nil
	}
	if now != nil && best.isFor(now) || !rc.touches(best.root.Device) {
		return now
	}
	root := rc.in.numbered(&best.root)
	switch {
	case root.Kind == schema.RootIncast && rc.verdict.class == schema.CauseSlowHost:
		root.Kind = schema.RootSlowReceiver
	case root.Kind == schema.RootSlowReceiver && rc.verdict.accused > 0:
		root.Kind = schema.RootIncast
	}
	return root
}

// add adds the root of an interval and returns the one with most votes, or the last result if that has nearly as many.
func (r *rootVotes) add(now *schema.Root) *rootVote {
	if now == nil {
		now = &schema.Root{}
	}
	best, last := -1, -1
	at := slices.IndexFunc(r.roots, func(v rootVote) bool { return v.isFor(now) })
	if at < 0 {
		at = len(r.roots)
		r.roots = append(r.roots, rootVote{})
	}
	r.roots[at].root = *now
	for i := range r.roots {
		v := &r.roots[i]
		if v.weight *= voteDecay; i == at {
			v.weight++
		}
		if best < 0 || v.weight > r.roots[best].weight || i == at && v.weight == r.roots[best].weight {
			best = i
		}
		if v.reported {
			last, v.reported = i, false
		}
	}
	if last >= 0 && r.roots[best].weight < clearlyMore*r.roots[last].weight {
		best = last
	}
	r.roots[best].reported = true
	return &r.roots[best]
}

func (v *rootVote) isFor(root *schema.Root) bool {
	return v.root.Device == root.Device && v.root.Port == root.Port
}

// touches reports whether a link of a region is at a device.
func (rc *regionCase) touches(device string) bool {
	d, known := rc.in.graph.FindDevice(device)
	return known && slices.ContainsFunc(rc.region.Links, func(l schema.LinkID) bool {
		from, to := rc.in.graph.Ends(l)
		return from == d || to == d
	})
}

// code encodes or decodes the fields.
func (r *rootVotes) code(c *codec.Coder) {
	c.Int(&r.seen)
	codec.Each(c, &r.roots, func(_ int, v *rootVote) {
		codeRoot(c, &v.root)
		c.Float(&v.weight)
		c.Bool(&v.reported)
	})
}
