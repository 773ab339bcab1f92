package collective

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/collective/network"
)

// spells appends the parts of a time range in which a stream was active.
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
	i, _ := slices.BinarySearchFunc(s.steps, from, func(step int32, t int64) int { return cmp.Compare(tr.t.end[step], t) })
	for ; i < len(s.steps) && tr.t.begin[s.steps[i]] < to; i++ {
		add(tr.t.begin[s.steps[i]], tr.t.end[s.steps[i]])
	}
	return list
}

// covered is the total time covered by the intervals.
func covered(list []interval) (sum int64) {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
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

// roomy reports whether a port is at least as fast as the NICs of all hosts that send
// through it between two times (certainly, or possibly), so that they do not contend
// there.
func (e *evidence) roomy(p network.Port, certain bool, from, to int64) bool {
	h, ok := e.tr.net.Next(p)
	if !ok || e.tr.net.Links[h.Link].BitsPerSecond <= e.tr.net.Fastest {
		return false
	}
	left := e.tr.net.Links[h.Link].BitsPerSecond
	var sources []int
	for _, s := range e.tr.sending(from, to) {
		if s.bytes == 0 || slices.Contains(sources, s.Source) || !e.tr.passes(s.stream, p) || certain && !e.tr.route(s.stream).Certain(p) {
			continue
		}
		nic, ok := e.tr.net.Next(e.tr.net.NIC(s.Source))
		if !ok {
			return false
		}
		sources = append(sources, s.Source)
		if left -= e.tr.net.Links[nic.Link].BitsPerSecond; left < 0 {
			return false
		}
	}
	return true
}
