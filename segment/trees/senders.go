package trees

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strconv"
)

// senders finds, on a fabric of two levels, which trees each leaf sends into, from all its uplinks together. Traffic
// takes all spines, so where the uplinks of a leaf are level within the noise, one of them tells no more than the others.
// Leaves differ by what they send, and the trees by how much they fall, by how much that varies from leaf to leaf, and by
// whether hosts wait for them. All of these are fitted together (expectation and maximization).
type senders struct {
	leaves []senderLeaf
	nodes  []int32
	trees  []senderTree
	best   []senderTree
	local  []int32 // by cause: its index in trees, or -1
	ratios []weighted
	seen   []bool // by device
}

// senderLeaf is a leaf nearly all of whose uplinks stall alike.
type senderLeaf struct {
	device     int32
	begin, end int     // of nodes
	level      float64 // mean stall
	off        float64 // its error by noise, relative
	hosts      int8    // 1 if some wait, 0 if none, -1 if unknown
	n          int
	tree       [maxParts]int32
	stall      [maxParts]float64
	cost       [1 << maxParts]float64
}

// senderTree is a cause: the logarithm of its fall, the scale of its differences from leaf to leaf, the chance that
// hosts of a leaf wait for it, and its share of the leaves.
type senderTree struct {
	cause                     int32
	fall, scale, hosts, share float64
	yes, no                   float64 // what its root's leaf shows about hosts
}

type weighted struct{ x, weight float64 }

func env(name string, def float64) float64 {
	if v, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
		return v
	}
	return def
}

var (
	usualScale   = env("S_SCALE", .1)
	scaleLeaves  = env("S_LEAVES", 2)
	emRounds     = int(env("S_ROUNDS", 6))
	secondTree   = env("S_SECOND", 1.5)
	mostTrees    = int(env("S_TREES", 6))
	levelWidth   = env("S_LEVEL", 1.5)
	senderShare  = env("S_SHARE", .85)
	minTogether  = env("S_TOG", .5)
	poolScale    = env("S_POOL", 1)
	skipTwins    = env("S_TWIN", 1)
	shareWeight  = env("S_W", 1)
	hostsCount   = env("S_HOSTS", 1)
	noRootWeight = env("S_NOROOT", .5)
)

// list lists the leaves whose uplinks are among some nodes of a hop.
func (e *senders) list(t *trees, s *sinks, c *causes, h *shares, nodes []int32) {
	e.leaves, e.nodes, e.trees = e.leaves[:0], e.nodes[:0], e.trees[:0]
	rank := t.rank[nodes[0]]
	for len(e.local) < len(h.fall) {
		e.local = append(e.local, -1)
	}
	for len(e.seen) < len(t.seen) {
		e.seen = append(e.seen, false)
	}
	for _, i := range nodes {
		if leaf := t.from[i]; t.leafOf(i) == leaf && !e.seen[leaf] && !h.atSink[i] {
			e.seen[leaf] = true
			e.add(t, s, c, h, leaf, rank)
		}
	}
	for _, i := range nodes {
		e.seen[t.from[i]] = false
	}
	all := 0
	for _, i := range nodes {
		if t.leafOf(i) == t.from[i] && !h.atSink[i] {
			all++
		}
	}
	if float64(len(e.nodes)) < minTogether*float64(all) {
		e.leaves = e.leaves[:0]
	}
	slices.SortFunc(e.leaves, func(a, b senderLeaf) int { return cmp.Compare(t.waits.byName[a.device], t.waits.byName[b.device]) })
	for k := range e.trees {
		e.local[e.trees[k].cause] = -1
	}
}

func (e *senders) add(t *trees, s *sinks, c *causes, h *shares, leaf, rank int32) {
	x := senderLeaf{device: leaf, begin: len(e.nodes)}
	measured, stalled := 0, 0
	for _, l := range t.waits.out.of(leaf) {
		if t.waits.isUp(l) && t.values[l] >= 0 {
			measured++
		}
	}
	s.sample = s.sample[:0]
	sum := 0.
	for _, i := range t.leaving.of(leaf) {
		if t.toHost(i) {
			continue
		}
		stalled++
		if t.rank[i] == rank && !h.atSink[i] && h.of[i].n > 0 {
			e.nodes = append(e.nodes, i)
			s.sample = append(s.sample, t.stall[i])
			sum += t.stall[i]
		}
	}
	x.end = len(e.nodes)
	n := x.end - x.begin
	if n < minFeeders || float64(n) < senderShare*float64(measured) {
		e.nodes = e.nodes[:x.begin]
		return
	}
	middle := medianOf(s.sample)
	if deviationOf(s.sample, middle) > levelWidth*t.noise.sigma(middle) {
		e.nodes = e.nodes[:x.begin]
		return
	}
	x.level = sum / float64(n)
	x.off = t.noise.sigma(x.level) / x.level / math.Sqrt(float64(n))
	isWhole := true
	var causes, counts [maxParts * 4]int32
	var sums [maxParts * 4]float64
	k := 0
	for _, i := range e.nodes[x.begin:x.end] {
		for _, p := range h.of[i].list() {
			j := slices.Index(causes[:k], p.cause)
			if j < 0 {
				if k == len(causes) {
					continue
				}
				j = k
				causes[k], counts[k], sums[k] = p.cause, 0, 0
				k++
			}
			counts[j]++
			sums[j] += p.stall
		}
	}
	for j := range k {
		if 2*int(counts[j]) < n {
			isWhole = false // another cause of few uplinks
			continue
		}
		if c.isExchange(causes[j]) || x.n == maxParts || skipTwins > 0 && s.isTwin(causes[j]) {
			e.nodes = e.nodes[:x.begin]
			return
		}
		x.tree[x.n], x.stall[x.n] = e.indexOf(t, s, c, h, causes[j]), sums[j]/float64(counts[j])
		x.n++
	}
	x.hosts = -1
	if isWhole {
		if x.hosts = 0; t.stalledHosts(leaf) > 0 {
			x.hosts = 1
		}
	}
	if x.n == 0 {
		e.nodes = e.nodes[:x.begin]
		return
	}
	e.leaves = append(e.leaves, x)
}

