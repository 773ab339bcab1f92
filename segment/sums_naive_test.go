package segment

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// naiveRegion is a piece as sums sees it.
type naiveRegion struct {
	*naivePiece
	links           []schema.LinkID
	stall, variance float64
	owners          []int
	holds           *naiveRegion // what it holds together, or nil
}

// explain is sums: the groups of links, of which some are of several.
func (v *naiveView) explain(label naiveLabel) [][]schema.LinkID {
	all := map[int]*naiveRegion{}
	one := map[int]int{}
	for name, p := range v.pieces(label) {
		if name == calmLinks {
			continue
		}
		r := &naiveRegion{naivePiece: p}
		total := int64(0)
		for l, of := range label {
			if of == name {
				r.links = append(r.links, schema.LinkID(l))
				total += int64(float64(v.values[l])/stallUnit + .5)
			}
		}
		r.stall = float64(total) * stallUnit / float64(p.size)
		sigma := v.base + v.slope*r.stall
		r.variance = sigma * sigma / float64(p.size)
		all[name], one[name] = r, name
	}
	for _, a := range slices.SortedFunc(maps.Values(all), byStall) {
		var near []*naiveRegion
		around := 0
		for name, length := range a.borders {
			around += length
			if b := all[name]; b != nil && b.stall < a.stall && b.stall >= v.cfg.MinMeanPercent {
				near = append(near, b)
			}
		}
		slices.SortFunc(near, byStall)
		a.owners = []int{a.name}
		calm := a.borders[calmLinks]
		if x, y := naiveParts(a, near); x != nil && float64(calm) <= calmShare*float64(around) {
			a.owners = naiveOwners(x.owners, y.owners)
			a.holds = naiveReunite(one, x, y, near, v.cfg.Overlap)
			continue
		}
		outside := slices.IndexFunc(near, func(b *naiveRegion) bool {
			return float64(a.borders[b.name]) > nestedShare*float64(around) && len(b.owners) == 1
		})
		if outside >= 0 {
			a.owners = naiveOwners(a.owners, near[outside].owners)
		}
	}
	return v.groups(all, one)
}

func byStall(a, b *naiveRegion) int {
	return cmp.Or(cmp.Compare(a.stall, b.stall), cmp.Compare(a.name, b.name))
}

// naiveParts is the two of near whose stalls add up to a's best, or nil.
func naiveParts(a *naiveRegion, near []*naiveRegion) (x, y *naiveRegion) {
	best := 1.
	for i, u := range near {
		for _, w := range near[:i] {
			sum := min(100, u.stall+w.stall)
			slack := sumSlack + sumShare*a.stall + sumDeviations*math.Sqrt(a.variance+u.variance+w.variance)
			if sum > fullStall {
				slack = max(slack, fullSlack)
			}
			touch := float64(min(a.borders[u.name], a.borders[w.name])) * borderUnit
			if off := math.Abs(a.stall-sum) / slack; off < best && touch >= leastTouch*float64(a.size) {
				best, x, y = off, u, w
			}
		}
	}
	return x, y
}

// naiveReunite makes one of the parts and what is near and like them, without
// overlap of one part only, and says which part that was last.
func naiveReunite(one map[int]int, x, y *naiveRegion, near []*naiveRegion, overlap bool) (held *naiveRegion) {
	for _, part := range []*naiveRegion{x, y} {
		if len(part.owners) > 1 || held != nil && !overlap {
			continue
		}
		for _, c := range near {
			slack := sumSlack + sumDeviations*math.Sqrt(c.variance+part.variance)
			if c != x && c != y && len(c.owners) == 1 && math.Abs(c.stall-part.stall) < slack {
				naiveUnite(one, [][2]int{{c.name, part.name}})
				held = part
			}
		}
	}
	return held
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

// groups are the links of each region, ascending: of all that own a piece, or
// without overlap of the first.
func (v *naiveView) groups(all map[int]*naiveRegion, one map[int]int) [][]schema.LinkID {
	size := map[int]int{}
	for name, r := range all {
		if len(r.owners) == 1 {
			size[one[name]] += r.size
		}
	}
	groups := map[int][]schema.LinkID{}
	only := map[int]int{} // without overlap, by piece: its region
	for _, r := range slices.SortedFunc(maps.Values(all), byStall) {
		name := r.name
		var owners []int
		for _, o := range r.owners {
			owners = naiveOwners(owners, []int{one[o]})
		}
		if r.owners[0] != name { // a sum: what it holds together, then the smaller first
			rank := func(region int) int {
				if r.holds != nil && region == one[r.holds.name] {
					return 0
				}
				return size[region]
			}
			slices.SortFunc(owners, func(a, b int) int {
				return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(all[a].stall, all[b].stall), cmp.Compare(a, b))
			})
			if !v.cfg.Overlap {
				owners = slices.DeleteFunc(owners, func(region int) bool {
					for beside := range r.borders {
						if b := all[beside]; b != nil && b.stall < r.stall && only[beside] == region {
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
