package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/journal"
	"github.com/giverny/giverny/internal/test/racing"
	"github.com/giverny/giverny/schema"
)

// All clocks of a fabric are wrong for a while, with agents that say when they
// send and with agents that do not.
func TestAllClocksJump(t *testing.T) {
	const wrongFrom, wrongTo, seconds = 10, 30, 60
	for _, silent := range []bool{false, true} {
		for _, ahead := range []time.Duration{-5, -30, -120, -600, -1800, -3600, -86400, 20, 120, 3600, 86400 * 365} {
			for _, restart := range []bool{false, true} {
				if racing.On && (!restart || ahead != -120 && ahead != 3600) {
					continue
				}
				t.Run(fmt.Sprintf("silent=%v/%ds/restart=%v", silent, ahead, restart), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(graphOf(t, "f", "torus:4x4x4")).everyone(between(wrongFrom, wrongTo, ahead*time.Second))
						w.silent = silent
						var restarts []int
						if restart {
							restarts = []int{wrongFrom + 8, wrongTo + 2}
						}
						p := play(t, w, seconds, restarts...)
						if p.panics() > 0 {
							t.Errorf("the run failed %v times", p.panics())
						}
						if p.out.worst > testTolerance {
							t.Errorf("an interval ends %v in the future", p.out.worst)
						}
						list := p.seconds()
						back := wrongTo + 5
						if ahead > 0 { // intervals stored ahead within the tolerance stay
							back += int(min(ahead, 30))
						}
						for s := back; s < seconds-3; s++ {
							if !slices.Contains(list, s) {
								t.Fatalf("interval %d is not stored: %v", s, list)
							}
						}
						if reason := reasonOf(ahead*time.Second, silent); reason != "" && p.dropped(reason)+p.dropped("late") == 0 && !restart {
							t.Errorf("nothing dropped as %s, or late", reason)
						}
					})
				})
			}
		}
	}
}

// reasonOf is the reason under which readings by a wrong clock are counted.
func reasonOf(ahead time.Duration, silent bool) string {
	switch {
	case ahead > testTolerance:
		return "clock_ahead"
	case ahead < -testTolerance && !silent:
		return "clock_behind"
	case ahead <= -1800*time.Second:
		return "back_in_time"
	}
	return ""
}

// A restart over a backlog of readings that are an hour ahead, with good ones
// behind it.
func TestRestartOverABacklogOfTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(graphOf(t, "f", "torus:4x4x4")).everyone(between(10, 18, time.Hour))
		rig, out := newRig(), &noFuture{sink: sink{name: "out"}}
		p := &played{rig: rig, out: out, began: time.Now().UnixNano()}
		var wg sync.WaitGroup
		wg.Go(func() { w.run(60) })
		runFor(t, 9*time.Second, rig.fabric(t, w.graph, one(&logConsumer{w}), out))
		time.Sleep(12 * time.Second)
		f := rig.fabric(t, w.graph, one(&logConsumer{w}), out)
		runFor(t, 39*time.Second, f)
		wg.Wait()
		if out.worst > testTolerance || p.panics() > 0 || p.newest() < 57 || f.Ready(t.Context()) != nil {
			t.Errorf("future %v, faults %v, newest %d, ready %v", out.worst, p.panics(), p.newest(), f.Ready(t.Context()))
		}
	})
}

// Intervals that an earlier version stored in the future do not stop the analysis until
// time catches up.
func TestStoredFutureDoesNotBlind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(graphOf(t, "f", "torus:4x4x4"))
		rig, out := newRig(), &noFuture{sink: sink{name: "out"}}
		p := &played{rig: rig, out: out, began: time.Now().UnixNano()}
		var wg sync.WaitGroup
		wg.Go(func() { w.run(40) })
		runFor(t, 10*time.Second, rig.fabric(t, w.graph, one(&logConsumer{w}), out))
		results := rig.store.stored("f")
		last := *results[len(results)-1]
		snapshot := *last.Snapshot
		last.Snapshot = &snapshot
		snapshot.Interval.StartNanos += 3600 * second
		if err := rig.store.Put(t.Context(), &last); err != nil {
			t.Fatal(err)
		}
		runFor(t, 30*time.Second, rig.fabric(t, w.graph, one(&logConsumer{w}), out))
		wg.Wait()
		list := p.seconds()
		if n := len(list); list[n-1] < 3600 || list[n-2] < 37 {
			t.Errorf("stored %v", list)
		}
		if missing := gaps(startsOf(rig.store.stored("f"))[:len(list)-1]); len(missing) > 0 {
			t.Errorf("%d intervals are missing", len(missing))
		}
	})
}

