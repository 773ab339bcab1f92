package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

const (
	// Of the stall of all leaves that may send to a set of leaves, at least that share is from the set itself.
	closedShare = .6
	// At least so many levels, each of several leaves, are as many exchanges.
	fewestLevels = 2
	// A leaf sends if its uplinks together are above the calm mean by sendSigmas deviations of the noise. One link
	// counts at most mostSent percent: it may be hot alone.
	sendSigmas, mostSent = 5, 5
)

// receivers are leaves that may be one exchange, by their sinks. A set has the sinks of a component, and those to
// which links from one switch lead.
type receivers struct {
	sets     index.UnionFind[sinkID]
	all      []sinkID                        // sinks at leaves where links from switches wait and no root is visible, by set
	at       index.By[index.Device, sinkID]  // a sink that its links lead to, or -1
	levels   index.By[sinkID, int]           // by set: number of levels, each of several leaves
	isDouble index.By[sinkID, bool]          // by set: two causes add up at a leaf
	excess   index.By[index.Device, float64] // sum over its uplinks of stall above the calm mean
	sends    index.By[index.Device, bool]
	unread   index.By[index.Device, bool]   // a leaf with no uplink measured
	met      index.By[index.Device, sinkID] // the last set that it was counted for
}

// joinClosed joins leaves at which links from switches wait and no root is visible, if each of them sends, and most
// of what may come to them is sent by them: receivers that send to each other are an exchange. Their levels may
// differ, since each host receives at its own rate, but not fall into several, each of several leaves, or add up at one
// leaf.
func (c *causes) joinClosed(t *trees, s *sinks, _ *shares) {
	r := &c.receivers
	r.list(t, s, c)
	isRead := false
	for i := 0; i < len(r.all); {
		set := r.sets.Find(r.all[i])
		j := i + 1
		for ; j < len(r.all) && r.sets.Find(r.all[j]) == set; j++ {
		}
		met := r.all[i:j]
		i = j
		if len(met) < 2 || r.isDouble[set] || r.levels[set] >= fewestLevels {
			continue
		}
		if !isRead {
			r.readSenders(t)
			isRead = true
		}
		if r.isClosed(t, s, set, met) {
			for _, a := range met[1:] {
				c.join(met[0], a)
			}
		}
	}
}

// list lists the leaves by set.
func (r *receivers) list(t *trees, s *sinks, c *causes) {
	n := len(s.all)
	r.sets.Reset(n)
	r.at, r.all = scratch.Filled(r.at, len(t.Seen), -1), r.all[:0]
	for a := range s.all.Len() {
		x := &s.all[a]
		r.sets.Union(a, x.first)
		if !x.isLeaf || x.fromSwitches < backpressure.MinFeeders || x.beginsTree() {
			continue
		}
		r.all = append(r.all, a)
		for _, i := range t.Into.Of(x.device) {
			if s.feeding[i] != a {
				continue
			}
			if b := r.at[t.From[i]]; b >= 0 {
				r.sets.Union(a, b)
			}
			r.at[t.From[i]] = a
		}
	}
	r.levels, r.isDouble = scratch.Zeroed(r.levels, n), scratch.Zeroed(r.isDouble, n)
	for a := range s.all.Len() {
		set := r.sets.Find(a)
		r.isDouble[set] = r.isDouble[set] || !c.double[a].isNone()
		if c.levelOf(a) == levelID(a) && c.isOfExchange(a) {
			r.levels[set]++
		}
	}
	slices.SortFunc(r.all, func(a, b sinkID) int {
		return cmp.Or(cmp.Compare(r.sets.Find(a), r.sets.Find(b)), cmp.Compare(a, b))
	})
}

// readSenders finds which leaves send, by the stall of all their uplinks, including those that stall too little to
// count.
func (r *receivers) readSenders(t *trees) {
	w := t.Graph
	n := len(t.Seen)
	r.excess, r.sends, r.unread, r.met = scratch.Slice(r.excess, n), scratch.Slice(r.sends, n), scratch.Slice(r.unread, n), scratch.Slice(r.met, n)
	for d := range t.Seen.Len() {
		r.excess[d], r.sends[d], r.unread[d], r.met[d] = 0, false, false, -1
		if !w.IsLeaf(d) {
			continue
		}
		links := 0.
		for _, l := range w.Out.Of(d) {
			if t.Values[l] != linkset.Missing && !w.ToHost(l) {
				links++
				r.excess[d] += min(float64(t.Values[l]), mostSent) - t.Noise.Mean
			}
		}
		r.sends[d], r.unread[d] = r.excess[d] > sendSigmas*t.Noise.Base*math.Sqrt(links), links == 0
	}
}

// isClosed reports whether each leaf of a set sends, and they send most of what all leaves below the same switches
// do.
func (r *receivers) isClosed(t *trees, s *sinks, set sinkID, met []sinkID) bool {
	w := t.Graph
	within := 0.
	for _, a := range met {
		d := s.all[a].device
		if !r.sends[d] && !(r.unread[d] && r.isLevelWithSenders(t, s, a, met)) {
			return false
		}
		r.met[d] = set
		within += r.excess[d]
	}
	all := within
	for _, a := range met {
		for _, i := range t.Into.Of(s.all[a].device) {
			if s.feeding[i] != a {
				continue
			}
			for _, l := range w.In.Of(t.From[i]) {
				if d := w.From[l]; r.met[d] != set && r.sends[d] {
					r.met[d] = set
					all += r.excess[d]
				}
			}
		}
	}
	return within >= closedShare*all
}

// isLevelWithSenders reports whether as much waits at a leaf as at the others, at least one of which sends. For a
// leaf without readings, that shows that it takes part.
func (r *receivers) isLevelWithSenders(t *trees, s *sinks, a sinkID, met []sinkID) bool {
	x, n := &s.all[a], 0
	for _, b := range met {
		y := &s.all[b]
		if math.Abs(x.stall-y.stall) >= t.Noise.MeanError(max(x.stall, y.stall), x.links, y.links) {
			return false
		}
		if r.sends[y.device] {
			n++
		}
	}
	return n > 0
}