// indexOf is the index of a cause among the trees.
func (e *senders) indexOf(t *trees, s *sinks, c *causes, h *shares, cause int32) int32 {
	if e.local[cause] < 0 {
		e.local[cause] = int32(len(e.trees))
		x := senderTree{cause: cause, fall: math.Log(h.fall[cause]), scale: 2 * usualScale, hosts: .5, share: 1}
		for a := range s.all {
			y := &s.all[a]
			if c.sets.Find(int32(a)) != cause || !y.isLeaf {
				continue
			}
			up := 0
			for _, i := range t.leaving.of(y.device) {
				if !t.toHost(i) {
					up++
				}
			}
			if up >= minFeeders {
				continue
			}
			if t.stalledHosts(y.device) > 0 {
				x.yes++
			} else {
				x.no += noRootWeight
			}
		}
		x.hosts = (x.yes + .5) / (x.yes + x.no + 1)
		e.trees = append(e.trees, x)
	}
	return e.local[cause]
}

// expect finds the costs of all sets of trees of each leaf, and returns the logarithm of the likelihood.
func (e *senders) expect() (likelihood float64) {
	total := 0.
	for k := range e.trees {
		total += e.trees[k].share
		z := &e.trees[k]
		likelihood -= scaleLeaves * (math.Log(z.scale) + usualScale/z.scale)
	}
	for m := range e.leaves {
		x, sum := &e.leaves[m], 0.
		for set := uint(1); set < 1<<x.n; set++ {
			predicted, scale, cost, n, calm := 0., 0., 0., 0, 1.
			for k := range x.n {
				if set>>k&1 == 0 {
					continue
				}
				z := &e.trees[x.tree[k]]
				predicted += x.stall[k] * math.Exp(z.fall)
				scale, calm = max(scale, z.scale), calm*(1-z.hosts)
				cost -= shareWeight * math.Log(z.share/total)
				n++
			}
			if n > mostAtOnce {
				x.cost[set] = math.Inf(1)
				continue
			}
			if n > 1 {
				cost += secondTree
			}
			scale += x.off
			cost += math.Log(2*scale) + math.Abs(math.Log(x.level/min(100, predicted)))/scale
			switch x.hosts {
			case 0:
				cost -= hostsCount * math.Log(calm)
			case 1:
				cost -= hostsCount * math.Log(1-calm)
			}
			x.cost[set] = cost
			sum += math.Exp(-cost)
		}
		likelihood += math.Log(sum)
		for set := uint(1); set < 1<<x.n; set++ {
			x.cost[set] += math.Log(sum)
		}
	}
	return likelihood
}

// maximize fits the trees to the leaves.
func (e *senders) maximize() {
	sumOff, sumWeight := 0., 0.
	for k := range e.trees {
		z := &e.trees[k]
		e.ratios = e.ratios[:0]
		yes, no, share, weight := z.yes, z.no, 1., 0.
		for m := range e.leaves {
			x := &e.leaves[m]
			j := slices.Index(x.tree[:x.n], int32(k))
			if j < 0 {
				continue
			}
			for set := uint(1); set < 1<<x.n; set++ {
				if set>>j&1 == 0 || math.IsInf(x.cost[set], 1) {
					continue
				}
				p := math.Exp(-x.cost[set])
				share += p
				if set == 1<<j {
					e.ratios = append(e.ratios, weighted{math.Log(x.level / x.stall[j]), p})
					weight += p
					switch x.hosts {
					case 0:
						no += p
					case 1:
						yes += p
					}
				}
			}
		}
		z.share, z.hosts = share, (yes+.5)/(yes+no+1)
		if weight > 0 {
			z.fall = min(math.Log(mostFall), medianWeighted(e.ratios, weight))
		}
		off := 0.
		for _, r := range e.ratios {
			off += r.weight * math.Abs(r.x-z.fall)
		}
		z.scale = (off + usualScale*scaleLeaves) / (weight + scaleLeaves)
		sumOff, sumWeight = sumOff+off, sumWeight+weight
	}
	if poolScale > 0 {
		for k := range e.trees {
			e.trees[k].scale = (sumOff + usualScale*scaleLeaves) / (sumWeight + scaleLeaves)
		}
	}
}

