package merging

// naiveMeeting is a group of touching thin segments.
type naiveMeeting struct {
	links, small, within, total int
	above, below                []int
	enclosed                    bool
}

// meetings returns the groups of touching thin segments by one of their names, and the group of each.
func (v *naiveView) meetings(label naiveLabel) (map[int]*naiveMeeting, map[int]int) {
	nodes := v.nodes(label)
	thin := func(name int) bool {
		switches := map[int]bool{}
		for l, of := range label {
			if of == name {
				for _, s := range v.mergedSwitchesOf(l) {
					switches[s] = true
				}
			}
		}
		return name != backgroundLink && float64(nodes[name].size) <= thinLinks*float64(len(switches))
	}
	group, pairs := map[int]int{}, [][2]int(nil)
	for name, a := range nodes {
		group[name] = name
		for other := range a.edges {
			if thin(name) && thin(other) {
				pairs = append(pairs, [2]int{name, other})
			}
		}
	}
	naiveUnion(group, pairs)
	meetings, sum := map[int]*naiveMeeting{}, map[int]int{}
	for name, a := range nodes {
		m := meetings[group[name]]
		if m == nil {
			m = &naiveMeeting{enclosed: true}
			meetings[group[name]] = m
		}
		m.links += a.size
		sum[group[name]] += a.sum
		if a.size < v.cfg.MinLinks {
			m.small += a.size
		}
		for other := range a.edges {
			m.enclosed = m.enclosed && (other == backgroundLink || thin(other))
		}
	}
	for l, name := range label {
		if name != backgroundLink {
			m, own := meetings[group[name]], nodes[name]
			m.within += naiveDistance(v.raw[l], own.sum/own.size)
			m.total += naiveDistance(v.raw[l], sum[group[name]]/m.links)
			if v.raw[l]*m.links > sum[group[name]] {
				m.above = append(m.above, v.raw[l])
			} else {
				m.below = append(m.below, v.raw[l])
			}
		}
	}
	return meetings, group
}

func joinedWhere(label naiveLabel, meetings map[int]*naiveMeeting, group map[int]int, holds func(*naiveMeeting) bool) naiveLabel {
	for l, name := range label {
		if name != backgroundLink && holds(meetings[group[name]]) {
			label[l] = group[name]
		}
	}
	return label.renamed()
}

// joinTreePieces is treePieces.join.
func (v *naiveView) joinTreePieces(label naiveLabel) naiveLabel {
	meetings, group := v.meetings(label)
	return joinedWhere(label, meetings, group, func(m *naiveMeeting) bool {
		return float64(m.within)*levelUnit > unevenDeviation*float64(m.links) && float64(m.within) > unevenShare*float64(m.total)
	})
}

// joinTreeFragments is treePieces.joinFragments.
func (v *naiveView) joinTreeFragments(label naiveLabel) naiveLabel {
	meetings, group := v.meetings(label)
	return joinedWhere(label, meetings, group, func(m *naiveMeeting) bool {
		apart := float64(naiveApart(m.above) + naiveApart(m.below))
		return m.links >= v.cfg.MinLinks && 2*m.small >= m.links && m.enclosed &&
			apart*levelUnit > unevenDeviation*float64(m.links) && apart > spreadShare*float64(m.total)
	})
}

// naiveApart is the deviation of levels from their mean.
func naiveApart(levels []int) (apart int) {
	sum := 0
	for _, level := range levels {
		sum += level
	}
	for _, level := range levels {
		apart += naiveDistance(level, sum/len(levels))
	}
	return apart
}

func naiveDistance(a, b int) int { return max(a-b, b-a) }
