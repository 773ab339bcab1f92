package collectors

import (
	"encoding/binary"
	"hash/fnv"
	"time"
)

// clockSteps finds out when the wall clock of this host was set, by NTP or by hand, and
// numbers the epochs of the clock: rows of different epochs have instants that no
// difference may be formed of. The wall clock is compared with the monotonic one, which
// is never set; both are slewed alike, so slewing is no step.
type clockSteps struct {
	leastNanos int64 // shorter steps do not matter

	seen     bool
	ahead    time.Duration // of the wall clock over the monotonic one, as last seen
	epoch    uint64        // steps so far, each counted once or twice
	followUp bool          // the rows last emitted may be from before the step or after it
}

// instant is a reading of both clocks.
type instant struct {
	wallNanos int64
	monotonic time.Duration // since some instant
}

// leastStep is the smallest part of an interval that a step must have to matter: rates would be off by as much.
const leastStep = 20

func newClockSteps(interval time.Duration) clockSteps {
	return clockSteps{leastNanos: max(int64(interval)/leastStep, int64(10*time.Millisecond))}
}

// observe compares the clocks when rows are about to be emitted, and returns by how much the wall clock was set since
// the last time; 0 if it was not.
func (c *clockSteps) observe(now instant) (by time.Duration) {
	ahead := time.Duration(now.wallNanos) - now.monotonic
	if c.seen {
		by = ahead - c.ahead
	}
	c.seen, c.ahead = true, ahead
	stepped := by.Abs().Nanoseconds() >= c.leastNanos
	if stepped || c.followUp {
		c.epoch++
	}
	c.followUp = stepped
	if !stepped {
		return 0
	}
	return by
}

// of combines the epoch of a collector's counters with that of the clock.
func (c *clockSteps) of(counters uint64) uint64 {
	if c.epoch == 0 {
		return counters
	}
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, counters), c.epoch)) // never fails
	return max(h.Sum64(), 1)
}

// processStart is the origin of the monotonic clock.
var processStart = time.Now()

// bothClocks reads both clocks, at one instant.
func bothClocks() instant {
	now := time.Now()
	return instant{now.UnixNano(), now.Sub(processStart)}
}
