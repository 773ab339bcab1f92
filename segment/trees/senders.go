package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/segment/linkset"
)

// senders finds, on a fabric of two levels, which trees each leaf sends into, from all its uplinks together. Traffic takes
// all spines, so where the uplinks of a leaf are level within the noise, each of them waits for the same trees. See
// senderfit.go for how.
type senders struct {
	leaves  []senderLeaf
	nodes   []int32 // of the leaves
	trees   []senderTree
	scale   float64 // by how much the leaves of one tree differ: the scale of Laplace's distribution of logarithms
	devices []int32
	causes  []int32 // in ascending order
	met     []metCause
	ratios  []weighted
	start   []senderTree
	best    []senderTree
}

// senderLeaf is a leaf nearly all of whose uplinks stall alike, and the trees for which most of them may wait.
type senderLeaf struct {
	device     int32
	begin, end int     // of nodes
	level      float64 // mean stall of the uplinks
	error      float64 // of that, by noise, relative
	hosts      hostsOf
	n          int
	tree       [maxParts]int32        // a cause, and later its index in trees
	stall      [maxParts]float64      // mean stall of what the uplinks may wait for
	chance     [1 << maxParts]float64 // by set of trees
}

// hostsOf says whether hosts of a leaf wait.
type hostsOf int8

const (
	hostsUnknown hostsOf = iota
	noHosts
	someHosts
)

// metCause is a cause for which uplinks of a leaf may wait: how many, and the sum of what they may wait for.
type metCause struct {
	cause int32
	n     int
	sum   float64
}

// levelUplinks is by how many deviations of the noise the uplinks of a leaf may differ to be one decision.
const levelUplinks = 1.5

// sharesPaths reports whether traffic takes all spines: most stalled uplinks are at leaves nearly all of whose uplinks stall.
func (t *trees) sharesPaths() bool {
	all, wide := 0, 0
	for d := range int32(len(t.seen)) {
		if !t.waits.isLeaf(d) {
			continue
		}
		stalled := t.stalledUp(d)
		if all += stalled; stalled >= minFeeders && float64(stalled) >= mostWays*float64(t.measuredUp(d)) {
			wide += stalled
		}
	}
	return float64(wide) > besetShare*float64(all)
}

// measuredUp counts the uplinks of a leaf that have a value.
func (t *trees) measuredUp(leaf int32) (n int) {
	for _, l := range t.waits.out.of(leaf) {
		if t.waits.isUp(l) && t.values[l] != linkset.Missing {
			n++
		}
	}
	return n
}

// find finds what those nodes of a hop wait for that are uplinks of leaves.
func (e *senders) find(t *trees, s *sinks, c *causes, h *shares, nodes []int32, minMean float64) {
	if e.list(t, s, c, h, nodes); len(e.trees) < 2 {
		return
	}
	e.fit()
	for _, z := range e.trees {
		h.fall[z.cause] = math.Exp(z.fall)
	}
	for k := range e.leaves {
		e.give(t, s, h, &e.leaves[k], minMean)
	}
}

// list lists the leaves, by name, and their trees.
func (e *senders) list(t *trees, s *sinks, c *causes, h *shares, nodes []int32) {
	e.leaves, e.nodes, e.trees, e.devices, e.causes = e.leaves[:0], e.nodes[:0], e.trees[:0], e.devices[:0], e.causes[:0]
	for _, i := range nodes {
		if leaf := t.leafOf(i); leaf >= 0 && !t.fromHost(i) && !h.atSink[i] {
			e.devices = append(e.devices, leaf)
		}
	}
	slices.SortFunc(e.devices, func(a, b int32) int { return cmp.Compare(t.waits.byName[a], t.waits.byName[b]) })
	for _, leaf := range slices.Compact(e.devices) {
		e.add(t, s, c, h, leaf, t.rank[nodes[0]])
	}
	slices.Sort(e.causes)
	e.causes = slices.Compact(e.causes)
	for _, cause := range e.causes {
		e.trees = append(e.trees, e.newTree(t, s, c, h, cause))
	}
	for k := range e.leaves {
		x := &e.leaves[k]
		for j := range x.n {
			at, _ := slices.BinarySearch(e.causes, x.tree[j])
			x.tree[j] = int32(at)
		}
	}
}

// add adds a leaf if nearly all of its uplinks stall, at one level, and wait for trees only.
func (e *senders) add(t *trees, s *sinks, c *causes, h *shares, leaf, rank int32) {
	x := senderLeaf{device: leaf, begin: len(e.nodes)}
	s.sample = s.sample[:0]
	for _, i := range t.leaving.of(leaf) {
		if !t.toHost(i) && t.rank[i] == rank && !h.atSink[i] && h.of[i].n > 0 {
			e.nodes, s.sample = append(e.nodes, i), append(s.sample, t.stall[i])
		}
	}
	n := len(e.nodes) - x.begin
	x.end = len(e.nodes)
	isKept := n >= minFeeders && float64(n) >= mostWays*float64(t.measuredUp(leaf))
	if isKept {
		middle := medianOf(s.sample)
		isKept = deviationOf(s.sample, middle) <= levelUplinks*t.noise.sigma(middle) && e.findTrees(t, s, c, h, &x)
	}
	if !isKept {
		e.nodes = e.nodes[:x.begin]
		return
	}
	e.causes = append(e.causes, x.tree[:x.n]...)
	for k := range x.n {
		e.takeSure(t, s, h, &x, k)
	}
	e.leaves = append(e.leaves, x)
	e.measure(t, &e.leaves[len(e.leaves)-1])
}

