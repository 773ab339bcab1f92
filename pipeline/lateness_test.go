package pipeline

import (
	"strconv"
	"testing"

	"github.com/giverny/giverny/ingest/window"
)

// A hold waits for the agents that reported up to silentIntervals before the outage, until each has advanced by as much
// as the outage lasted, less currentIntervals.
func TestWhichAgentsAHoldWaitsFor(t *testing.T) {
	h := hold{limitNanos: 600 * second, intervalNanos: 10 * second}
	if h.over(0) {
		t.Error("a hold ends that has not begun")
	}
	h.saw("current", "s", 1000*second)
	h.saw("current", "s", 900*second) // an older batch
	h.saw("slow", "s", 950*second)
	h.saw("silent", "s", 950*second-1)
	h.away(1000 * second)
	h.away(1100 * second) // the same outage
	wants := func(when string, want int, over bool) {
		t.Helper()
		got := h.over(2000 * second)
		if behind, all := h.behind(); behind != want || all != 2 || got != over || h.holding == over {
			t.Errorf("%s: %d of %d behind, over %v; want %d of 2, %v", when, behind, all, got, want, over)
		}
	}
	wants("when the broker is back", 2, false)
	h.saw("current", "s", 1980*second)
	wants("with one up to date", 1, false)
	h.saw("slow", "other", 1980*second) // another source of the agent
	h.saw("slow", "s", 1930*second-1)
	wants("with one almost up to date", 1, false)
	h.away(2000 * second) // away again: no agent has to advance from there
	if h.backAt != 0 || h.awaySince != 1000*second {
		t.Errorf("away since %d, back at %d", h.awaySince, h.backAt)
	}
	h.saw("slow", "s", 1930*second)
	wants("with both up to date", 0, true)
}

// Further agents than maxHoldAgents are not waited for.
func TestAHoldHasFewAgents(t *testing.T) {
	h := hold{limitNanos: 600 * second, intervalNanos: 10 * second, agents: map[agentKey]*agentProgress{}}
	for i := range maxHoldAgents {
		h.agents[agentKey{strconv.Itoa(i), "s"}] = &agentProgress{newest: 1000 * second}
	}
	h.saw("one more", "s", 1000*second)
	h.saw("7", "s", 1001*second)
	if len(h.agents) != maxHoldAgents || h.agents[agentKey{"7", "s"}].newest != 1001*second {
		t.Errorf("%d agents, a known one at %d", len(h.agents), h.agents[agentKey{"7", "s"}].newest)
	}
}

func TestAHoldIsLimited(t *testing.T) {
	h := hold{limitNanos: 600 * second, intervalNanos: 10 * second}
	h.saw("lost", "s", 1000*second)
	h.away(1000 * second)
	for _, c := range []struct {
		now  int64
		over bool
	}{{2000 * second, false}, {2600*second - 1, false}, {2600 * second, true}, {2601 * second, false}} {
		if got := h.over(c.now); got != c.over {
			t.Errorf("at %d s: over %v", c.now/second, got)
		}
	}
	none := hold{intervalNanos: 10 * second}
	if none.away(1000 * second); none.holding {
		t.Error("a hold of 0s holds")
	}
}

func TestWhatACompletionKeeps(t *testing.T) {
	for name, c := range map[string]struct {
		within int64
		lost   window.Lost
		want   window.Lost
	}{
		"late rows":               {600, window.Lost{Rows: 3, FirstNanos: 500, LastNanos: 900, SlackNanos: 500}, window.Lost{Rows: 3, FirstNanos: 500, LastNanos: 900, SlackNanos: 500}},
		"rows that begin too old": {600, window.Lost{Rows: 3, FirstNanos: 300, LastNanos: 400, SlackNanos: 700}, window.Lost{Rows: 3, FirstNanos: 400, LastNanos: 400, SlackNanos: 600}},
		"rows that are too old":   {600, window.Lost{Rows: 3, FirstNanos: 300, LastNanos: 399, SlackNanos: 700}, window.Lost{}},
		"no rows":                 {600, window.Lost{FirstNanos: 500, LastNanos: 900}, window.Lost{}},
		"no completion":           {0, window.Lost{Rows: 3, FirstNanos: 500, LastNanos: 1001}, window.Lost{}},
	} {
		done := completion{withinNanos: c.within, intervalNanos: 10}
		done.add(c.lost, 1000)
		if done.lost != c.want || done.pending() != (c.want.Rows > 0) || done.fresh != done.pending() {
			t.Errorf("%s: %+v", name, done.lost)
		}
		if want := map[bool]int64{true: (c.want.LastNanos-c.want.FirstNanos)/10 + 1}[done.pending()]; done.intervals() != want {
			t.Errorf("%s: %d intervals, want %d", name, done.intervals(), want)
		}
	}
}

