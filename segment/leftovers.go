package segment

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// leftovers finds what stalls heavily and is in no region: no root explains it, or it is small. Links of one level that
// leave or enter one switch the same way, or wait for each other, are a patch; patches of one pod that lead the same way
// and are level are one. A patch counts if chance does not make as many lone hot links level beside each other.
type leftovers struct {
	near    float64 // mean number of links beside a link
	isTaken []bool  // by node: in a region
	isLeft  []bool  // by node: stalls heavily and is in none
	left    []int32 // nodes: those, and those of the regions without a root that may be joined
	places  []int32 // devices that these leave or enter
	batch   []int32 // nodes at one of them
	sets    unionFind
	all     []leftover
	byPod   []leftoverPod
}

// leftover is some nodes of left that are one.
type leftover struct {
	begin, end int32 // in left
	isRegion   bool  // found as one already
	way        int8  // 1: all links lead up, -1: down, 0: neither
	mean       float64
	root       root
}

// leftoverPod says that a patch has links of a pod.
type leftoverPod struct {
	pod   int32
	patch int32
}

// heavyFactor is how far above what is calm a link lies that is reported though nothing explains it, in units of how
// far a stalled link lies at least.
const heavyFactor = 2

func (p *leftovers) begin(nodes int) {
	p.isTaken, p.isLeft = resize(p.isTaken, nodes), resize(p.isLeft, nodes)
	clear(p.isTaken)
	clear(p.isLeft)
	p.sets.reset(nodes)
	p.left, p.all = p.left[:0], p.all[:0]
}

// adopt takes a region without a root whose links lead one way and are no other's, and reports whether it is such.
func (p *leftovers) adopt(m *treeMethod, members []int32) bool {
	if m.wayOf(members) == 0 || slices.ContainsFunc(members, func(i int32) bool { return m.shares.of[i].n > 1 }) {
		return false
	}
	begin := int32(len(p.left))
	p.left = append(p.left, members...)
	p.all = append(p.all, leftover{begin: begin, end: int32(len(p.left)), isRegion: true, root: root{noDevice, schema.NoLink}})
	return true
}

// wayOf is 1 if all of some nodes' links lead up, -1 if all lead down, 0 otherwise.
func (t *trees) wayOf(nodes []int32) int8 {
	way := 0
	for k, i := range nodes {
		from, to := t.waits.level[t.from[i]], t.waits.level[t.to[i]]
		if from < 0 || to < 0 {
			return 0
		}
		if own := cmp.Compare(to, from); k == 0 {
			way = own
		} else if own != way {
			return 0
		}
	}
	return int8(way)
}

// find lists the patches, those of one pod joined.
func (p *leftovers) find(m *treeMethod) {
	regions := len(p.left)
	heavy := m.noise.mean + heavyFactor*(m.hot-m.noise.mean)
	lone := 0 // stalled, and in no region nor patch
	for i, stall := range m.stall {
		if p.isTaken[i] {
			continue
		}
		lone++
		if stall >= heavy {
			p.isLeft[i] = true
			p.left = append(p.left, int32(i))
		}
	}
	left := p.left[regions:]
	p.joinLevel(&m.trees, left)
	slices.SortFunc(left, func(a, b int32) int { return cmp.Or(cmp.Compare(p.sets.find(a), p.sets.find(b)), cmp.Compare(a, b)) })
	for begin := regions; begin < len(p.left); {
		end := begin + 1
		for end < len(p.left) && p.sets.find(p.left[end]) == p.sets.find(p.left[begin]) {
			end++
		}
		if end > begin+1 {
			lone -= end - begin
			p.all = append(p.all, leftover{begin: int32(begin), end: int32(end), root: m.rootOfPatch(p.left[begin:end])})
		}
		begin = end
	}
	for k := range p.all {
		p.all[k].measure(m, p.left)
	}
	p.all = slices.DeleteFunc(p.all, func(x leftover) bool { return !x.isRegion && !p.counts(m, lone, &x) })
	p.joinPods(m)
}

