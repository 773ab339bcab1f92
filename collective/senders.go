package collective

import (
	"cmp"
	"slices"
)

// senders finds the streams that send between two times. It caches the last answer,
// since all queries about one step have the same times.
type senders struct {
	begun    []int32 // the collective's steps that have a stream, by begin
	longest  int64   // longest duration of these
	from, to int64   // time range of the last answer
	answer   []sender
	numbers  []int32   // of the collective's streams in the answer
	sums     []float64 // by stream, the collective's bytes; zero between queries
}

// sender is a stream and how much it sent between two times.
type sender struct {
	*stream
	bytes int64
}

// newSenders numbers the streams; the collective's come first.
func newSenders(tr *traffic) (s senders) {
	for i, at := range tr.list {
		at.number = i
		s.begun = append(s.begun, at.steps...)
	}
	t := tr.t
	slices.SortFunc(s.begun, func(a, b int32) int {
		if c := cmp.Compare(t.begin[a], t.begin[b]); c != 0 {
			return c
		}
		return int(a - b)
	})
	for _, i := range s.begun {
		s.longest = max(s.longest, t.end[i]-t.begin[i])
	}
	s.sums = make([]float64, len(tr.list))
	return s
}

// sending returns the streams that sent between two times, in order, including those of
// the collective that sent less than a byte. It is valid until called with other times.
// A step is assumed to send at a constant rate.
func (tr *traffic) sending(from, to int64) []sender {
	if tr.from == from && tr.to == to {
		return tr.answer
	}
	tr.from, tr.to = from, to
	tr.answer, tr.numbers = tr.answer[:0], tr.numbers[:0]
	t := tr.t
	i, _ := slices.BinarySearchFunc(tr.begun, from-tr.longest, func(step int32, at int64) int { return cmp.Compare(t.begin[step], at) })
	for ; i < len(tr.begun) && t.begin[tr.begun[i]] < to; i++ {
		step := tr.begun[i]
		begin, end := t.begin[step], t.end[step]
		overlap := min(end, to) - max(begin, from)
		if overlap <= 0 || t.steps[step].Bytes <= 0 {
			continue
		}
		s := tr.steps[step]
		if tr.sums[s.number] == 0 {
			tr.numbers = append(tr.numbers, int32(s.number))
		}
		tr.sums[s.number] += float64(t.steps[step].Bytes) * float64(overlap) / float64(end-begin)
	}
	slices.Sort(tr.numbers)
	for _, n := range tr.numbers {
		tr.answer = append(tr.answer, sender{tr.list[n], int64(tr.sums[n])})
		tr.sums[n] = 0
	}
	for _, s := range tr.others {
		if s.curve[0].time >= to || s.last().time <= from {
			continue
		}
		if bytes := s.sent(from, to); bytes != 0 {
			tr.answer = append(tr.answer, sender{s, bytes})
		}
	}
	return tr.answer
}

// placeOf is the index of a stream in sending(from, to).
func (tr *traffic) placeOf(s *stream, from, to int64) (at int, ok bool) {
	return slices.BinarySearchFunc(tr.sending(from, to), s.number, func(x sender, number int) int { return x.number - number })
}
