package trees

import (
	"cmp"
	"math"
	"slices"
)

// senders finds, on a fabric of two levels, which trees each leaf sends into, from all its uplinks together. Traffic to
// any leaf takes all spines, so all uplinks of a leaf wait for the same trees, if they are level within the noise: that
// is one decision from many readings. Which trees these are is fitted to all leaves together: see senderMixture.
type senders struct {
	mixture senderMixture
	nodes   []nodeID   // uplinks of the leaves
	devices []deviceID // the leaves
	causes  []causeID  // of the trees, ascending
	met     []metCause // of one leaf
}

// senderLeaf is a leaf nearly all of whose uplinks stall at one level, and the trees for which most of them may wait.
type senderLeaf struct {
	device     deviceID
	begin, end int     // of its uplinks in nodes
	level      float64 // mean stall of these
	logLevel   float64
	error      float64 // relative standard error of that, by noise
	hosts      hostsOf
	n          int                    // number of trees
	cause      [maxParts]causeID      // of each of these
	tree       [maxParts]treeID       // its place among all trees
	stall      [maxParts]float64      // mean stall of what the uplinks may wait for
	chance     [1 << maxParts]float64 // by set of trees: that the leaf sends into these, and no others
	sendsInto  [maxParts]float64      // chance that it does, by tree
}

// hostsOf says whether hosts of a leaf wait for the trees for which its uplinks may.
type hostsOf int8

const (
	hostsUnknown hostsOf = iota // they may wait for something else
	noHosts
	someHosts
)

// metCause is a cause for which uplinks of a leaf may wait: how many, and the sum of what they may wait for.
type metCause struct {
	cause causeID
	n     int
	sum   float64
}

const (
	// levelUplinks is by how many deviations of the noise the uplinks of a leaf may differ to be one decision.
	levelUplinks = 1.5
	// spreadShare is the share of stalled uplinks at leaves that stall on nearly all from which traffic takes all spines.
	// Where flows keep to single paths, a leaf stalls on the uplinks that its flows take.
	spreadShare = .7
)

// spreadsTraffic reports whether traffic takes all spines: most stalled uplinks are at leaves nearly all of whose uplinks
// stall. Those that wait for a slow cable of one spine do not count: they are several at a leaf if cables are parallel.
func (t *nodes) spreadsTraffic() bool {
	all, wide := 0, 0
	for d := range t.seen.len() {
		if !t.waits.isLeaf(d) {
			continue
		}
		n := t.stalledUp(d)
		if 2*n < t.measuredUp(d) && t.isOnlyToOneSpine(d) {
			continue
		}
		if all += n; t.isNearlyAllUp(d, n) {
			wide += n
		}
	}
	return float64(wide) > spreadShare*float64(all)
}

// isOnlyToOneSpine reports whether all stalled uplinks of a leaf lead to one spine with a slow cable.
func (t *nodes) isOnlyToOneSpine(leaf deviceID) bool {
	for _, i := range t.leaving.of(leaf) {
		if !t.toHost(i) {
			return t.isOneSpine(t.to[i]) && t.isOnlyUp(i)
		}
	}
	return false
}

// isNearlyAllUp reports whether n links are nearly all uplinks of a leaf that have a value.
func (t *nodes) isNearlyAllUp(leaf deviceID, n int) bool {
	return n >= minFeeders && float64(n) >= mostWays*float64(t.measuredUp(leaf))
}

// find finds what those nodes of a hop wait for that are uplinks of leaves.
func (snd *senders) find(t *trees, s *sinks, c *causes, h *shares, nodes []nodeID, minMean float64) {
	snd.listLeaves(t, s, c, h, nodes)
	if snd.listTrees(t, s, c, h); len(snd.mixture.trees) < 2 {
		return
	}
	snd.mixture.fit()
	for _, tree := range snd.mixture.trees {
		h.fall[tree.cause] = tree.ratio
	}
	for k := range snd.mixture.leaves {
		snd.give(t, h, &snd.mixture.leaves[k], minMean)
	}
}

