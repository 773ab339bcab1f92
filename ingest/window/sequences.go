package window

import (
	"strings"

	"github.com/giverny/giverny/schema"
)

// Sequences detects lost batches by the sequence numbers that an emitter gives to the batches of each source
// and agent. The zero value is ready to use.
//
// A number that goes back means a redelivery, or that the source was restarted and counts from 1. The time of
// the readings distinguishes them: a redelivered batch has no newer readings. The first batch seen of a
// source and agent may have any number, since an analyser may start in the middle of the log.
//
// Two processes that send under one name produce two alternating numberings, which a restarted source does
// not.
type Sequences struct {
	streams map[sequenceStream]*sequenceState
}

type sequenceStream struct{ source, agent string }

type sequenceState struct {
	next        uint64 // the expected number
	left        uint64 // the next number of the previous numbering; 0: there is none
	turns       int    // how often a numbering that was left continued
	newestNanos int64  // newest reading of all batches
	beforeNanos int64  // newestNanos before its last increase; never if it has not increased since this numbering began
	firstNanos  int64  // newest reading of batch 1 of this numbering, if it was seen
}

// SequenceStep is the conclusion from a batch's number.
type SequenceStep struct {
	Missing     uint64 // batches before this one that never arrived
	Restarted   bool   // the numbering started over
	Redelivered bool   // the batch was seen before
	Doubled     bool   // another process sends under the same name
}

const (
	// maxSequenceStreams limits the memory for forged names; further streams are not tracked.
	maxSequenceStreams = 1 << 17
	// maxSequenceGap is the longest gap that counts as loss: a longer one means another numbering.
	maxSequenceGap = 1 << 20
	// doubledTurns alternations of two numberings rule out chance: once may happen, if the gap after a
	// restart ends where the previous numbering would have continued.
	doubledTurns = 3
)

// Add processes the number of a batch. Batches of one source and agent must come in the order in which they were
// sent.
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

// follow starts tracking a source and agent.
func (s *Sequences) follow(b *schema.CounterBatch, newest int64) {
	if len(s.streams) >= maxSequenceStreams {
		return
	}
	if s.streams == nil {
		s.streams = make(map[sequenceStream]*sequenceState)
	}
	state := new(sequenceState)
	state.restart(b.Sequence, newest)
	s.streams[sequenceStream{strings.Clone(b.Source), strings.Clone(b.Agent)}] = state // cloned since the batch's memory is reused
}

// another reports whether a number belongs not to the current numbering but to a concurrent one: it is the
// next of the previous numbering, or it is lower and its readings lie between the last two increases of
// newestNanos, which is true neither of a redelivery nor of a restarted source. Batches with older readings
// come from a spool.
func (s *sequenceState) another(n uint64, newest int64) bool {
	if n == s.next || n <= 1 || newest <= s.beforeNanos || newest == s.newestNanos {
		return false
	}
	between := s.beforeNanos != never && newest < s.newestNanos
	return n == s.left || n < s.next && between
}

// saw updates the newest reading.
func (s *sequenceState) saw(newest int64) {
	if newest > s.newestNanos {
		s.beforeNanos, s.newestNanos = s.newestNanos, newest
	}
}

// restart starts a new numbering.
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
