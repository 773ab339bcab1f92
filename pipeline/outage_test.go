package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/internal/test/racing"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

var errAway = errors.New("broker away")

// epoch2000 is when a synctest bubble begins.
const epoch2000 = 946_684_800 * second

// outageTrial runs agents, a broker that is away at times, and a pipeline that is
// stopped at times, and checks that every interval is whole in the end.
type outageTrial struct {
	agents  int
	outages [][2]time.Duration // from, to
	restart []time.Duration
	hold    time.Duration
	seed    uint64
	leases  bool // the ownership is lost in an outage and regained after it
}

func (o *outageTrial) run(t *testing.T) (rewinds float64) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(o.seed, 11))
		r, g, b := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range o.agents {
			a := &spooler{broker: b, graph: g, name: fmt.Sprintf("n%d", i), share: i, all: o.agents,
				backoff: time.Duration(rng.IntN(6000)) * time.Millisecond, perDrain: 1 + rng.IntN(20)}
			phase := time.Duration(rng.IntN(1000)) * time.Millisecond
			wg.Go(func() { time.Sleep(phase); a.run(ctx) })
		}
		began, owner := time.Now(), newTurn()
		owner.grant()
		for _, out := range o.outages {
			wg.Go(func() {
				time.Sleep(out[0])
				b.set(true)
				const lasts = 5 * time.Second
				lost := o.leases && out[1]-out[0] > lasts
				if lost {
					time.AfterFunc(lasts, owner.lose)
				}
				time.Sleep(out[1] - out[0])
				b.set(false)
				if lost {
					time.Sleep(time.Second)
					owner.grant()
				}
			})
		}
		const end = 240 * time.Second
		for _, stop := range append(slices.Clone(o.restart), end) {
			f := r.fabric(t, g, one(&logSource{broker: b}))
			f.cfg.Outages = analysis.Outages{Hold: o.hold, CompleteWithin: 10 * time.Minute}
			f.completion.withinNanos = int64(10 * time.Minute)
			if o.leases {
				f.deps.Owner = owner
			}
			runFor(t, time.Until(began.Add(stop)), f)
		}
		cancel()
		wg.Wait()
		checkWhole(t, g, r.store.stored("f"), began, 225)
		rewinds = testutil.ToFloat64(r.metrics.rewinds.WithLabelValues("f"))
	})
	return rewinds
}

// broken lists the intervals that differ from what the counters must give, apart from those at the beginning
// and the end, which may lack readings.
func broken(g *topology.Graph, stored []*schema.IntervalResult) (list []*schema.IntervalResult) {
	for _, res := range stored[min(5, len(stored)):max(min(5, len(stored)), len(stored)-10)] {
		s := res.Snapshot
		whole := len(s.Series) == 1 && s.Series[0].Count == g.NumLinks()
		for link := 0; whole && link < g.NumLinks(); link++ {
			want := float32(link % 50)
			got := s.Series[0].Values[link]
			whole = got > want-.01 && got < want+.01
		}
		if !whole {
			list = append(list, res)
		}
	}
	return list
}

// checkWhole compares every stored interval with what the counters must give.
func checkWhole(t *testing.T, g *topology.Graph, stored []*schema.IntervalResult, began time.Time, atLeast int) {
	t.Helper()
	if len(stored) == 0 {
		t.Fatal("no interval is stored")
	}
	if missing := gapsIn(startsOf(stored), stored[0].Snapshot.Interval.DurationNanos); len(stored) < atLeast || len(missing) > 0 {
		t.Errorf("%d intervals, missing %v", len(stored), missing)
	}
	lacking := broken(g, stored)
	for _, res := range lacking[:min(5, len(lacking))] {
		n := 0
		if len(res.Snapshot.Series) > 0 {
			n = res.Snapshot.Series[0].Count
		}
		t.Errorf("interval at %v (revision %d) has %d of %d links", time.Duration(res.Snapshot.Interval.StartNanos-began.UnixNano()), res.Revision, n, g.NumLinks())
	}
	if len(lacking) > 0 {
		t.Errorf("%d of %d intervals are not whole", len(lacking), len(stored))
	}
	for i := 1; i < len(stored); i++ {
		if stored[i].Revision < stored[i-1].Revision {
			t.Errorf("revision %d follows %d", stored[i].Revision, stored[i-1].Revision)
		}
	}
}

