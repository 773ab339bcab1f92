package collective

import "slices"

// spells adds the parts of a stretch of time in which a stream was under way.
func (tr *traffic) spells(list []interval, s *stream, from, to int64) []interval {
	add := func(begin, end int64) {
		if begin, end = max(begin, from), min(end, to); begin < end {
			list = append(list, interval{begin, end})
		}
	}
	if s.steps == nil {
		add(s.curve[0].time, s.last().time)
		return list
	}
	i, _ := slices.BinarySearchFunc(s.steps, from, func(step int32, t int64) int { return compare(tr.t.end[step], t) })
	for ; i < len(s.steps) && tr.t.begin[s.steps[i]] < to; i++ {
		add(tr.t.begin[s.steps[i]], tr.t.end[s.steps[i]])
	}
	return list
}

// covered is how much time intervals cover together.
func covered(list []interval) (sum int64) {
	slices.SortFunc(list, func(a, b interval) int { return compare(a.from, b.from) })
	for i, until := 0, int64(0); i < len(list); i++ {
		if i == 0 || list[i].from > until {
			until = list[i].from
		}
		if list[i].to > until {
			sum, until = sum+list[i].to-until, list[i].to
		}
	}
	return sum
}
