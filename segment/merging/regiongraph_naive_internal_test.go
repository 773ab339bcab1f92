package merging

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// naiveNode is a node, named by its lowest link, or backgroundLink.
type naiveNode struct {
	name, size, sum int
	edges           map[int]int // by name: length
	levelsAround    int         // levels of neighbours, weighted by length of boundary
}

func (p naiveNode) mean() float64 { return float64(p.sum) * levelUnit / float64(max(1, p.size)) }

// naiveLabel maps each link to its node. Missing links do not exist.
type naiveLabel map[int]int

func (v *naiveView) nodes(label naiveLabel) map[int]*naiveNode {
	background := v.background
	out := map[int]*naiveNode{backgroundLink: &background}
	for l, name := range label {
		if name == backgroundLink {
			continue
		}
		p := out[name]
		if p == nil {
			p = &naiveNode{name: name, edges: map[int]int{}}
			out[name] = p
		}
		p.size++
		p.sum += v.level[l]
		for _, t := range v.edges[l] {
			other, known := label[t.link]
			if t.link == backgroundLink {
				other, known = backgroundLink, true
			}
			if known && other != name {
				p.edges[other] += t.length
			}
		}
	}
	for _, p := range out {
		for other, length := range p.edges {
			p.levelsAround += length * (out[other].sum / max(1, out[other].size))
		}
	}
	return out
}

// naiveCost is the cost for the lower-numbered node and another or the background.
type naiveCost func(a, b *naiveNode, length int) float64

// boruvkaRound changes label and reports whether it did.
func (v *naiveView) boruvkaRound(label naiveLabel, cost naiveCost) bool {
	type offer struct {
		*naiveNode
		cost   float64
		length int
	}
	nodes := v.nodes(label)
	best := map[int]offer{}
	var joined [][2]int
	for name, a := range nodes {
		var offers []offer
		for other, length := range a.edges {
			first, second := a, nodes[other]
			if other != backgroundLink && other < name {
				first, second = second, first
			}
			if c := cost(first, second, length); c == 0 {
				joined = append(joined, [2]int{name, other})
			} else if !math.IsInf(c, 1) {
				offers = append(offers, offer{nodes[other], c, length})
			}
		}
		slices.SortFunc(offers, func(x, y offer) int {
			return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(y.length, x.length), cmp.Compare(y.size, x.size),
				cmp.Compare(y.sum, x.sum), cmp.Compare(y.levelsAround, x.levelsAround), cmp.Compare(x.name, y.name))
		})
		if len(offers) > 0 {
			best[name] = offers[0]
		}
	}
	for name, b := range best {
		back, mutual := best[b.name]
		mutual = mutual && back.name == name
		if b.name == backgroundLink || b.cost <= autoMergeCost || mutual || b.size >= absorbRatio*nodes[name].size {
			joined = append(joined, [2]int{name, b.name})
		}
	}
	now := map[int]int{}
	for name := range nodes {
		now[name] = name
	}
	naiveUnion(now, joined)
	for l, name := range label {
		label[l] = now[name]
	}
	return len(joined) > 0
}

func naiveMergeCost(lambda float64) naiveCost {
	return func(a, b *naiveNode, length int) float64 {
		difference := a.mean() - b.mean()
		na, nb := float64(a.size), float64(b.size)
		rise, boundary := difference*difference*(na*nb), float64(length)*edgeUnit*(na+nb)
		if full := contactRatio * (na * nb); boundary < full {
			boundary *= boundary / full
		}
		if rise >= lambda*boundary {
			return math.Inf(1)
		}
		return rise / boundary
	}
}

func (v *naiveView) absorbSmall(label naiveLabel, minLinks int, keepAlone bool) {
	for v.boruvkaRound(label, func(a, b *naiveNode, _ int) float64 {
		isAlone := b.name == backgroundLink && len(a.edges) == 1
		if min(a.size, b.size) >= minLinks || keepAlone && isAlone {
			return math.Inf(1)
		}
		return math.Abs(a.mean() - b.mean())
	}) {
	}
}

func (v *naiveView) mergeAll() naiveLabel {
	label := naiveLabel{}
	for _, l := range v.candidates {
		label[l] = l
	}
	for v.boruvkaRound(label, naiveMergeCost(lambda)) {
	}
	label = v.joinTreeFragments(label)
	if v.cfg.FalseRegionsPerDay > 0 {
		label = v.joinSmall(label)
	}
	v.absorbSmall(label, v.cfg.MinLinks, v.cfg.FalseRegionsPerDay > 0)
	for v.boruvkaRound(label, naiveMergeCost(lambda)) {
	}
	return label
}

func (v *naiveView) ratio(a, b *naiveNode) float64 {
	x, y := v.unstabilise(a.mean()), v.unstabilise(b.mean())
	return max(x, y) / max(minBase, min(x, y))
}