// measure measures the level of a leaf's uplinks.
func (e *senders) measure(t *trees, x *senderLeaf) {
	x.level = 0
	for _, i := range e.nodes[x.begin:x.end] {
		x.level += t.stall[i]
	}
	n := float64(x.end - x.begin)
	x.level /= n
	x.error = t.noise.sigma(x.level) / x.level / math.Sqrt(n)
}

// takeSure makes those uplinks of a leaf a leaf of their own that lead to spines without a cable to the leaves of all its trees
// but one. They show the fall of that.
func (e *senders) takeSure(t *trees, s *sinks, h *shares, x *senderLeaf, tree int) {
	begin := x.begin
	for k := x.begin; k < x.end; k++ {
		i := e.nodes[k]
		isOther := func(cause int32) bool {
			return cause != x.tree[tree] && t.waits.isAdjacent(t.to[i], s.leafOf(cause))
		}
		if h.of[i].n == 1 && h.of[i].at[0].cause == x.tree[tree] && !slices.ContainsFunc(x.tree[:x.n], isOther) {
			e.nodes[k], e.nodes[begin] = e.nodes[begin], i
			begin++
		}
	}
	if x.n == 1 || begin == x.begin || begin == x.end {
		return
	}
	sure := senderLeaf{device: x.device, begin: x.begin, end: begin, n: 1}
	sure.tree[0], sure.stall[0] = x.tree[tree], x.stall[tree]
	x.begin = begin
	e.leaves = append(e.leaves, sure)
	e.measure(t, &e.leaves[len(e.leaves)-1])
}

// findTrees finds the trees for which most uplinks of a leaf may wait; false if there are none, or an exchange or twins,
// which stall does not tell apart.
func (e *senders) findTrees(t *trees, s *sinks, c *causes, h *shares, x *senderLeaf) bool {
	e.met = e.met[:0]
	for _, i := range e.nodes[x.begin:x.end] {
		for _, p := range h.of[i].list() {
			k := slices.IndexFunc(e.met, func(m metCause) bool { return m.cause == p.cause })
			if k < 0 {
				k = len(e.met)
				e.met = append(e.met, metCause{cause: p.cause})
			}
			e.met[k].n++
			e.met[k].sum += p.stall
		}
	}
	slices.SortFunc(e.met, func(a, b metCause) int { return cmp.Compare(a.cause, b.cause) })
	isWhole := true // no other cause of a few uplinks
	for _, m := range e.met {
		if 2*m.n < x.end-x.begin {
			isWhole = false
			continue
		}
		if x.n == maxParts || c.isExchange(m.cause) || s.isTwin(m.cause) {
			return false
		}
		x.tree[x.n], x.stall[x.n] = m.cause, m.sum/float64(m.n)
		x.n++
	}
	if isWhole {
		x.hosts = t.hostsAt(x.device)
	}
	return x.n > 0
}

func (t *trees) hostsAt(leaf int32) hostsOf {
	if t.stalledHosts(leaf) > 0 {
		return someHosts
	}
	return noHosts
}

// give gives the uplinks of a leaf the trees that it most likely sends into, and each other one of at least leastLikely. An
// uplink that may also wait for another cause only loses the others.
func (e *senders) give(t *trees, s *sinks, h *shares, x *senderLeaf, minMean float64) {
	set, predicted := x.likely(), 0.
	var parts [maxParts]part
	n := 0
	for k := range x.n {
		cause := e.trees[x.tree[k]].cause
		if one := x.stall[k] * h.fall[cause]; set>>k&1 != 0 && one >= minMean {
			parts[n] = part{cause, one}
			predicted += one
			n++
		}
	}
	if n == 0 {
		return
	}
	isKnown := func(cause int32) bool {
		return slices.ContainsFunc(x.tree[:x.n], func(z int32) bool { return e.trees[z].cause == cause })
	}
	for _, i := range e.nodes[x.begin:x.end] {
		from := &h.of[i]
		isOther := func(p part) bool { return !isKnown(p.cause) }
		switch {
		case slices.ContainsFunc(from.list(), isOther):
			kept := 0
			for _, p := range from.list() {
				if isOther(p) || slices.ContainsFunc(parts[:n], func(q part) bool { return q.cause == p.cause }) {
					from.at[kept] = p
					kept++
				}
			}
			from.n = kept
			continue
		}
		own := parts
		for k := range n {
			own[k].stall *= t.stall[i] / predicted
		}
		from.set(own[:n]...)
		from.sort()
		h.misfit[i] = math.Abs(t.stall[i]-min(100, predicted)) / t.noise.sigma(t.stall[i])
		h.isGiven[i] = true
	}
}

// likely is the likeliest set of trees, with each other tree of at least leastLikely.
func (x *senderLeaf) likely() (set uint) {
	var chance [maxParts]float64
	for other := uint(1); other < 1<<x.n; other++ {
		if set == 0 || x.chance[other] > x.chance[set] {
			set = other
		}
		for k := range x.n {
			if other>>k&1 != 0 {
				chance[k] += x.chance[other]
			}
		}
	}
	for k := range x.n {
		if chance[k] >= leastLikely {
			set |= 1 << k
		}
	}
	return set
}

// leafOf is the switch at which a cause begins.
func (s *sinks) leafOf(cause int32) int32 { return s.all[int(cause)%len(s.all)].device }
