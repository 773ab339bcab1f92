package pipeline

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

// rewind is the error that ends a run because stored intervals lack readings that
// have since arrived. The next run resumes from an earlier interval, analyses
// them again from the sources, and stores them as a newer revision.
type rewind struct {
	fromNanos  int64 // start of the first interval to store again
	slackNanos int64 // by how much the rows in the log are out of order
	endNanos   int64 // end of the last interval that counts; later ones may be stored, of a time when clocks were wrong
}

func (r *rewind) Error() string {
	return "completing intervals from " + time.Unix(0, r.fromNanos).UTC().Format(time.RFC3339)
}

// completion decides when to complete stored intervals: when readings for them
// were late and no more arrive, or when that takes too long; and not too often.
// Its times are those of Intake.Advance.
type completion struct {
	withinNanos, intervalNanos int64

	lost            window.Lost // since the last rewind
	fresh           bool        // since the last call of due
	firstAt, lastAt int64       // when the first and the last of lost were noticed; 0: not yet
	notBefore       int64
	displacedNanos  int64 // the maximum by which rows were out of order, since the last rewind
	pauseNanos      int64
	recurring       bool // the last rewinds followed each other as soon as they could
	saidRecurring   bool // the log says so

	going *rewind // until the sources have been read up to the present again
}

// The pause between two rewinds doubles from leastRewindPause up to this fraction
// of complete_within, which is also the maximum time to wait for stragglers.
const (
	leastRewindPause  = 10 * int64(time.Second)
	leastSettle       = 3 * int64(time.Second)
	settleIntervals   = 2
	completeWithinPer = 4
)

// recurringPause is the pause between rewinds from which they count as recurring: the fourth of those that follow each
// other as soon as they may.
const recurringPause = 4 * leastRewindPause

// restart forgets what an earlier ownership left to complete: the owner since then has done that, or what it had not
// committed shows it again.
func (c *completion) restart() {
	*c = completion{withinNanos: c.withinNanos, intervalNanos: c.intervalNanos}
}

// logRewind logs a rewind. Of those that recur it logs the first only, with what they cost: an agent that is always late
// would fill the log until it is repaired.
func (c *completion) logRewind(log *slog.Logger, back *rewind) {
	switch {
	case !c.recurring:
		log.Info("analysis: going back to complete stored intervals", "from", time.Unix(0, back.fromNanos).UTC())
	case !c.saidRecurring:
		c.saidRecurring = true
		log.Warn("analysis: readings are late again and again, so intervals are analysed twice, the second time at most once per pause; raise allowed_lateness above their delay, find out why they are late, or set complete_within: 0s to do without them. Further completions are counted, not logged",
			"pause", time.Duration(c.withinNanos/completeWithinPer), "metric", "giverny_pipeline_rewinds_total")
	}
}

// add records what was lost, except what is too old to be completed.
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

// displaced records by how much a row was out of order: it may have been in
// time only because intervals were held.
func (c *completion) displaced(nanos int64) {
	c.displacedNanos = max(c.displacedNanos, min(nanos, c.withinNanos))
}

// pending reports whether stored intervals are incomplete.
func (c *completion) pending() bool { return c.lost.Rows > 0 }

// intervals returns how many may be incomplete.
func (c *completion) intervals() int64 {
	if !c.pending() {
		return 0
	}
	return (c.lost.LastNanos-c.lost.FirstNanos)/c.intervalNanos + 1
}

// due reports whether it is time to rewind: the sources have been read up to the
// present, and stragglers have sent everything, or had enough time.
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

// take returns the rewind that is due.
func (c *completion) take(nowNanos int64) *rewind {
	if nowNanos-c.notBefore > c.withinNanos/completeWithinPer {
		c.pauseNanos, c.recurring, c.saidRecurring = 0, false, false
	}
	c.recurring = c.recurring || c.pauseNanos >= recurringPause
	c.pauseNanos = max(leastRewindPause, min(2*c.pauseNanos, c.withinNanos/completeWithinPer))
	c.notBefore = nowNanos + c.pauseNanos
	// The difference that ends with the first row reaches into the interval before.
	start := schema.IntervalAt(c.lost.FirstNanos, c.intervalNanos).StartNanos - c.intervalNanos
	r := &rewind{fromNanos: start, slackNanos: max(c.lost.SlackNanos, c.displacedNanos)}
	c.displacedNanos = 0
	c.lost, c.firstAt, c.lastAt, c.going = window.Lost{}, 0, 0, r
	return r
}

// Revised is the current revision of an interval.
type Revised struct {
	StartNanos int64
	Revision   uint32
	Values     int // of links, of all metrics together
}

// cutOff finds a completion that a crash has interrupted. Revisions only rise
// over time: if one is lower than the one before, the intervals from there on
// still had to be stored again.
func cutOff(stored []Revised) *rewind {
	for i := 1; i < len(stored); i++ {
		if stored[i].Revision < stored[i-1].Revision {
			last := stored[len(stored)-1].StartNanos
			return &rewind{fromNanos: stored[i].StartNanos, slackNanos: last - stored[i].StartNanos}
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

// describe describes the pending completion.
func (c *completion) describe() string {
	return fmt.Sprintf("%s late readings and will be completed", plural.Count(int(c.intervals()), "interval lacks", "intervals lack"))
}
