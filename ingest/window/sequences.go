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
//
// Two processes that send under one name are two numberings that take turns, as no source that was started
// again does.
type Sequences struct {
	streams map[sequenceStream]*sequenceState
}

type sequenceStream struct{ source, agent string }

type sequenceState struct {
	next        uint64 // the number expected
	left        uint64 // the number with which the numbering before this one would go on; 0: there is none
	turns       int    // how often a numbering that was left went on
	newestNanos int64  // reading of all batches
	beforeNanos int64  // newestNanos before it last rose; never if it has not since this numbering began
	firstNanos  int64  // newest reading of the batch 1 that began this numbering, if it was seen
}

// SequenceStep is what a batch's number says.
type SequenceStep struct {
	Missing     uint64 // batches before this one that never came
	Restarted   bool   // the numbering began again
	Redelivered bool   // the batch came before
	Doubled     bool   // another process sends under the same name
}

const (
	// maxSequenceStreams bounds the memory that forged names can take; what is beyond is not followed.
	maxSequenceStreams = 1 << 17
	// maxSequenceGap is the longest gap that counts as loss: a longer one is another numbering.
	maxSequenceGap = 1 << 20
	// doubledTurns of two numberings are no chance: once, the gap after a restart may end where the numbering
	// before would have gone on.
	doubledTurns = 3
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
	case state.another(n, newest):
		state.left, state.next = state.next, n+1
		state.turns = min(state.turns+1, doubledTurns)
		state.saw(newest)
		return SequenceStep{Doubled: state.turns == doubledTurns}
	case n >= state.next && n-state.next <= maxSequenceGap:
		step := SequenceStep{Missing: n - state.next}
		state.next = n + 1
		state.saw(newest)
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

// another says that a number is not of the numbering that came last but of another that goes on beside it: it
// is the next of the one before, or lower and was read between the two batches that came last, which neither
// a redelivery nor a source that was started again is. What was read before those two is from a spool.
func (s *sequenceState) another(n uint64, newest int64) bool {
	if n == s.next || n <= 1 || newest <= s.beforeNanos || newest == s.newestNanos {
		return false
	}
	between := s.beforeNanos != never && newest < s.newestNanos
	return n == s.left || n < s.next && between
}

// saw notes the newest reading of a batch.
func (s *sequenceState) saw(newest int64) {
	if newest > s.newestNanos {
		s.beforeNanos, s.newestNanos = s.newestNanos, newest
	}
}

// restart begins a numbering.
func (s *sequenceState) restart(number uint64, newest int64) {
	*s = sequenceState{next: number + 1, left: s.next, turns: s.turns, newestNanos: newest, beforeNanos: never}
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
