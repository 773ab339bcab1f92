package trees

import (
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// Stall from full buffers need not fall upstream: the last link to the root gets the greatest share of the root's
// rate, so it waits least. Hence a link far hotter than all that it waits for may still not be where its cause
// begins.
const (
	// A port that waits for a link with at least that share of its stall is no root.
	leanRatio = .4
	// More than this share of the links at which a cause ends wait for the other cause.
	leanShare = .75
	// Stall of the siblings of a link without a value, relative to the stall of a link that waits for it: they feed
	// one root.
	leastBeyond, mostBeyond = .75, 2
)

// joinLeaning joins a cause with the one that it begins at: a port that itself waits is no root. If most of a cause's
// last links (those that wait for no other of it) may wait for a link of another cause that stalls about as much, or
// for one without a value whose siblings do, both are one, and the first one's sinks are no roots.
func (c *causes) joinLeaning(t *trees, s *sinks, h *shares) {
	c.votes, c.ends = c.votes[:0], scratch.Zeroed(c.ends, len(c.thin))
	for i := range t.Links.Len() {
		own, j := h.main(i), t.HottestAfter(i)
		if own < 0 || j >= 0 && h.of[j].has(own) || h.waitsWithin(t, i, own) {
			continue
		}
		c.ends[own]++
		isHeld := j >= 0 && (t.Stall[j] >= leanRatio*t.Stall[i] || t.holdsAll(j))
		if !isHeld {
			j = h.hottestBeyond(t, i, own)
			isHeld = j >= 0 && t.Stall[j] >= leanRatio*t.Stall[i]
		}
		if isHeld && h.main(j) >= 0 && !t.isAcrossSaddle(i, j) {
			c.votes = append(c.votes, vote{own, h.main(j), 1})
		}
	}
	c.tallyVotes()
	for _, v := range c.tally {
		if float64(v.n) <= leanShare*float64(c.ends[v.cause]) || c.sets.Find(v.cause) == c.sets.Find(v.beside) {
			continue
		}
		c.markLeaning(s, c.sets.Find(v.cause))
		c.sets.Union(v.cause, v.beside)
	}
}

// holdsAll reports whether a link explains the links that seem to wait for an unseen full port of its switch, however
// little it stalls itself: together they pass less than such a port would send, and what the link sends is not clearly
// more than all that may wait for it pass, so that it is busy whenever it may send. A link that carries a share s of its
// root's rate stalls at most 1-s, while each of those that feed it gets only a part of s.
func (t *trees) holdsAll(j index.Node) bool {
	d := t.From[j]
	toFull, fed, variance := 0., 0., 0.
	for _, i := range t.Into.Of(d) {
		if t.sink[i] == placeAt(d) {
			toFull += 100 - t.Stall[i]
		}
		if t.Graph.MayWait(t.Links[i], t.Links[j]) {
			fed += 100 - t.Stall[i]
			variance += math.Pow(t.Noise.Sigma(t.Stall[i]), 2)
		}
	}
	sends := 100 - t.Stall[j]
	return toFull < 100 && (sends < backpressure.ClearFactor*fed || sends-fed < backpressure.ClearSigmas*math.Sqrt(variance))
}

// markLeaning marks the sinks of a cause as no roots.
func (c *causes) markLeaning(s *sinks, cause causeID) {
	for a := range s.all.Len() {
		s.all[a].leans = s.all[a].leans || c.causeOf(a) == cause
	}
}

// waitsWithin reports whether a node may wait for another node of a cause.
func (h *shares) waitsWithin(t *trees, i index.Node, cause causeID) bool {
	return slices.ContainsFunc(t.MayWaitFor(i), func(j index.Node) bool { return h.of[j].has(cause) })
}

// hottestBeyond is the most stalled sibling, of another cause, of a link without a value that node i may wait for, if
// it stalls about as much as i, else -1: what waits for that link waits for what its siblings wait for.
func (h *shares) hottestBeyond(t *trees, i index.Node, own causeID) index.Node {
	best, w := index.Node(-1), t.Graph
	for _, l := range w.Out.Of(t.To[i]) {
		if t.Values[l] != linkset.Missing || !w.MayWait(t.Links[i], l) {
			continue
		}
		for _, j := range t.Into.Of(w.To[l]) {
			if share := t.Stall[j] / t.Stall[i]; leastBeyond <= share && share <= mostBeyond && h.main(j) != own && (best < 0 || t.IsHotter(j, best)) {
				best = j
			}
		}
	}
	return best
}