// listLeaves lists the leaves of a hop's uplinks, by name.
func (snd *senders) listLeaves(t *trees, s *sinks, c *causes, h *shares, nodes []nodeID) {
	snd.mixture.leaves, snd.nodes, snd.devices = snd.mixture.leaves[:0], snd.nodes[:0], snd.devices[:0]
	for _, i := range nodes {
		if leaf := t.leafOf(i); leaf >= 0 && !t.isMet[leaf] && !t.fromHost(i) && !h.atSink[i] {
			t.isMet[leaf] = true
			snd.devices = append(snd.devices, leaf)
		}
	}
	for _, leaf := range snd.devices {
		t.isMet[leaf] = false
	}
	slices.SortFunc(snd.devices, func(a, b deviceID) int { return cmp.Compare(t.waits.byName[a], t.waits.byName[b]) })
	for _, leaf := range snd.devices {
		snd.addLeaf(t, s, c, h, leaf, t.rank[nodes[0]])
	}
}

// addLeaf adds a leaf if nearly all of its uplinks stall, at one level, and wait for trees only.
func (snd *senders) addLeaf(t *trees, s *sinks, c *causes, h *shares, device deviceID, rank hops) {
	leaf := senderLeaf{device: device, begin: len(snd.nodes)}
	s.sample = s.sample[:0]
	for _, i := range t.leaving.of(device) {
		if !t.toHost(i) && t.rank[i] == rank && !h.atSink[i] && h.of[i].n > 0 {
			snd.nodes, s.sample = append(snd.nodes, i), append(s.sample, t.stall[i])
		}
	}
	leaf.end = len(snd.nodes)
	if !t.isNearlyAllUp(device, leaf.end-leaf.begin) || !t.isLevel(s.sample) || !snd.findTrees(t, s, c, h, &leaf) {
		snd.nodes = snd.nodes[:leaf.begin]
		return
	}
	for k := range leaf.n {
		snd.splitCertain(t, s, h, &leaf, k)
	}
	snd.measure(t, leaf)
}

// isLevel reports whether stalls differ by no more than the noise explains; it overwrites them.
func (t *nodes) isLevel(stalls []float64) bool {
	middle := medianOf(stalls)
	return deviationOf(stalls, middle) <= levelUplinks*t.noise.sigma(middle)
}

// findTrees finds the trees for which most uplinks of a leaf may wait; false if there are none, or an exchange or twins,
// which stall does not tell apart.
func (snd *senders) findTrees(t *trees, s *sinks, c *causes, h *shares, leaf *senderLeaf) bool {
	snd.met = snd.met[:0]
	uplinks := snd.nodes[leaf.begin:leaf.end]
	for _, i := range uplinks {
		for _, p := range h.of[i].list() {
			k := slices.IndexFunc(snd.met, func(m metCause) bool { return m.cause == p.cause })
			if k < 0 {
				k = len(snd.met)
				snd.met = append(snd.met, metCause{cause: p.cause})
			}
			snd.met[k].n++
			snd.met[k].sum += p.stall
		}
	}
	slices.SortFunc(snd.met, func(a, b metCause) int { return cmp.Compare(a.cause, b.cause) })
	for _, m := range snd.met {
		if 2*m.n < len(uplinks) {
			continue
		}
		if leaf.n == maxParts || c.isExchange(m.cause) || s.isTwin(m.cause) {
			return false
		}
		leaf.cause[leaf.n], leaf.stall[leaf.n] = m.cause, m.sum/float64(m.n)
		leaf.n++
	}
	switch {
	case leaf.n < len(snd.met): // hosts may wait for what a few uplinks wait for
	case t.stalledHosts(leaf.device) > 0:
		leaf.hosts = someHosts
	default:
		leaf.hosts = noHosts
	}
	return leaf.n > 0
}

// splitCertain makes those uplinks of a leaf a leaf of their own that certainly wait for one of its trees: their spines
// lack cables to the leaves of the others. They show the fall of that tree.
func (snd *senders) splitCertain(t *trees, s *sinks, h *shares, leaf *senderLeaf, k int) {
	if leaf.n == 1 {
		return
	}
	only, end := leaf.cause[k], leaf.begin
	for at := leaf.begin; at < leaf.end; at++ {
		i := snd.nodes[at]
		leads := func(cause causeID) bool { return cause != only && t.waits.isAdjacent(t.to[i], s.deviceOf(cause)) }
		if h.of[i].n == 1 && h.of[i].at[0].cause == only && !slices.ContainsFunc(leaf.cause[:leaf.n], leads) {
			snd.nodes[at], snd.nodes[end] = snd.nodes[end], i
			end++
		}
	}
	if end == leaf.begin || end == leaf.end {
		return
	}
	certain := senderLeaf{device: leaf.device, begin: leaf.begin, end: end, n: 1}
	certain.cause[0], certain.stall[0] = only, leaf.stall[k]
	snd.measure(t, certain)
	leaf.begin = end
}

