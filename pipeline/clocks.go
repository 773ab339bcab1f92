package pipeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/ingest/clockcheck"
)

// clocks reports the clocks of a fabric's senders in metrics, in the log, and as a fault if
// no sender is left whose clock is accepted. It is guarded by the intake's lock.
type clocks struct {
	fabric  string
	metrics *Metrics
	health  *health

	newestNanos int64 // the broker's time of the newest record
	off         map[clockcheck.Sender]clockcheck.State
	count       [clockcheck.Shifted + 1]int            // of off, by state
	noneUsed    bool                                   // no sender's readings are accepted
	hasSeries   map[clockcheck.Sender]bool             // members of off that have a metric series
	logged      map[clockcheck.Sender]clockcheck.State // as last logged of each sender that is off, by earlier runs too
	rewound     bool                                   // the run analyses again what earlier ones have logged

	// The rate limit of the log: lines and suppressed changes in a minute of the broker's clock.
	minute            int64
	lines, suppressed int
}

const (
	// maxOffsetSeries limits the metric series of clocks that are off: agents are the senders' own names.
	maxOffsetSeries = 100
	// maxClockLines per minute are logged, so that a wrong time server does not fill the log; further changes are counted
	// in one line.
	maxClockLines = 5
	// maxLogged limits the memory of what was logged.
	maxLogged = 1 << 16
	// clockMemory is how long a silent sender is remembered.
	clockMemory = int64(time.Hour)
	// clockSilence is how long a silent sender counts as active.
	clockSilence = int64(5 * time.Minute)
	// partClocks names the senders' clocks as a part of the health.
	partClocks = "clocks of the agents"
)

// newClocks reports for one run; logged outlives runs.
func newClocks(fabric string, m *Metrics, h *health, logged map[clockcheck.Sender]clockcheck.State, rewound bool) *clocks {
	c := &clocks{fabric: fabric, metrics: m, health: h, logged: logged, rewound: rewound, off: map[clockcheck.Sender]clockcheck.State{}, hasSeries: map[clockcheck.Sender]bool{}}
	m.clockOffset.DeletePartialMatch(map[string]string{"fabric": fabric})
	c.countOff()
	return c
}

// observe reports the changes of state by a record.
func (c *clocks) observe(j *clockcheck.Checker, appendedNanos int64) {
	if appendedNanos == 0 {
		return
	}
	c.newestNanos = max(c.newestNanos, appendedNanos)
	changes := j.Changes()
	for i := range changes {
		c.change(&changes[i])
	}
	if minute := appendedNanos / int64(time.Minute); minute != c.minute {
		c.startMinute(j, minute)
	}
	if len(changes) > 0 {
		c.countOff()
	}
	// While none is accepted, another clock that is off changes nothing.
	if slices.ContainsFunc(changes, func(k clockcheck.Clock) bool { return !c.noneUsed || k.State != clockcheck.Quarantined }) {
		c.updateHealth(j)
	}
}

func (c *clocks) change(k *clockcheck.Clock) {
	if k.State == clockcheck.OK {
		c.remove(k.Sender)
	} else {
		c.set(k.Sender, k.State)
		c.setOffset(k)
	}
	if !c.rewound {
		c.log(k)
	}
}

// caughtUp ends a rewind, and logs what has changed during it.
func (c *clocks) caughtUp(j *clockcheck.Checker) {
	if !c.rewound {
		return
	}
	c.rewound = false
	for _, k := range j.Clocks() {
		c.log(&k)
	}
}

// log logs the state of a clock, unless it was logged already.
func (c *clocks) log(k *clockcheck.Clock) {
	if c.logged[k.Sender] == k.State {
		return
	}
	if len(c.logged) >= maxLogged {
		clear(c.logged)
	}
	if c.logged[k.Sender] = k.State; k.State == clockcheck.OK {
		delete(c.logged, k.Sender)
	}
	if c.lines == maxClockLines {
		c.suppressed++
		return
	}
	c.lines++
	offset := time.Duration(k.OffsetNanos).Round(time.Millisecond)
	attrs := []any{"agent", k.Agent, "source", k.Source, "offset", offset, "state", k.State.String()}
	if k.State == clockcheck.OK {
		c.health.log.Info("analysis: clock of an agent is correct again", attrs...)
		return
	}
	c.health.log.Warn("analysis: clock of an agent is off; synchronise it on that host", append(attrs, "meaning", describe(k))...)
}