// Intervals that are stored in the future do not hide the present ones from sinks and metrics when late readings make the
// run go back.
func TestStoredFutureAndLateReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rig, g, b, out := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{}, &sink{name: "out"}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 4 {
			a := &spooler{broker: b, graph: g, name: fmt.Sprintf("n%d", i), share: i, all: 4, perDrain: 20}
			if i == 3 {
				a.cut = func(since time.Duration) bool { return since > 30*time.Second && since < 40*time.Second }
			}
			wg.Go(func() { a.run(ctx) })
		}
		runFor(t, 10*time.Second, rig.fabric(t, g, one(&logSource{broker: b}), out))
		results := rig.store.stored("f")
		ahead, snapshot := *results[len(results)-1], *results[len(results)-1].Snapshot
		ahead.Snapshot = &snapshot
		snapshot.Interval.StartNanos += 3600 * second
		if err := rig.store.Put(t.Context(), &ahead); err != nil {
			t.Fatal(err)
		}
		f := rig.fabric(t, g, one(&logSource{broker: b}), out)
		runFor(t, 90*time.Second, f)
		cancel()
		wg.Wait()
		if rewinds := testutil.ToFloat64(rig.metrics.rewinds.WithLabelValues("f")); rewinds == 0 {
			t.Error("the run did not go back")
		}
		stored := startsOf(rig.store.stored("f"))
		shown, newest := out.starts(), stored[len(stored)-2]
		if last := shown[len(shown)-1]; newest-last > 2*second {
			t.Errorf("the sink's last interval is %v older than the newest stored one", time.Duration(newest-last))
		}
	})
}

// An agent whose clock is wrong is named, and the others lose nothing.
func TestOneClockIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(graphOf(t, "f", "torus:4x4x4"))
		w.agents[1].ahead = between(10, 300, time.Hour)
		rig, out := newRig(), &noFuture{sink: sink{name: "out"}}
		f := rig.fabric(t, w.graph, one(&logConsumer{w}), out)
		var wg sync.WaitGroup
		wg.Go(func() { w.run(40) })
		runFor(t, 40*time.Second, f)
		wg.Wait()
		if n := testutil.ToFloat64(rig.metrics.clocksOff.WithLabelValues("f", "quarantined")); n != 1 {
			t.Errorf("%v agents quarantined", n)
		}
		if n := testutil.ToFloat64(rig.metrics.clockOffset.WithLabelValues("f", "b", "test")); n != 3600 {
			t.Errorf("agent b is %v s ahead", n)
		}
		if err := f.Ready(t.Context()); err != nil {
			t.Errorf("two agents of three are read: %v", err)
		}
		checkCoverage(t, w, rig.store.stored("f"), w.agents[0], w.agents[2])
	})
}

// A fabric is not ready, and says why, if no agent's clock is accepted.
func TestNoClockIsAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(graphOf(t, "f", "torus:4x4x4")).everyone(between(10, 300, -time.Hour))
		f := newRig().fabric(t, w.graph, one(&logConsumer{w}))
		var wg sync.WaitGroup
		wg.Go(func() { w.run(20) })
		runFor(t, 20*time.Second, f)
		wg.Wait()
		if err := f.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "the clocks of all 3 agents are off") || !strings.Contains(err.Error(), "1h0m0s behind") {
			t.Errorf("ready: %v", err)
		}
	})
}