// measure measures the level of a leaf's uplinks, and adds the leaf to the mixture.
func (snd *senders) measure(t *trees, leaf senderLeaf) {
	for _, i := range snd.nodes[leaf.begin:leaf.end] {
		leaf.level += t.stall[i]
	}
	n := float64(leaf.end - leaf.begin)
	leaf.level /= n
	leaf.logLevel = math.Log(leaf.level)
	leaf.error = t.noise.sigma(leaf.level) / leaf.level / math.Sqrt(n)
	snd.mixture.leaves = append(snd.mixture.leaves, leaf)
}

// listTrees lists the trees of all leaves.
func (snd *senders) listTrees(t *trees, s *sinks, c *causes, h *shares) {
	snd.causes, snd.mixture.trees = snd.causes[:0], snd.mixture.trees[:0]
	leaves := snd.mixture.leaves
	for k := range leaves {
		snd.causes = append(snd.causes, leaves[k].cause[:leaves[k].n]...)
	}
	slices.Sort(snd.causes)
	snd.causes = slices.Compact(snd.causes)
	for _, cause := range snd.causes {
		seen := s.hostsWaitFor(t, c, cause)
		snd.mixture.trees = append(snd.mixture.trees, senderTree{cause: cause, fall: math.Log(h.fall[cause]), share: 1, hosts: hostChance(seen, 0), seenHosts: seen})
	}
	for k := range leaves {
		for j := range leaves[k].n {
			place, _ := slices.BinarySearch(snd.causes, leaves[k].cause[j])
			leaves[k].tree[j] = treeID(place)
		}
	}
}

// hostsWaitFor is 1 if hosts at the leaf where a cause begins wait, and no uplink there: so they wait for it; else 0.
func (s *sinks) hostsWaitFor(t *trees, c *causes, cause causeID) float64 {
	for a := range s.all.len() {
		if x := &s.all[a]; c.causeOf(a) == cause && x.isLeaf && t.stalledUp(x.device) == 0 && t.stalledHosts(x.device) > 0 {
			return 1
		}
	}
	return 0
}

// give gives the uplinks of a leaf the trees that it most likely sends into, and each other one of at least leastLikely. An
// uplink that may also wait for another cause only loses the other trees.
func (snd *senders) give(t *trees, h *shares, leaf *senderLeaf, minMean float64) {
	var parts [maxParts]part
	n, predicted, set := 0, 0., leaf.likely()
	for k := range leaf.n {
		if one := leaf.stall[k] * h.fall[leaf.cause[k]]; set>>k&1 != 0 && one >= minMean {
			parts[n] = part{leaf.cause[k], one}
			predicted += one
			n++
		}
	}
	if n == 0 {
		return
	}
	isOther := func(p part) bool { return !slices.Contains(leaf.cause[:leaf.n], p.cause) }
	isGiven := func(p part) bool {
		return slices.ContainsFunc(parts[:n], func(q part) bool { return q.cause == p.cause })
	}
	for _, i := range snd.nodes[leaf.begin:leaf.end] {
		from, stall := &h.of[i], t.stall[i]
		if slices.ContainsFunc(from.list(), isOther) {
			from.keep(func(p part) bool { return isOther(p) || isGiven(p) })
			continue
		}
		own := parts
		for k := range n {
			own[k].stall *= stall / predicted
		}
		from.set(own[:n]...)
		h.misfit[i] = math.Abs(stall-min(100, predicted)) / t.noise.sigma(stall)
		h.isGiven[i] = true
	}
}

// likely is the likeliest set of trees, with each other tree of at least leastLikely.
func (leaf *senderLeaf) likely() (set uint) {
	set = 1
	for other := uint(2); other < 1<<leaf.n; other++ {
		if leaf.chance[other] > leaf.chance[set] {
			set = other
		}
	}
	for k, chance := range leaf.sendsInto[:leaf.n] {
		if chance >= leastLikely {
			set |= 1 << k
		}
	}
	return set
}

// deviceOf is the switch at which a cause begins.
func (s *sinks) deviceOf(cause causeID) deviceID {
	a, _ := s.sinkOf(cause)
	return s.all[a].device
}