// describe describes the state of a clock for operators.
func describe(k *clockcheck.Clock) string {
	offset, way := time.Duration(k.OffsetNanos), "ahead"
	if offset < 0 {
		offset, way = -offset, "behind"
	}
	does := "its readings are dropped"
	if k.State == clockcheck.Shifted {
		does = "its readings are shifted"
	}
	return fmt.Sprintf("the clock of agent %s (%s) is %v %s, %s", k.Agent, k.Source, offset.Round(time.Second), way, does)
}

func (c *clocks) setOffset(k *clockcheck.Clock) {
	if !c.hasSeries[k.Sender] && len(c.hasSeries) == maxOffsetSeries {
		return
	}
	c.hasSeries[k.Sender] = true
	c.metrics.clockOffset.WithLabelValues(c.fabric, k.Agent, k.Source).Set(float64(k.OffsetNanos) / 1e9)
}

// set records the state of a sender's clock.
func (c *clocks) set(s clockcheck.Sender, state clockcheck.State) {
	if was, is := c.off[s]; is {
		c.count[was]--
	}
	if state == clockcheck.OK {
		delete(c.off, s)
		return
	}
	c.off[s] = state
	c.count[state]++
}

func (c *clocks) remove(s clockcheck.Sender) {
	c.set(s, clockcheck.OK)
	if c.hasSeries[s] {
		delete(c.hasSeries, s)
		c.metrics.clockOffset.DeleteLabelValues(c.fabric, s.Agent, s.Source)
	}
}

// startMinute logs how many changes the minute before suppressed, and forgets silent senders.
func (c *clocks) startMinute(j *clockcheck.Checker, minute int64) {
	if c.suppressed > 0 {
		c.health.log.Warn("analysis: further agents' clocks changed their state", "count", c.suppressed, "off_now", len(c.off))
	}
	c.minute, c.lines, c.suppressed = minute, 0, 0
	j.Forget(c.newestNanos - clockMemory)
	known := map[clockcheck.Sender]bool{}
	for _, k := range j.Clocks() {
		known[k.Sender] = true
		if k.State != clockcheck.OK {
			c.setOffset(&k)
		}
	}
	for s := range c.off {
		if !known[s] {
			c.remove(s)
		}
	}
	c.countOff()
	c.updateHealth(j)
}

func (c *clocks) countOff() {
	for _, state := range []clockcheck.State{clockcheck.Quarantined, clockcheck.Shifted} {
		c.metrics.clocksOff.WithLabelValues(c.fabric, state.String()).Set(float64(c.count[state]))
	}
}

// updateHealth sets a fault of the fabric if there are senders and no readings of theirs are accepted.
func (c *clocks) updateHealth(j *clockcheck.Checker) {
	since := c.newestNanos - clockSilence
	var all []clockcheck.Clock
	if len(c.off) > 0 && !j.Accepts(since) {
		all = slices.DeleteFunc(j.Clocks(), func(k clockcheck.Clock) bool { return k.SeenNanos < since })
	}
	if c.noneUsed = len(all) > 0; !c.noneUsed {
		c.health.state(partClocks, nil)
		return
	}
	err := fmt.Errorf("%s; synchronise the clock of that host", describe(&all[0]))
	if len(all) > 1 {
		err = fmt.Errorf("the clocks of all %d agents are off, so no readings are accepted, the first: %s; check the brokers' clocks too", len(all), describe(&all[0]))
	}
	c.health.state(partClocks, err)
}

// checkFuture returns an error if the last analysed interval is in the future of
// both the broker and this host, whose clocks agree: it was made when all clocks
// were wrong. The run restarts from the intervals stored before it; otherwise
// nothing would be stored until time has caught up.
func (in *Intake) checkFuture(appendedNanos int64) error {
	if appendedNanos == 0 {
		return nil
	}
	off := time.Duration(time.Now().UnixNano() - appendedNanos)
	if off.Abs() > in.tolerance {
		return nil
	}
	limit := appendedNanos + int64(in.tolerance) + in.intervalNanos
	if in.core.LastEnd() <= limit {
		return nil
	}
	return &FutureError{LastEnd: time.Unix(0, in.core.LastEnd()), NowNanos: limit}
}

// FutureError says that stored intervals are in the future.
type FutureError struct {
	LastEnd  time.Time // of the stored intervals
	NowNanos int64     // later ones are not used
}

func (e *FutureError) Error() string {
	return fmt.Sprintf("intervals are stored up to %s, which is in the future because clocks were wrong; continuing with the current time", e.LastEnd.UTC().Format(time.DateTime))
}
