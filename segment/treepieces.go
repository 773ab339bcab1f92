package segment

// treePieces joins the pieces that steps 3 to 5 make of a congestion tree. Back pressure spreads from a port
// that is full against the way of its traffic, link by link, so that the links of a tree are about as many
// as the switches that they join. How much each stalls depends on how much of its traffic goes to the root,
// which its neighbours' do not show: stall is constant nowhere, and where it differs no cause ends. Hence
// pieces that meet are one region if both show that: they are thin, and together about as uneven, beyond
// noise, in pieces as in one. A body of links that stall alike has up to three links per switch; rows that are
// as thin as a tree are even, and where two meet their levels tell them apart.
type treePieces struct {
	thin     []bool    // by node
	switches []int32   // by node: at which it has links, merged ones once
	seenAt   []int32   // by node: the last of them
	joined   unionFind // nodes
	links    []int64   // by root of joined
	sum      []int64   // by root of joined: of the levels, in levelUnit
	within   []int64   // by root of joined: how far its links are from the means of their nodes, in levelUnit
	total    []int64   // by root of joined: and from the mean of all
	label    []int32   // by candidate
}

const (
	// thinLinks is up to how many links per switch a segment is thin. Pieces of trees have .9 to 1.1, of
	// all-to-alls up to 1.2, cuboids from 1.4 on.
	thinLinks = 1.25
	// unevenDeviation is the mean deviation from which pieces are uneven: twice that of normal noise.
	unevenDeviation = 2 * .8
	// unevenShare is the share of their deviation that is left when each piece has a mean of its own.
	unevenShare = .5
)

// join makes one node of thin ones that meet and are uneven.
func (p *treePieces) join(g *regionGraph, c *candidates) {
	p.findThin(g, c)
	p.joined.reset(g.numNodes())
	met := false
	for a := range int32(g.numNodes()) {
		if !p.thin[a] {
			continue
		}
		for _, e := range g.edges.of(a) {
			if e.to > a && p.thin[e.to] {
				p.joined.union(a, e.to)
				met = true
			}
		}
	}
	if met && p.measureUnevenness(g) {
		p.mergeUneven(g)
	}
}

// findThin finds the nodes that have few links for the switches at which they have them. The background is
// none.
func (p *treePieces) findThin(g *regionGraph, c *candidates) {
	p.switches, p.seenAt = resize(p.switches, g.numNodes()), resize(p.seenAt, g.numNodes())
	clear(p.switches)
	for a := range p.seenAt {
		p.seenAt[a] = noSwitch
	}
	for _, s := range c.mergedSwitches {
		for _, i := range c.at(s) {
			if a := g.label[i]; p.seenAt[a] != s {
				p.seenAt[a] = s
				p.switches[a]++
			}
		}
	}
	p.thin = resize(p.thin, g.numNodes())
	p.thin[0] = false
	for a := 1; a < g.numNodes(); a++ {
		p.thin[a] = float64(g.size[a]) <= thinLinks*float64(p.switches[a])
	}
}

// measureUnevenness sums by pieces that meet how much links differ from the means of their nodes and from
// the mean of all, and reports whether pieces are uneven anywhere.
func (p *treePieces) measureUnevenness(g *regionGraph) (found bool) {
	n := g.numNodes()
	p.links, p.sum, p.within, p.total = resize(p.links, n), resize(p.sum, n), resize(p.within, n), resize(p.total, n)
	for _, of := range [][]int64{p.links, p.sum, p.within, p.total} {
		clear(of)
	}
	for a, thin := range p.thin {
		if thin {
			root := p.joined.find(int32(a))
			p.links[root] += int64(g.size[a])
			p.sum[root] += g.sum[a]
		}
	}
	for i, a := range g.label {
		if p.thin[a] {
			root, level := p.joined.find(a), int64(g.observed[i])
			p.within[root] += distance(level, g.sum[a]/int64(g.size[a]))
			p.total[root] += distance(level, p.sum[root]/p.links[root])
		}
	}
	for root := range p.links {
		found = found || p.isUneven(int32(root))
	}
	return found
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

func (p *treePieces) isUneven(root int32) bool {
	within := float64(p.within[root])
	return within*levelUnit > unevenDeviation*float64(p.links[root]) && within > unevenShare*float64(p.total[root])
}

func (p *treePieces) mergeUneven(g *regionGraph) {
	p.label = resize(p.label, len(g.label))
	for i, a := range g.label {
		p.label[i] = a
		if root := p.joined.find(a); p.isUneven(root) {
			p.label[i] = root
		}
	}
	g.relabel(p.label, int32(g.numNodes()))
}
