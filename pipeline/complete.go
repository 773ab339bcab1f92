package pipeline

import (
	"fmt"
	"time"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
)

// rewind says that stored intervals lack readings that have come meanwhile: the
// run ends, and the next one goes back, analyses them again from the sources, and
// stores them as a newer revision. It is a resume from an earlier interval.
type rewind struct {
	fromNanos  int64 // start of the first interval to be stored again
	slackNanos int64 // by how much the rows in the log are out of order
}

func (r *rewind) Error() string {
	return "completing intervals from " + time.Unix(0, r.fromNanos).UTC().Format(time.RFC3339)
}

// completion decides when stored intervals are completed: when rows have been
// lost for them and no more come, or when that takes too long; and not too often.
// Its times are those of Intake.Advance.
type completion struct {
	withinNanos, intervalNanos int64

	lost            window.Lost // since the last rewind
	fresh           bool        // since due was asked last
	firstAt, lastAt int64       // when the first and the last of it were noticed; 0: not yet
	notBefore       int64
	displacedNanos  int64 // by how much rows came out of order at most, since the last rewind
	pauseNanos      int64

	going *rewind // until the sources have been read up to now again
}

// The pause between two rewinds is doubled from the least one on, up to this part
// of complete_within, as is the time for which stragglers are waited for at most.
const (
	leastRewindPause  = 10 * int64(time.Second)
	leastSettle       = 3 * int64(time.Second)
	settleIntervals   = 2
	completeWithinPer = 4
)

// add notes what was lost. What is older than can be completed does not count.
func (c *completion) add(lost window.Lost, newestNanos int64) {
	oldest := newestNanos - c.withinNanos
	if c.withinNanos == 0 || lost.Rows == 0 || lost.LastNanos < oldest {
		return
	}
	lost.FirstNanos = max(lost.FirstNanos, oldest)
	lost.SlackNanos = min(lost.SlackNanos, c.withinNanos)
	c.lost.Add(lost)
	c.fresh = true
}

// displaced notes by how much a row came out of order: it may have been in time
// only because intervals were held.
func (c *completion) displaced(nanos int64) {
	c.displacedNanos = max(c.displacedNanos, min(nanos, c.withinNanos))
}

// pending says that stored intervals are incomplete.
func (c *completion) pending() bool { return c.lost.Rows > 0 }

// intervals is how many may be incomplete.
func (c *completion) intervals() int64 {
	if !c.pending() {
		return 0
	}
	return (c.lost.LastNanos-c.lost.FirstNanos)/c.intervalNanos + 1
}

// due reports whether it is time to rewind: the sources have been read up to now,
// and stragglers have sent all they had, or have had long enough.
func (c *completion) due(completeNanos, nowNanos int64) bool {
	if !c.pending() {
		return false
	}
	if c.fresh {
		c.fresh, c.lastAt = false, nowNanos
		if c.firstAt == 0 {
			c.firstAt = nowNanos
		}
	}
	settle := max(settleIntervals*c.intervalNanos, leastSettle)
	settled, overdue := nowNanos-c.lastAt >= settle, nowNanos-c.firstAt >= max(c.withinNanos/completeWithinPer, settle)
	return (settled || overdue) && nowNanos-completeNanos < settle && nowNanos >= c.notBefore
}

// take is the rewind that is due.
func (c *completion) take(nowNanos int64) *rewind {
	if nowNanos-c.notBefore > c.withinNanos/completeWithinPer {
		c.pauseNanos = 0
	}
	c.pauseNanos = max(leastRewindPause, min(2*c.pauseNanos, c.withinNanos/completeWithinPer))
	c.notBefore = nowNanos + c.pauseNanos
	// The difference that ends with the first row reaches into the interval before.
	start := schema.IntervalAt(c.lost.FirstNanos, c.intervalNanos).StartNanos - c.intervalNanos
	r := &rewind{start, max(c.lost.SlackNanos, c.displacedNanos)}
	c.displacedNanos = 0
	c.lost, c.firstAt, c.lastAt, c.going = window.Lost{}, 0, 0, r
	return r
}

// Revised is which revision of an interval is in force.
type Revised struct {
	StartNanos int64
	Revision   uint32
}

// cutOff finds a completion that a crash has cut off. Revisions only rise along
// time: where one is lower than the one before, the intervals from there on were
// still to be stored again.
func cutOff(stored []Revised) *rewind {
	for i := 1; i < len(stored); i++ {
		if stored[i].Revision < stored[i-1].Revision {
			last := stored[len(stored)-1].StartNanos
			return &rewind{stored[i].StartNanos, last - stored[i].StartNanos}
		}
	}
	return nil
}

func highest(stored []Revised) (revision uint32) {
	for _, s := range stored {
		revision = max(revision, s.Revision)
	}
	return revision
}

// describe says in words what the completion is about.
func (c *completion) describe() string {
	return fmt.Sprintf("%d intervals lack readings that came late; they will be completed", c.intervals())
}