// One agent or all were silent for longer than intervals wait: their first readings count, even if the others
// have closed the interval by then or most are not back yet. Only polls of many readings have some within the
// interval in which the agent comes back.
func TestTheFirstReadingsAfterASilenceCount(t *testing.T) {
	const from, to = 60, 80 // seconds
	silence := func(since time.Duration) bool { return since > from*time.Second && since < to*time.Second }
	for name, c := range map[string]struct {
		perSecond int
		silent    func(agent int) bool
	}{
		"one agent, ten readings a poll": {10, func(agent int) bool { return agent == 3 }},
		"all agents":                     {1, func(int) bool { return true }},
		"all agents, ten readings":       {10, func(int) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, g, b := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{}
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				const agents = 4
				for i := range agents {
					a := &spooler{broker: b, graph: g, name: fmt.Sprintf("n%d", i), share: i, all: agents, perDrain: 20, perSecond: c.perSecond}
					if c.silent(i) {
						a.silent = silence
					}
					phase := time.Duration(1+i) * time.Millisecond
					wg.Go(func() { time.Sleep(phase); a.run(ctx) })
				}
				began := time.Now().UnixNano()
				f := r.fabric(t, g, one(&logSource{broker: b}))
				f.cfg.Outages = analysis.Outages{CompleteWithin: 10 * time.Minute}
				f.completion.withinNanos = int64(10 * time.Minute)
				runFor(t, 150*time.Second, f)
				cancel()
				wg.Wait()
				for _, res := range r.store.stored("f") {
					after := (res.Snapshot.Interval.StartNanos - began) / second
					if first := int64(to - min(1, c.perSecond-1)); after < first || after > 140 {
						continue
					}
					if s := res.Snapshot; len(s.Series) != 1 || s.Series[0].Count != g.NumLinks() {
						t.Errorf("second %d has not all links: %+v", after, s.Coverage(schema.CreditStall))
					}
				}
				if rewinds := testutil.ToFloat64(r.metrics.rewinds.WithLabelValues("f")); rewinds > 2 { // the very first polls are such a case too
					t.Errorf("%v rewinds, want two at most", rewinds)
				}
			})
		})
	}
}

// One agent sends late, and the log no longer has what is needed to analyse the intervals again: those stored
// without its readings stay as they are, and are not replaced by poorer ones. Of a log that has the end of it, the
// intervals at the end are completed.
func TestIntervalsAreNotReplacedByWhatTheLogHasNoLonger(t *testing.T) {
	for keep, completed := range map[time.Duration]bool{20 * time.Second: false, 75 * time.Second: true} {
		t.Run(keep.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const from, to, agents = 100, 130, 4 // seconds
				r, g, b := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{keep: keep}
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for i := range agents {
					a := &spooler{broker: b, graph: g, name: fmt.Sprintf("n%d", i), share: i, all: agents, perDrain: 20}
					if i == 3 {
						a.cut = func(since time.Duration) bool { return since > from*time.Second && since < to*time.Second }
					}
					wg.Go(func() { time.Sleep(time.Duration(1+i) * time.Millisecond); a.run(ctx) })
				}
				began := time.Now().UnixNano()
				f := r.fabric(t, g, one(&logSource{broker: b}))
				f.cfg.Outages = analysis.Outages{CompleteWithin: 10 * time.Minute}
				f.completion.withinNanos = int64(10 * time.Minute)
				runFor(t, 240*time.Second, f)
				cancel()
				wg.Wait()
				least := 0 // links of the agents that sent in time
				for id := range schema.LinkID(g.NumLinks()) {
					if int(g.Link(id).From)%agents != 3 {
						least++
					}
				}
				whole := 0
				for _, res := range r.store.stored("f") {
					after := (res.Snapshot.Interval.StartNanos - began) / second
					if after < 10 || after > 220 {
						continue
					}
					count := 0
					if len(res.Snapshot.Series) > 0 {
						count = res.Snapshot.Series[0].Count
					}
					late := after > from-5 && after < to+5
					if count < least || !late && count < g.NumLinks() {
						t.Errorf("second %d, revision %d, has %d links", after, res.Revision, count)
					}
					if late && count == g.NumLinks() && res.Revision > 0 {
						whole++
					}
				}
				if completed != (whole > 0) {
					t.Errorf("%d intervals were completed", whole)
				}
				if rewinds := testutil.ToFloat64(r.metrics.rewinds.WithLabelValues("f")); rewinds == 0 || rewinds > 3 {
					t.Errorf("%v rewinds, want one to three", rewinds)
				}
			})
		})
	}
}