func (x *leftover) measure(m *treeMethod, left []int32) {
	x.way, x.mean = m.wayOf(left[x.begin:x.end]), 0
	for _, i := range left[x.begin:x.end] {
		x.mean += m.stall[i]
	}
	x.mean /= float64(x.end - x.begin)
}

// joinLevel joins what is left and level: of the links that leave a switch for one level, or enter it from one, those
// that follow each other by stall; and those of which one may wait for the other.
func (p *leftovers) joinLevel(t *trees, left []int32) {
	p.places = p.places[:0]
	for _, i := range left {
		for _, d := range [2]int32{t.from[i], t.to[i]} {
			if t.waits.isSwitch[d] {
				p.places = append(p.places, d)
			}
		}
	}
	slices.Sort(p.places)
	p.places = slices.Compact(p.places)
	for _, d := range p.places {
		p.joinFollowing(t, t.leaving.of(d), t.to)
		p.joinFollowing(t, t.into.of(d), t.from)
		for _, i := range t.into.of(d) {
			if !p.isLeft[i] {
				continue
			}
			for _, j := range t.mayWaitFor(i) {
				if p.isLeft[j] && t.areLevel(t.stall[i], t.stall[j]) {
					p.sets.union(i, j)
				}
			}
		}
	}
}

// areLevel reports whether two links' stalls differ by no more than noise.
func (t *trees) areLevel(a, b float64) bool {
	return math.Abs(a-b) <= t.noise.meanError(max(a, b), 1, 1)
}

// joinFollowing joins those of some nodes that are left, have their far ends on one level and follow each other by stall.
func (p *leftovers) joinFollowing(t *trees, nodes, far []int32) {
	p.batch = p.batch[:0]
	for _, i := range nodes {
		if p.isLeft[i] {
			p.batch = append(p.batch, i)
		}
	}
	level := t.waits.level
	slices.SortFunc(p.batch, func(a, b int32) int {
		return cmp.Or(cmp.Compare(level[far[a]], level[far[b]]), cmp.Compare(t.stall[a], t.stall[b]))
	})
	for k := 1; k < len(p.batch); k++ {
		if a, b := p.batch[k-1], p.batch[k]; level[far[a]] == level[far[b]] && t.areLevel(t.stall[a], t.stall[b]) {
			p.sets.union(a, b)
		}
	}
}

// rootOfPatch is the root of the one cause that a patch is part of. A switch alone is none if all its hosts send: each of
// its ports may be why, or none.
func (m *treeMethod) rootOfPatch(nodes []int32) root {
	none, own := root{noDevice, schema.NoLink}, m.shares.main(nodes[0])
	if own < 0 || slices.ContainsFunc(nodes, func(i int32) bool { return m.shares.main(i) != own }) {
		return none
	}
	r := m.rootOf(own, nodes)
	if r.device != noDevice && r.link == schema.NoLink && m.stalledHosts(r.device) >= int(m.waits.hosts[r.device]) {
		return none
	}
	return r
}

// leastPatch is the size from which a patch counts. Of N links of which a share p is hot alone, and of the d links
// beside each, chance makes N p (p d q)^(k-1) patches of k links, q the chance that two hot links are level. Where there
// is no root, one more than is seen is taken to be hot by chance.
func (m *treeMethod) leastPatch(lone int, x *leftover) int {
	n := float64(len(m.node))
	if x.root.device == noDevice {
		lone++
	}
	p := max(leastLoneShare, float64(lone)/n)
	level := min(1, 2*m.noise.meanError(x.mean, 1, 1)/100)
	growth := p * m.leftovers.near * level
	if growth >= 1 {
		return math.MaxInt
	}
	k := 1 + math.Log(falseRegionsPerDay/(intervalsPerDay*n*p))/math.Log(growth)
	return max(2, m.minLinks, int(math.Ceil(k)))
}