// checkCoverage checks that all links of some agents are in every interval but the
// first and last few.
func checkCoverage(t *testing.T, w *world, results []*schema.IntervalResult, agents ...*agent) {
	t.Helper()
	if missing := gaps(startsOf(results)); len(missing) > 0 || len(results) < 6 {
		t.Errorf("%d intervals, %d missing", len(results), len(missing))
		return
	}
	for _, a := range agents {
		for _, link := range w.links(a) {
			for _, r := range results[2 : len(results)-3] {
				if len(r.Snapshot.Series) == 0 || !r.Snapshot.Series[0].Valid.Has(link) {
					t.Errorf("%s: link %d of agent %s has no value", r.Snapshot.Interval.String(), link, a.name)
					return
				}
			}
		}
	}
}

// randomClock jumps now and then, either way, and drifts.
func randomClock(rng *rand.Rand, seconds, faultsEnd int, drifts bool) func(int) time.Duration {
	offsets := make([]time.Duration, seconds)
	now, drift := time.Duration(0), time.Duration(0)
	if rng.IntN(3) == 0 {
		now = randomOffset(rng) // wrong from the start
	}
	for s := range offsets {
		if rng.IntN(12) == 0 {
			now = randomOffset(rng)
			if drifts {
				drift = time.Duration(rng.IntN(3)-1) * time.Duration(rng.IntN(2000)) * time.Millisecond
			}
		}
		if now += drift; s >= faultsEnd {
			now = 0
		}
		offsets[s] = now
	}
	return func(s int) time.Duration { return offsets[s] }
}

func randomOffset(rng *rand.Rand) time.Duration {
	size := time.Duration(float64(time.Minute) * float64(uint(1)<<rng.IntN(20)) * (1 + rng.Float64()))
	return []time.Duration{size, -size, 0}[rng.IntN(3)]
}

// Random clock faults and restarts, against the true time: the run never fails, no
// interval ends in the future, agents whose clock is right lose nothing, and all is
// well once the last fault is over by the tolerance, up to which readings ahead of
// their time are accepted. A restart makes no difference, except to what the window
// has learned of clocks that are off by less than that, which it forgets; so this is
// compared without drift.
func TestRandomClockFaults(t *testing.T) {
	const seconds, faultsEnd = 110, 50
	seeds := uint64(6)
	if racing.On {
		seeds = 2
	}
	for seed := range seeds {
		for _, all := range []bool{false, true} {
			drifts := seed%2 == 1
			var covered [2][]int
			for i, restarted := range []bool{false, true} {
				t.Run(fmt.Sprintf("seed=%d/all=%v/restarts=%v", seed, all, restarted), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						rng := rand.New(rand.NewPCG(seed, 11))
						w := newWorld(graphOf(t, "f", "torus:3x3x3"))
						for k, a := range w.agents {
							if clock := randomClock(rng, seconds, faultsEnd, drifts); all || k > 0 {
								a.ahead = clock
							}
						}
						var restarts []int
						if restarted {
							restarts = []int{5 + rng.IntN(20), 30 + rng.IntN(20), 55 + rng.IntN(10)}
						}
						p := play(t, w, seconds, restarts...)
						if p.panics() > 0 || p.out.worst > testTolerance {
							t.Fatalf("the run failed %v times, an interval ends %v in the future", p.panics(), p.out.worst)
						}
						results := slices.DeleteFunc(p.rig.store.stored("f"), func(r *schema.IntervalResult) bool { // readings by a clock that is behind
							return r.Snapshot.Interval.StartNanos < p.began
						})
						covered[i] = p.seconds()
						if !all && !drifts { // going back to complete intervals is a restart too
							checkCoverage(t, w, results, w.agents[0])
						}
						after := slices.DeleteFunc(slices.Clone(results), func(r *schema.IntervalResult) bool {
							return r.Snapshot.Interval.StartNanos < p.began+(faultsEnd+8)*second+int64(testTolerance)
						})
						checkCoverage(t, w, after, w.agents...)
					})
				})
			}
			if !drifts && !all && !slices.Equal(covered[0], covered[1]) {
				t.Errorf("seed %d, all %v: intervals\n%v, with restarts\n%v", seed, all, covered[0], covered[1])
			}
		}
	}
}

