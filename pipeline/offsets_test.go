package pipeline

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The naive twin keeps every message.
func TestOffsetQueueAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q, twin offsetQueue
		for offset := range rapid.Int64Range(1, 40).Draw(t, "messages") {
			newest := rapid.Int64Range(0, 20).Draw(t, "newest")
			q.push(offset, newest)
			twin = append(twin, takenMessage{offset, newest})
			if rapid.IntRange(0, 3).Draw(t, "op") > 0 {
				continue
			}
			low := rapid.Int64Range(0, 22).Draw(t, "low")
			n := slices.IndexFunc(twin, func(m takenMessage) bool { return m.newestNanos >= low })
			if n < 0 {
				n = len(twin)
			}
			want := NoOffset
			if n > 0 {
				want = twin[n-1].offset
			}
			twin = twin[n:]
			if got := q.through(low); got != want {
				t.Fatalf("through %d: %d, want %d", low, got, want)
			}
		}
	})
}

// While no reading is accepted, no interval closes and nothing is committed: that takes no memory.
func TestOffsetsOfReadingsThatAreDropped(t *testing.T) {
	var q offsetQueue
	for offset := range int64(100_000) {
		q.push(offset, 0)
	}
	if len(q) != 1 || q.through(1) != 99_999 {
		t.Errorf("%d messages are kept", len(q))
	}
}
