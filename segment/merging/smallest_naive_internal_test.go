package merging

import (
	"math"
	"slices"
)

// joinSmall is smallest.join.
func (v *naiveView) joinSmall(label naiveLabel) naiveLabel {
	nodes := v.nodes(label)
	group, pairs := map[int]int{}, [][2]int(nil)
	for name, a := range nodes {
		group[name] = name
		for other := range a.edges {
			if name != backgroundLink && other != backgroundLink {
				pairs = append(pairs, [2]int{name, other})
			}
		}
	}
	naiveUnion(group, pairs)
	links := map[int]int{}
	for name, a := range nodes {
		links[group[name]] += a.size
	}
	for l, name := range label {
		if name != backgroundLink && links[group[name]] < v.cfg.MinLinks {
			label[l] = group[name]
		}
	}
	return label.renamed()
}

// leastLinks is smallest.least.
func (v *naiveView) leastLinks(label naiveLabel) int {
	var sizes []int
	alone := v.hotLinks
	for name, a := range v.nodes(label) {
		if name != backgroundLink {
			sizes = append(sizes, a.size)
			alone -= a.size
		}
	}
	slices.Sort(sizes)
	neighbours := 0.
	for _, links := range v.linksAt {
		neighbours += float64(len(links)*(len(links)-1)) / float64(len(v.values))
	}
	for i, k := range sizes {
		if k < fewestLinks || k >= v.cfg.MinLinks {
			continue
		}
		spots, beyond := 0., 0.
		for _, size := range sizes[:i] {
			if size > 1 && size < k {
				spots++
				beyond += float64(size - 2)
			}
		}
		n := 1 + float64(max(0, alone)) + math.Sqrt(float64(max(0, alone)))
		pair := min(1, n*neighbours/float64(len(v.values)))
		if spots > 0 {
			beyond += max(1, math.Sqrt(beyond))
		}
		further := (beyond + priorLinks*pair) / (spots + beyond + priorLinks)
		if (n*pair+spots+math.Sqrt(spots))*math.Pow(further, float64(k-2)) <= v.cfg.FalseRegionsPerDay/1440 {
			return k
		}
	}
	return v.cfg.MinLinks
}