// counts reports whether a patch is a region: High, no chance and no part of another. What has a root counts if it is an
// incast that is too small for a tree, of which all hosts are at one leaf.
func (p *leftovers) counts(m *treeMethod, lone int, x *leftover) bool {
	nodes := p.left[x.begin:x.end]
	if schema.SeverityOf(x.mean) < schema.High || len(nodes) < m.leastPatch(lone, x) || p.isFringe(&m.trees, x) {
		return false
	}
	if x.root.device == noDevice {
		return true
	}
	feeders := 0
	for _, i := range nodes {
		switch {
		case m.to[i] == x.root.device && m.fromHost(i):
			feeders++
		case m.from[i] != x.root.device:
			return false
		}
	}
	return feeders >= 2
}

// isFringe reports whether half of a patch's links or more are at a switch of a region, or of a small patch any at one next
// to such a switch: they are part of that region, though it explains them badly or is cut off by links that read zero.
func (p *leftovers) isFringe(t *trees, x *leftover) bool {
	touching, n := 0, int(x.end-x.begin)
	for _, i := range p.left[x.begin:x.end] {
		if n < mostLeastLinks && (p.isNextTo(t, t.from[i]) || p.isNextTo(t, t.to[i])) {
			return true
		}
		if p.touches(t, t.from[i]) || p.touches(t, t.to[i]) {
			touching++
		}
	}
	return 2*touching >= n
}

// areBeside reports whether any of some nodes is at a switch of a region.
func (p *leftovers) areBeside(t *trees, nodes []int32) bool {
	return slices.ContainsFunc(nodes, func(i int32) bool { return p.touches(t, t.from[i]) || p.touches(t, t.to[i]) })
}

// isNextTo reports whether a switch has a cable to one at which a region has links.
func (p *leftovers) isNextTo(t *trees, d int32) bool {
	return t.waits.isSwitch[d] && (p.touches(t, d) || slices.ContainsFunc(t.waits.out.of(d), func(l int32) bool { return p.touches(t, t.waits.to[l]) }))
}

// touches reports whether a region has links at a switch.
func (p *leftovers) touches(t *trees, d int32) bool {
	isTaken := func(i int32) bool { return p.isTaken[i] }
	return slices.ContainsFunc(t.leaving.of(d), isTaken) || slices.ContainsFunc(t.into.of(d), isTaken)
}

// joinPods joins patches without a root that have links of one pod, lead the same way and are level.
func (p *leftovers) joinPods(m *treeMethod) {
	p.sets.reset(len(p.all))
	p.byPod = p.byPod[:0]
	for k := range p.all {
		x := &p.all[k]
		if x.way == 0 || x.root.device != noDevice {
			continue
		}
		for _, i := range p.left[x.begin:x.end] {
			for _, d := range [2]int32{m.from[i], m.to[i]} {
				if pod := m.waits.group[d]; pod >= 0 {
					p.byPod = append(p.byPod, leftoverPod{pod, int32(k)})
				}
			}
		}
	}
	slices.SortFunc(p.byPod, func(a, b leftoverPod) int {
		x, y := &p.all[a.patch], &p.all[b.patch]
		return cmp.Or(cmp.Compare(a.pod, b.pod), cmp.Compare(x.way, y.way), cmp.Compare(x.mean, y.mean), cmp.Compare(a.patch, b.patch))
	})
	for k := 1; k < len(p.byPod); k++ {
		a, b := p.byPod[k-1], p.byPod[k]
		x, y := &p.all[a.patch], &p.all[b.patch]
		if a.pod == b.pod && x.way == y.way && y.mean-x.mean <= m.noise.meanError(y.mean, int(x.end-x.begin), int(y.end-y.begin)) {
			p.sets.union(a.patch, b.patch)
		}
	}
}

// emit appends the patches as groups, with their roots.
func (p *leftovers) emit(m *treeMethod, out *partition) {
	for k := range p.all {
		if p.sets.find(int32(k)) != int32(k) {
			continue
		}
		first := len(out.links)
		for j := k; j < len(p.all); j++ {
			if p.sets.find(int32(j)) != int32(k) {
				continue
			}
			for _, i := range p.left[p.all[j].begin:p.all[j].end] {
				out.links = append(out.links, schema.LinkID(m.links[i]))
			}
		}
		slices.Sort(out.links[first:])
		out.ends = append(out.ends, int32(len(out.links)))
		m.roots = append(m.roots, p.all[k].root)
	}
}
