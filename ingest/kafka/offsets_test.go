package kafka_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/ingest/kafka"
)

// The naive twin keeps every record passed to the handler and searches for the first that is not
// stored.
func TestOffsetsAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 5).Draw(t, "start")
		next := start
		var handed []int64
		stored := map[int64]bool{}
		var o kafka.Offsets
		o.Reset(start)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch offset := rapid.Int64Range(0, next+3).Draw(t, "offset"); rapid.IntRange(0, 5).Draw(t, "op") {
			case 0, 1, 2: // sometimes with a gap
				next += max(0, rapid.Int64Range(-5, 2).Draw(t, "gap"))
				o.MarkPending(next)
				handed = append(handed, next)
				next++
			case 3, 4:
				o.Store(offset)
				stored[offset] = offset < next
			case 5:
				o.StoreThrough(offset)
				for _, h := range handed {
					stored[h] = stored[h] || h <= offset
				}
			}
			want := next
			for _, h := range handed {
				if !stored[h] {
					want = h
					break
				}
			}
			if len(handed) == 0 {
				want = start
			}
			if got := o.Committed(); got < want && !gapBetween(handed, got, want) || got > want {
				t.Fatalf("committed %d, want %d; handed on %v, stored %v", got, want, handed, stored)
			}
		}
	})
}

// gapBetween reports whether no record lies between two offsets, so that they are equivalent.
func gapBetween(handed []int64, from, to int64) bool {
	for _, h := range handed {
		if h >= from && h < to {
			return false
		}
	}
	return true
}

// Offsets that were not passed to the handler, or are already stored, change nothing.
func TestOffsetsThatAreNotPending(t *testing.T) {
	var o kafka.Offsets
	o.Reset(5)
	o.MarkPending(5)
	o.MarkPending(7)
	for _, c := range []struct{ offset, committed int64 }{{4, 5}, {6, 5}, {8, 5}, {7, 5}, {7, 5}, {5, 8}, {5, 8}} {
		if o.Store(c.offset); o.Committed() != c.committed {
			t.Errorf("after Store(%d): committed %d, want %d", c.offset, o.Committed(), c.committed)
		}
	}
}

// However many records wait for a commit, as for days in which no interval closes, they take no memory.
func TestOffsetsThatWaitTakeNoMemory(t *testing.T) {
	var o kafka.Offsets
	o.Reset(0)
	const many = 100_000
	for offset := range int64(many) {
		o.MarkPending(offset)
		o.Handled(offset)
	}
	if o.Spans() != 1 || o.Committed() != 0 {
		t.Errorf("%d spans, committed %d", o.Spans(), o.Committed())
	}
	if o.StoreThrough(many - 1); o.Spans() != 0 || o.Committed() != many {
		t.Errorf("after all are stored: %d spans, committed %d", o.Spans(), o.Committed())
	}
}