// lateRows is a loss at a second of the data.
func lateRows(at int64) window.Lost {
	return window.Lost{Rows: 1, FirstNanos: at * second, LastNanos: at * second, SlackNanos: 30 * second}
}

// A completion begins when late readings have ceased to come for two intervals, or have come for a quarter of
// complete_within, and the sources have been read up to the present.
func TestWhenACompletionIsDue(t *testing.T) {
	fresh := func() completion { return completion{withinNanos: 3600 * second, intervalNanos: 10 * second} }
	c := fresh()
	if c.due(0, 0) {
		t.Error("due with nothing lost")
	}
	c.add(lateRows(95), 100*second)
	for _, step := range []struct {
		complete, now int64
		due           bool
	}{{1000, 1000, false}, {1019, 1019, false}, {1000, 1020, false}, {1001, 1020, true}, {1040, 1040, true}} {
		if got := c.due(step.complete*second, step.now*second); got != step.due {
			t.Errorf("at %d, read up to %d: due %v", step.now, step.complete, got)
		}
	}
	c = fresh()
	for now := int64(1000); ; now += 10 { // they never cease
		c.add(lateRows(95), 100*second)
		if c.due(now*second, now*second) {
			if now != 1900 {
				t.Errorf("due %d s after the first, want 900", now-1000)
			}
			break
		}
		if now > 3000 {
			t.Fatal("never due")
		}
	}
	short := completion{withinNanos: 3600 * second, intervalNanos: second}
	short.add(lateRows(95), 100*second)
	for now, due := range map[int64]bool{1000: false, 1002: false, 1003: true} {
		twin := short
		twin.due(1000*second, 1000*second)
		if got := twin.due(now*second, now*second); got != due {
			t.Errorf("with intervals of a second, after %d s: due %v", now-1000, got)
		}
	}
}

// The pauses between completions that follow each other double up to a quarter of complete_within; the fourth counts as
// recurring, until none was due for as long.
func TestPausesBetweenCompletions(t *testing.T) {
	c := completion{withinNanos: 400 * second, intervalNanos: 10 * second}
	now := 1000 * second
	for i, want := range []int64{10, 20, 40, 80, 100, 100} {
		c.add(lateRows(95), 100*second)
		c.displaced(45 * second)
		c.displaced(40 * second)
		c.due(now, now)
		back := c.take(now)
		if *back != (rewind{fromNanos: 80 * second, slackNanos: 45 * second}) || c.pending() || c.displacedNanos != 0 || c.going != back || c.firstAt != 0 {
			t.Errorf("completion %d: %+v, leaves %+v", i, back, c)
		}
		if c.notBefore-now != want*second || c.recurring != (i >= 3) {
			t.Errorf("completion %d: pause of %d s, recurring %v", i, (c.notBefore-now)/second, c.recurring)
		}
		c.add(lateRows(95), 100*second)
		c.due(now, now)
		if settled := c.lastAt + 20*second; c.notBefore > settled && c.due(c.notBefore-1, c.notBefore-1) || !c.due(max(c.notBefore, settled), max(c.notBefore, settled)) {
			t.Errorf("completion %d: due within the pause, or not after it", i)
		}
		c.lost, c.saidRecurring = window.Lost{}, true
		now = c.notBefore + 100*second
	}
	c.displaced(500 * second)
	c.take(now + 1) // the loss is empty here: what counts is the time
	if c.notBefore-now-1 != 10*second || c.recurring || c.saidRecurring {
		t.Errorf("after a longer time: %+v", c)
	}
	if c.displaced(500 * second); c.displacedNanos != 400*second {
		t.Errorf("displaced by %d s, more than is completed", c.displacedNanos/second)
	}
}

func TestCompletionsThatACrashCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		revisions []uint32 // of intervals of 10 s
		from      int64    // negative: nothing was cut off
		highest   uint32
	}{
		"nothing stored":          {nil, -1, 0},
		"nothing completed":       {[]uint32{0, 0, 0}, -1, 0},
		"a whole completion":      {[]uint32{0, 1, 1}, -1, 1},
		"a completion cut off":    {[]uint32{0, 2, 1, 1}, 20, 2},
		"cut off before the last": {[]uint32{1, 1, 0}, 20, 1},
	} {
		var stored []Revised
		for i, r := range c.revisions {
			stored = append(stored, Revised{StartNanos: int64(i) * 10, Revision: r})
		}
		back := cutOff(stored)
		if (back != nil) != (c.from >= 0) || back != nil && *back != (rewind{fromNanos: c.from, slackNanos: stored[len(stored)-1].StartNanos - c.from}) || highest(stored) != c.highest {
			t.Errorf("%s: %+v, highest %d", name, back, highest(stored))
		}
	}
}