// splitByInterior is the counterpart of interiors'.
func (v *naiveView) splitByInterior(label naiveLabel) naiveLabel {
	core := naiveLabel{}
	for l, name := range label {
		outside := slices.ContainsFunc(v.edges[l], func(t naiveEdge) bool { return t.link == backgroundLink || label[t.link] != name })
		if name != backgroundLink && !outside {
			core[l] = l
		}
	}
	interiorLinks := func(node int) (n int) {
		for l := range core {
			if label[l] == node {
				n++
			}
		}
		return n
	}
	hasInterior := func(p *naiveNode) bool { return float64(interiorLinks(p.name)) > allBoundaryShare*float64(p.size) }
	cost := naiveMergeCost(allBoundaryLambda)
	for v.boruvkaRound(label, func(a, b *naiveNode, length int) float64 {
		if b.name == backgroundLink || hasInterior(a) || hasInterior(b) || v.ratio(a, b) >= allBoundaryRatio {
			return math.Inf(1)
		}
		return cost(a, b, length)
	}) {
	}
	v.findCores(core)
	return v.propagateLabels(label, core)
}

func (v *naiveView) findCores(core naiveLabel) {
	cost := naiveMergeCost(interiorLambda)
	for v.boruvkaRound(core, cost) {
	}
	v.absorbSmall(core, minCoreLinks, false)
	for v.boruvkaRound(core, func(a, b *naiveNode, length int) float64 {
		if ratio := v.ratio(a, b); ratio < sameCoreRatio {
			return ratio - 1
		}
		return 1 + cost(a, b, length)
	}) {
	}
}

// propagateLabels makes a node of each core if a node has several. Other links join
// them, ring by ring.
func (v *naiveView) propagateLabels(label, core naiveLabel) naiveLabel {
	cores := map[int][]*naiveNode{} // by node: large enough ones
	large := v.nodes(core)
	for name, c := range large {
		if name != backgroundLink && c.size >= minCoreLinks {
			cores[label[name]] = append(cores[label[name]], c)
		}
	}
	grown, unknown := naiveLabel{}, []int(nil)
	coreName := func(core int) int { return len(v.values) + core } // distinct from nodes' names
	for _, l := range v.candidates {
		c, inside := core[l]
		switch {
		case len(cores[label[l]]) < 2:
			grown[l] = label[l]
		case inside && large[c].size >= minCoreLinks:
			grown[l] = coreName(c)
		default:
			unknown = append(unknown, l)
		}
	}
	for {
		ring := naiveLabel{}
		for _, l := range unknown {
			votes, last := map[int]int{}, map[int]int{}
			for i, t := range v.edges[l] {
				if name, known := grown[t.link]; known && label[t.link] == label[l] {
					votes[name] += t.length
					last[name] = i
				}
			}
			if len(votes) > 0 {
				ring[l] = v.majorityVote(l, votes, last, large)
			}
		}
		if len(ring) == 0 {
			break
		}
		maps.Copy(grown, ring)
		unknown = slices.DeleteFunc(unknown, func(l int) bool { _, known := ring[l]; return known })
	}
	for _, l := range unknown {
		grown[l] = label[l]
	}
	v.mergeIndistinguishable(label, grown, large)
	return grown.renamed()
}

// mergeIndistinguishable is the counterpart of interiors'.
func (v *naiveView) mergeIndistinguishable(label, grown naiveLabel, cores map[int]*naiveNode) {
	now, size, contact := map[int]int{}, map[int]int{}, map[[2]int]int{}
	for l, name := range grown {
		now[name] = name
		size[name]++
		for _, t := range v.edges[l] {
			if other, known := grown[t.link]; known && label[t.link] == label[l] && len(v.values) <= name && name < other {
				contact[[2]int{name, other}] += t.length
			}
		}
	}
	var alike [][2]int
	for pair, length := range contact {
		a, b := cores[pair[0]-len(v.values)], cores[pair[1]-len(v.values)]
		perLink := float64(length) * edgeUnit * (1/float64(size[pair[0]]) + 1/float64(size[pair[1]]))
		chance := sameCoreErrors * math.Sqrt(1/float64(a.size)+1/float64(b.size))
		if perLink >= contactPerLink && math.Abs(a.mean()-b.mean()) < chance {
			alike = append(alike, pair)
		}
	}
	naiveUnion(now, alike)
	for l, name := range grown {
		grown[l] = now[name]
	}
}

// majorityVote returns the core with the most votes; on a tie the one with the closest
// mean, then the one whose last vote came first.
func (v *naiveView) majorityVote(l int, votes, last map[int]int, cores map[int]*naiveNode) int {
	distance := func(name int) float64 {
		return math.Abs(float64(v.level[l])*levelUnit - cores[name-len(v.values)].mean())
	}
	return slices.MinFunc(slices.Collect(maps.Keys(votes)), func(a, b int) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(distance(a), distance(b)), cmp.Compare(last[a], last[b]))
	})
}

// renamed names each node by its lowest link.
func (n naiveLabel) renamed() naiveLabel {
	least := map[int]int{backgroundLink: backgroundLink}
	out := naiveLabel{}
	for _, l := range slices.Sorted(maps.Keys(n)) {
		if _, named := least[n[l]]; !named {
			least[n[l]] = l
		}
		out[l] = least[n[l]]
	}
	return out
}
