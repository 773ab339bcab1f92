package history

import (
	"math"

	"github.com/giverny/giverny/schema"
)

// Clock numbers intervals: slot s is the interval that begins at s times the interval's length.
type Clock struct {
	Duration int64 // of an interval, nanoseconds; 0: none seen yet
	First    int64 // slot of the first interval
	Now      int64 // slot of the last
}

// SlotOf is the slot that contains an instant.
func (c *Clock) SlotOf(nanos int64) int64 {
	return schema.IntervalAt(nanos, c.Duration).StartNanos / c.Duration
}

// ring is the index of a slot in a ring buffer.
func ring(slot int64, length int) int {
	i := int(slot % int64(length))
	if i < 0 {
		i += length
	}
	return i
}

// missing is a value that was not measured.
var missing = float32(math.NaN())

// IsMissing reports whether a value was not measured.
func IsMissing(v float32) bool { return v != v }
