package chaos

import (
	"math"
	"slices"
	"sort"
)

// timeline is the readings of one agent by true time, in order.
type timeline struct {
	at    []int64
	acked []bool
	blurs []span // spans in which its clock had an undetected error
}

type span struct{ from, to int64 }

func (t *timeline) add(r Reading, rules *Rules) {
	switch off := max(r.StatedNanos-r.TrueNanos, r.TrueNanos-r.StatedNanos); {
	case off == 0:
		t.at = append(t.at, r.TrueNanos)
		t.acked = append(t.acked, r.Acked)
	case off <= rules.ClockNanos:
		around := rules.MaxGapNanos + rules.IntervalNanos
		t.blurs = append(t.blurs, span{min(r.TrueNanos, r.StatedNanos) - around, max(r.TrueNanos, r.StatedNanos) + around})
	}
}

// finish sorts the readings and removes duplicates.
func (t *timeline) finish() {
	sort.Sort((*byTime)(t))
	n := 0
	for i := range t.at {
		if n > 0 && t.at[n-1] == t.at[i] {
			t.acked[n-1] = t.acked[n-1] || t.acked[i]
			continue
		}
		t.at[n], t.acked[n] = t.at[i], t.acked[i]
		n++
	}
	t.at, t.acked = t.at[:n], t.acked[:n]
}

type byTime timeline

func (t *byTime) Len() int           { return len(t.at) }
func (t *byTime) Less(i, j int) bool { return t.at[i] < t.at[j] }
func (t *byTime) Swap(i, j int) {
	t.at[i], t.at[j] = t.at[j], t.at[i]
	t.acked[i], t.acked[j] = t.acked[j], t.acked[i]
}

// off reports whether the clock may have had an undetected error at a time.
func (t *timeline) off(nanos int64) bool {
	return slices.ContainsFunc(t.blurs, func(s span) bool { return s.from <= nanos && nanos < s.to })
}

// outcome is a possible set of readings that give an interval's value, by their times, in order.
type outcome []int64

// maxDoubtful bounds the uncertain readings whose cases are enumerated.
const maxDoubtful = 6

// outcomes returns the possible cases for an interval: one, if all readings around it were acknowledged. Nil if
// it cannot be judged.
func (t *timeline) outcomes(start int64, rules *Rules) []outcome {
	end := start + rules.IntervalNanos
	for _, b := range t.blurs {
		if start < b.to && end > b.from {
			return nil
		}
	}
	first := sort.Search(len(t.at), func(i int) bool { return t.at[i] > start }) - 1
	for first > 0 && !t.acked[first] {
		first--
	}
	first = max(first, 0)
	last := sort.Search(len(t.at), func(i int) bool { return t.at[i] >= end })
	for last < len(t.at) && !t.acked[last] {
		last++
	}
	last = min(last+1, len(t.at))
	var doubtful []int
	for i := first; i < last; i++ {
		if !t.acked[i] && t.at[i] > start-rules.MaxGapNanos-rules.IntervalNanos && t.at[i] < end+rules.MaxGapNanos+rules.IntervalNanos {
			doubtful = append(doubtful, i)
		}
	}
	if len(doubtful) > maxDoubtful {
		return nil
	}
	all := make([]outcome, 0, 1<<len(doubtful))
	for there := range 1 << len(doubtful) {
		o := outcome{}
		for i := first; i < last; i++ {
			if k := slices.Index(doubtful, i); t.acked[i] || k >= 0 && there>>k&1 == 1 {
				o = append(o, t.at[i])
			}
		}
		all = append(all, o)
	}
	return all
}

// missedPoll reports whether the first reading at or after an interval's end was later than WaitNanos.
func (o outcome) missedPoll(end int64, rules *Rules) bool {
	i := sort.Search(len(o), func(i int) bool { return o[i] >= end })
	return i < len(o) && o[i]-end >= rules.WaitNanos
}

// percent is the value of a port in an interval: the mean over the parts of it covered by rates; NaN if the
// cover is too small.
func (o outcome) percent(p Port, start int64, rules *Rules) float64 {
	end := start + rules.IntervalNanos
	covered, stalled := 0.0, 0.0
	for i := 1; i < len(o); i++ {
		a, b := o[i-1], o[i]
		from, to := max(a, start), min(b, end)
		if to <= from || b-a > rules.MaxGapNanos {
			continue
		}
		rise := float64(rules.Truth.Counter(p.Device, p.Port, b) - rules.Truth.Counter(p.Device, p.Port, a))
		covered += float64(to - from)
		stalled += rise * float64(to-from) / float64(b-a)
	}
	if covered == 0 || covered < rules.MinCover*float64(rules.IntervalNanos) {
		return math.NaN()
	}
	return 100 * stalled / covered
}