// Clocks that are wrong during an outage of the broker, when readings lie in spools.
func TestClocksAndOutages(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			const seconds, faultsEnd = 90, 50
			rng := rand.New(rand.NewPCG(seed, 12))
			w := newWorld(graphOf(t, "f", "torus:3x3x3"))
			from := 10 + rng.IntN(20)
			to := from + 1 + rng.IntN(20)
			w.down = func(s int) bool { return s >= from && s < to }
			for _, a := range w.agents {
				a.ahead = randomClock(rng, seconds, faultsEnd, true)
			}
			p := play(t, w, seconds)
			if p.panics() > 0 || p.out.worst > testTolerance || p.newest() < seconds-5 {
				t.Errorf("seed %d: the run failed %v times, %v in the future, newest %d", seed, p.panics(), p.out.worst, p.newest())
			}
		})
	}
}

// Readings without an append time are accepted whatever their time: a replay.
func TestReplayedReadingsNeedNoAppendTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		runFor(t, 30*time.Second, r.fabric(t, g, one(&polls{graph: g})))
		if n := len(r.store.stored("f")); n < 25 {
			t.Errorf("%d intervals", n)
		}
	})
}

func TestTimesOfARecord(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		m    kafka.Message
		want clockcheck.Times
	}{
		{kafka.Message{Time: now.Add(time.Hour), Appended: time.Unix(2000, 0), Sent: time.Unix(3000, 0)}, clockcheck.Times{SentNanos: 3000 * second, AppendedNanos: 2000 * second}},
		{kafka.Message{Time: time.Unix(500, 0)}, clockcheck.Times{AppendedNanos: 500 * second}},
		{kafka.Message{Time: time.Unix(1500, 0)}, clockcheck.Times{AppendedNanos: 1000 * second}},
	} {
		if got := timesOf(&c.m, now); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.m, got, c.want)
		}
	}
}

var errNotReady = errors.New("not ready")

func TestHealthOfAState(t *testing.T) {
	h := newHealth("f", newRig().metrics, slog.New(slog.DiscardHandler))
	h.state("x", errNotReady)
	h.state("x", errNotReady)
	if err := h.err(); err == nil || testutil.ToFloat64(h.metrics.faults.WithLabelValues("f", "x")) != 1 {
		t.Errorf("%v, counted otherwise than once", err)
	}
	if h.state("x", nil); h.err() != nil {
		t.Errorf("still a fault: %v", h.err())
	}
}

// An agent whose clock was right but that has sent nothing for minutes does not hide that all other clocks are off.
func TestClocksOfThoseWhoSend(t *testing.T) {
	r := newRig()
	h := newHealth("f", r.metrics, slog.New(slog.DiscardHandler))
	c, checker := newClocks("f", r.metrics, h, map[clockcheck.Sender]clockcheck.State{}, false), clockcheck.New(clockcheck.Config{}, time.Second)
	send := func(agent string, at, offset int64) {
		b := &schema.CounterBatch{Agent: agent, Ports: []schema.PortName{{Device: agent, Port: "1"}}, PortIndex: []uint32{0}, TimeNanos: []int64{(at + offset) * second}}
		checker.Step(b, clockcheck.Times{SentNanos: (at + offset) * second, AppendedNanos: at * second})
		c.observe(checker, at*second)
	}
	const hour = 3600
	send("removed", 10_000, 0)
	send("a", 10_001, hour)
	send("b", 10_002, hour)
	if err := h.err(); err != nil {
		t.Errorf("one of three sends with a clock that is right: %v", err)
	}
	send("b", 10_399, hour)
	send("a", 10_400, hour)
	send("b", 10_461, hour) // it is looked at again each minute
	if err := h.err(); err == nil || !strings.Contains(err.Error(), "the clocks of all 2 agents are off") {
		t.Errorf("both that send have clocks that are off: %v", err)
	}
}

