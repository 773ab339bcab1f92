package merging

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// naiveRegion is a node in overlaps.
type naiveRegion struct {
	*naiveNode
	links               []schema.LinkID
	meanStall, variance float64
	owners              []int
	bridged             *naiveRegion // a summand, parts of which it joins, or nil
}

// resolveOverlaps is overlaps.resolve and emit: it returns the groups of links, which may overlap.
func (v *naiveView) resolveOverlaps(label naiveLabel) [][]schema.LinkID {
	all := map[int]*naiveRegion{}
	one := map[int]int{}
	for name, p := range v.nodes(label) {
		if name == backgroundLink {
			continue
		}
		r := &naiveRegion{naiveNode: p}
		total := int64(0)
		for l, of := range label {
			if of == name {
				r.links = append(r.links, schema.LinkID(l))
				total += int64(float64(v.values[l])/stallUnit + .5)
			}
		}
		r.meanStall = float64(total) * stallUnit / float64(p.size)
		sigma := v.base + v.slope*r.meanStall
		r.variance = sigma * sigma / float64(p.size)
		all[name], one[name] = r, name
	}
	for _, a := range slices.SortedFunc(maps.Values(all), byStall) {
		var near []*naiveRegion
		around := 0
		for name, length := range a.edges {
			around += length
			if b := all[name]; b != nil && b.meanStall < a.meanStall && b.meanStall >= v.cfg.MinMeanPercent {
				near = append(near, b)
			}
		}
		slices.SortFunc(near, byStall)
		a.owners = []int{a.name}
		calm := a.edges[backgroundLink]
		if x, y := naiveSummands(a, near); x != nil && float64(calm) <= maxBackgroundShare*float64(around) {
			a.owners = naiveOwners(x.owners, y.owners)
			a.bridged = naiveJoinSplitParts(one, x, y, near, v.cfg.Overlap)
			continue
		}
		outside := slices.IndexFunc(near, func(b *naiveRegion) bool {
			return float64(a.edges[b.name]) > enclosedShare*float64(around) && len(b.owners) == 1
		})
		if outside >= 0 {
			a.owners = naiveOwners(a.owners, near[outside].owners)
		}
	}
	return v.groups(all, one)
}

func byStall(a, b *naiveRegion) int {
	return cmp.Or(cmp.Compare(a.meanStall, b.meanStall), cmp.Compare(a.name, b.name))
}

// naiveSummands returns the two of near whose stalls add up best to a's, or nil.
func naiveSummands(a *naiveRegion, near []*naiveRegion) (x, y *naiveRegion) {
	best := 1.
	for i, u := range near {
		for _, w := range near[:i] {
			sum := min(100, u.meanStall+w.meanStall)
			slack := sumSlack + sumShare*a.meanStall + sumDeviations*math.Sqrt(a.variance+u.variance+w.variance)
			if sum > saturated {
				slack = max(slack, saturatedSlack)
			}
			contact := float64(min(a.edges[u.name], a.edges[w.name])) * edgeUnit
			if off := math.Abs(a.meanStall-sum) / slack; off < best && contact >= minContactPerLink*float64(a.size) {
				best, x, y = off, u, w
			}
		}
	}
	return x, y
}

// naiveJoinSplitParts joins the summands with similar nodes in near, without overlap
// only one of them, and returns the last.
func naiveJoinSplitParts(one map[int]int, x, y *naiveRegion, near []*naiveRegion, overlap bool) (bridged *naiveRegion) {
	for _, summand := range []*naiveRegion{x, y} {
		if len(summand.owners) > 1 || bridged != nil && !overlap {
			continue
		}
		for _, c := range near {
			slack := sumSlack + sumDeviations*math.Sqrt(c.variance+summand.variance)
			if c != x && c != y && len(c.owners) == 1 && math.Abs(c.meanStall-summand.meanStall) < slack {
				naiveUnion(one, [][2]int{{c.name, summand.name}})
				bridged = summand
			}
		}
	}
	return bridged
}

func naiveOwners(a, b []int) []int {
	out := slices.Clone(a)
	for _, o := range b {
		if len(out) < maxOwners && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// groups returns the links of each region, ascending: of all owners of a node, or
// without overlap of the first one.
func (v *naiveView) groups(all map[int]*naiveRegion, one map[int]int) [][]schema.LinkID {
	size := map[int]int{}
	for name, r := range all {
		if len(r.owners) == 1 {
			size[one[name]] += r.size
		}
	}
	groups := map[int][]schema.LinkID{}
	only := map[int]int{} // without overlap, by node: its region
	for _, r := range slices.SortedFunc(maps.Values(all), byStall) {
		name := r.name
		var owners []int
		for _, o := range r.owners {
			owners = naiveOwners(owners, []int{one[o]})
		}
		if r.owners[0] != name { // a sum: the bridged one, then the smaller one first
			rank := func(region int) int {
				if r.bridged != nil && region == one[r.bridged.name] {
					return 0
				}
				return size[region]
			}
			slices.SortFunc(owners, func(a, b int) int {
				return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(all[a].meanStall, all[b].meanStall), cmp.Compare(a, b))
			})
			if !v.cfg.Overlap {
				owners = slices.DeleteFunc(owners, func(region int) bool {
					for beside := range r.edges {
						if b := all[beside]; b != nil && b.meanStall < r.meanStall && only[beside] == region {
							return false
						}
					}
					return true
				})
			}
		}
		if !v.cfg.Overlap {
			owners = owners[:1]
			only[name] = owners[0]
		}
		for _, o := range owners {
			groups[o] = append(groups[o], r.links...)
		}
	}
	for _, links := range groups {
		slices.Sort(links)
	}
	return slices.Collect(maps.Values(groups))
}