// medianWeighted is the median of values by weight.
func medianWeighted(v []weighted, total float64) float64 {
	slices.SortFunc(v, func(a, b weighted) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.weight, b.weight)) })
	sum := 0.
	for _, r := range v {
		if sum += r.weight; 2*sum >= total {
			return r.x
		}
	}
	return v[len(v)-1].x
}

// run fits the trees from where they are.
func (e *senders) run() (likelihood float64) {
	for range emRounds {
		e.expect()
		e.maximize()
	}
	return e.expect()
}

// fit fits the trees, each from several falls.
func (e *senders) fit() {
	start := append([]senderTree(nil), e.trees...)
	most := e.run()
	e.best = append(e.best[:0], e.trees...)
	if len(e.trees) <= mostTrees {
		for k := range start {
			e.ratios = e.ratios[:0]
			for m := range e.leaves {
				x := &e.leaves[m]
				if j := slices.Index(x.tree[:x.n], int32(k)); j >= 0 {
					e.ratios = append(e.ratios, weighted{math.Log(x.level / x.stall[j]), 1})
				}
			}
			if len(e.ratios) == 0 {
				continue
			}
			var starts [5]float64
			for q := range starts {
				starts[q] = medianWeighted(e.ratios, float64(len(e.ratios))*(.2+.4*float64(q)))
			}
			for _, fall := range starts {
				copy(e.trees, e.best)
				e.trees[k] = start[k]
				e.trees[k].fall = min(math.Log(mostFall), fall)
				if l := e.run(); l > most+1e-6 {
					most = l
					e.best = append(e.best[:0], e.trees...)
				}
			}
		}
	}
	copy(e.trees, e.best)
	e.expect()
}

// choose gives the uplinks of each leaf the trees that the leaf sends into.
func (e *senders) choose(t *trees, c *causes, h *shares, minMean float64) {
	if os.Getenv("ZZ") != "" {
		for k, z := range e.trees {
			println("tree", k, int(z.cause), int(math.Exp(z.fall)*1000), "scale", int(1000*z.scale), "hosts", int(100*z.hosts), "share", int(100*z.share), "yes", int(10*z.yes), int(10*z.no))
		}
		for _, x := range e.leaves {
			print("leaf ", x.device, " level ", int(10*x.level), " hosts ", x.hosts, " ")
			for j := range x.n {
				print(x.tree[j], ":", int(10*x.stall[j]), " ", int(100*math.Exp(-x.cost[1<<j])), "  ")
			}
			println()
		}
	}
	for k := range e.trees {
		h.fall[e.trees[k].cause] = math.Exp(e.trees[k].fall)
	}
	for m := range e.leaves {
		x := &e.leaves[m]
		best, total, chance := uint(0), 0., [maxParts]float64{}
		for set := uint(1); set < 1<<x.n; set++ {
			p := math.Exp(-x.cost[set])
			total += p
			for k := range x.n {
				if set>>k&1 != 0 {
					chance[k] += p
				}
			}
			if best == 0 || x.cost[set] < x.cost[best] {
				best = set
			}
		}
		predicted := 0.
		for k := range x.n {
			if best>>k&1 == 0 && chance[k] >= leastLikely*total && x.stall[k]*h.fall[e.trees[x.tree[k]].cause] >= minMean {
				best |= 1 << k
			}
			if best>>k&1 != 0 {
				predicted += x.stall[k] * h.fall[e.trees[x.tree[k]].cause]
			}
		}
		for _, i := range e.nodes[x.begin:x.end] {
			from, n, isWhole := &h.of[i], 0, true
			for _, p := range from.list() {
				j := slices.IndexFunc(x.tree[:x.n], func(z int32) bool { return e.trees[z].cause == p.cause })
				isWhole = isWhole && j >= 0
				if j < 0 || best>>j&1 != 0 {
					from.at[n] = p
					n++
				}
			}
			if !isWhole {
				from.n = n
				continue
			}
			var parts [maxParts]part
			n = 0
			for k := range x.n {
				if best>>k&1 != 0 {
					cause := e.trees[x.tree[k]].cause
					parts[n] = part{cause, t.stall[i] * x.stall[k] * h.fall[cause] / predicted}
					n++
				}
			}
			from.set(parts[:n]...)
			h.misfit[i] = math.Abs(t.stall[i]-min(100, predicted)) / t.noise.sigma(t.stall[i])
			h.isChosen[i] = true
		}
	}
}
