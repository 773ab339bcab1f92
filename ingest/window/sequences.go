package window

import (
	"strings"

	"github.com/giverny/giverny/schema"
)

// Sequences finds the batches that were lost on the way, by the numbers that an emitter gives to the batches
// of each source and agent. The zero value is ready.
//
// A number that goes back is a redelivery, or the source was started again and counts from 1. What tells them
// apart is the time of the readings: a batch that comes twice brings nothing newer. The first batch ever seen
// of a source and agent may have any number, since an analyser may begin in the middle of the log.
type Sequences struct {
	streams map[sequenceStream]*sequenceState
}

type sequenceStream struct{ source, agent string }

type sequenceState struct {
	next        uint64 // the number expected
	newestNanos int64  // reading of all batches
	firstNanos  int64  // newest reading of the batch 1 that began this numbering, if it was seen
}

// SequenceStep is what a batch's number says.
type SequenceStep struct {
	Missing     uint64 // batches before this one that never came
	Restarted   bool   // the numbering began again
	Redelivered bool   // the batch came before
}

const (
	// maxSequenceStreams bounds the memory that forged names can take; what is beyond is not followed.
	maxSequenceStreams = 1 << 17
	// maxSequenceGap is the longest gap that counts as loss: a longer one is another numbering.
	maxSequenceGap = 1 << 20
)

// Add takes the number of a batch. Batches of one source and agent come in the order in which they were sent.
func (s *Sequences) Add(b *schema.CounterBatch) SequenceStep {
	newest := newestReading(b)
	state, ok := s.streams[sequenceStream{b.Source, b.Agent}]
	if !ok {
		s.follow(b, newest)
		return SequenceStep{}
	}
	switch n := b.Sequence; {
	case n >= state.next && n-state.next <= maxSequenceGap:
		step := SequenceStep{Missing: n - state.next}
		state.next, state.newestNanos = n+1, max(state.newestNanos, newest)
		return step
	case n >= state.next:
		state.restart(n, newest)
		return SequenceStep{Restarted: true}
	case n <= 1 && newest != state.firstNanos, n > 1 && newest > state.newestNanos:
		state.restart(n, newest)
		return SequenceStep{Missing: max(n, 1) - 1, Restarted: true}
	}
	return SequenceStep{Redelivered: true}
}

// follow begins with a source and agent.
func (s *Sequences) follow(b *schema.CounterBatch, newest int64) {
	if len(s.streams) >= maxSequenceStreams {
		return
	}
	if s.streams == nil {
		s.streams = make(map[sequenceStream]*sequenceState)
	}
	state := new(sequenceState)
	state.restart(b.Sequence, newest)
	s.streams[sequenceStream{strings.Clone(b.Source), strings.Clone(b.Agent)}] = state // the batch's memory is used again
}

func (s *sequenceState) restart(number uint64, newest int64) {
	*s = sequenceState{next: number + 1, newestNanos: newest}
	if number <= 1 {
		s.firstNanos = newest
	}
}

func newestReading(b *schema.CounterBatch) (newest int64) {
	for _, t := range b.TimeNanos {
		newest = max(newest, t)
	}
	return newest
}