// One agent's poll is delayed for longer than intervals wait, by less than an interval: it still counts for
// the interval in which it was taken; the one before is first closed without it.
func TestAPollThatIsHeldUpABitIsNotLost(t *testing.T) {
	for interval, heldUp := range map[time.Duration]time.Duration{time.Second: 2500 * time.Millisecond, time.Minute: 45 * time.Second} {
		t.Run(interval.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, g, b := newRig(), graphOf(t, "f", "torus:4x4x4"), &broker{}
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for i := range 4 {
					a := &spooler{broker: b, graph: g, name: fmt.Sprintf("n%d", i), share: i, all: 4, perDrain: 20, interval: interval}
					if i == 3 {
						a.cut = func(since time.Duration) bool {
							return since > 30*interval-time.Millisecond && since < 30*interval+heldUp
						}
					}
					wg.Go(func() { time.Sleep(time.Duration(1+i) * time.Millisecond); a.run(ctx) })
				}
				cfg := analysis.DefaultConfig()
				cfg.Window.Interval, cfg.Segment.MinLinks = interval, 4
				f, err := New(g, cfg, Deps{Log: slog.New(slog.DiscardHandler), Metrics: r.metrics, Sources: one(&logSource{broker: b}), Store: r.store})
				if err != nil {
					t.Fatal(err)
				}
				runFor(t, 50*interval, f)
				cancel()
				wg.Wait()
				stored := r.store.stored("f")
				if lacking := broken(g, stored); len(stored) < 45 || len(lacking) > 0 {
					t.Errorf("%d of %d intervals are not whole", len(lacking), len(stored))
				}
				if rewinds := testutil.ToFloat64(r.metrics.rewinds.WithLabelValues("f")); rewinds != 1 {
					t.Errorf("%v rewinds, want one", rewinds)
				}
			})
		})
	}
}

func seconds(from, to int) [2]time.Duration {
	return [2]time.Duration{time.Duration(from) * time.Second, time.Duration(to) * time.Second}
}

// Random outages, restarts and agents.
func TestRandomOutagesLoseNothing(t *testing.T) {
	seeds := uint64(12)
	if racing.On {
		seeds = 3
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 3))
		o := &outageTrial{agents: 1 + rng.IntN(20), seed: seed, hold: time.Duration(rng.IntN(2)) * 10 * time.Second}
		for at := 20 + rng.IntN(30); at < 120; at += 20 + rng.IntN(50) {
			to := min(at+1+rng.IntN(40), 130)
			o.outages = append(o.outages, seconds(at, to))
			at = to
		}
		for at := 20 + rng.IntN(60); at < 150 && rng.IntN(2) == 0; at += 10 + rng.IntN(60) {
			o.restart = append(o.restart, time.Duration(at)*time.Second)
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { t.Logf("%v rewinds; %+v", o.run(t), *o) })
	}
}

// While Kafka is away for up to a minute, agents spool. In the end no interval lacks
// anything, and none was analysed again more than once.
func TestAnOutageLosesNothing(t *testing.T) {
	for name, o := range map[string]*outageTrial{
		"no outage":                {agents: 8, hold: 30 * time.Second},
		"a second":                 {agents: 8, outages: [][2]time.Duration{seconds(60, 61)}},
		"46 s":                     {agents: 8, hold: 30 * time.Second, outages: [][2]time.Duration{seconds(60, 106)}},
		"66 s, one agent":          {agents: 1, hold: 30 * time.Second, outages: [][2]time.Duration{seconds(60, 126)}},
		"66 s, 64 agents":          {agents: 64, hold: 30 * time.Second, outages: [][2]time.Duration{seconds(60, 126)}},
		"twice":                    {agents: 8, hold: 30 * time.Second, outages: [][2]time.Duration{seconds(60, 90), seconds(95, 130)}},
		"46 s, leases":             {agents: 8, hold: 30 * time.Second, outages: [][2]time.Duration{seconds(60, 106)}, leases: true},
		"twice, leases":            {agents: 8, hold: 30 * time.Second, outages: [][2]time.Duration{seconds(60, 90), seconds(100, 130)}, leases: true},
		"46 s, leases, no hold":    {agents: 8, outages: [][2]time.Duration{seconds(60, 106)}, leases: true},
		"46 s, no hold":            {agents: 8, outages: [][2]time.Duration{seconds(60, 106)}},
		"46 s, restart meanwhile":  {agents: 8, outages: [][2]time.Duration{seconds(60, 106)}, restart: []time.Duration{80 * time.Second}},
		"46 s, restart afterwards": {agents: 8, outages: [][2]time.Duration{seconds(60, 106)}, restart: []time.Duration{108 * time.Second}},
	} {
		if racing.On && !o.leases && o.restart == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rewinds := o.run(t)
			t.Logf("%v rewinds", rewinds)
			if rewinds > 1 || o.leases && o.hold > 0 && rewinds > 0 {
				t.Errorf("%v rewinds", rewinds)
			}
		})
	}
}