// Batches without readings say nothing about a clock, also when nothing else comes any more.
func TestClocksWhenOnlyEmptyBatchesCome(t *testing.T) {
	h := newHealth("f", newRig().metrics, slog.New(slog.DiscardHandler))
	c, checker := newClocks("f", h.metrics, h, map[clockcheck.Sender]clockcheck.State{}, false), clockcheck.New(clockcheck.Config{}, time.Second)
	send := func(at int64, readings ...int64) {
		checker.Step(&schema.CounterBatch{Agent: "a", PortIndex: make([]uint32, len(readings)), TimeNanos: readings}, clockcheck.Times{SentNanos: (at + 3600) * second, AppendedNanos: at * second})
		c.observe(checker, at*second)
	}
	send(10_000, 10_000*second)
	if h.err() == nil {
		t.Error("no fault, though the only clock is off")
	}
	if send(10_600); h.err() != nil {
		t.Errorf("a fault, though no agent sends readings: %v", h.err())
	}
}

// All clocks of a large fabric go wrong at once, and right again: what that costs grows with the number of agents, not with
// its square.
func TestManyClocksThatAreOff(t *testing.T) {
	const agents = 1 << 14
	h := newHealth("f", newRig().metrics, slog.New(slog.DiscardHandler))
	c, checker := newClocks("f", h.metrics, h, map[clockcheck.Sender]clockcheck.State{}, false), clockcheck.New(clockcheck.Config{}, time.Second)
	began := time.Now()
	for round, offset := range []int64{3600, 0, 0, 0, 3600} {
		for i := range agents {
			at := int64(10_000 + round)
			checker.Step(&schema.CounterBatch{Agent: fmt.Sprint("node", i), Ports: []schema.PortName{{Device: "d", Port: "1"}}, PortIndex: []uint32{0}, TimeNanos: []int64{at * second}},
				clockcheck.Times{SentNanos: (at + offset) * second, AppendedNanos: at * second})
			c.observe(checker, at*second)
		}
		if fault := h.err() != nil; fault != (offset != 0 || round == 1 || round == 2) {
			t.Errorf("round %d: %v", round, h.err())
		}
		if n := testutil.ToFloat64(h.metrics.clocksOff.WithLabelValues("f", "quarantined")); (n == agents) != (offset != 0 || round < 3) {
			t.Errorf("round %d: %v clocks are off", round, n)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A run that goes back meets the same clocks again: the log has each change once, also if a clock was set right and wrong
// again in the time that is analysed again.
func TestClocksAreLoggedOnceWhileGoingBack(t *testing.T) {
	const hour = 3600
	log, logged := &journal.Journal{}, map[clockcheck.Sender]clockcheck.State{}
	run := func(rewound bool, newest int64, offsets ...int64) {
		h := newHealth("f", newRig().metrics, slog.New(slog.NewTextHandler(log, nil)))
		c, checker := newClocks("f", h.metrics, h, logged, rewound), clockcheck.New(clockcheck.Config{}, time.Second)
		send := func(at, offset int64) {
			b := &schema.CounterBatch{Agent: "a", Ports: []schema.PortName{{Device: "a", Port: "1"}}, PortIndex: []uint32{0}, TimeNanos: []int64{(at + offset) * second}}
			checker.Step(b, clockcheck.Times{SentNanos: (at + offset) * second, AppendedNanos: at * second})
			c.observe(checker, at*second)
		}
		for i, offset := range offsets {
			send(10_000+int64(i), offset)
		}
		c.caughtUp(checker)
		send(10_100, newest)
	}
	lines := func(want int, what string) {
		t.Helper()
		if n := strings.Count(log.String(), "analysis: clock of an agent"); n != want {
			t.Errorf("%s: %d lines, want %d:\n%s", what, n, want, log)
		}
	}
	run(false, hour, hour, 0, 0, 0, hour)
	lines(3, "off, right and off again")
	run(true, hour, hour, 0, 0, 0, hour)
	lines(3, "the same again")
	run(true, 0, hour, 0, 0, 0)
	lines(4, "right in the end")
	run(true, 0, hour, 0, 0, 0)
	lines(4, "right as the log says")
}
