package pipeline

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/schema"
)

// live is a source of polls by the wall clock. Readings come until silentAt and
// Kafka answers until awayAt (0: always).
type live struct {
	polls
	silentAt, awayAt time.Duration
	aheadAt          time.Duration   // from when on its clock is an hour ahead; 0: never
	ownBehind        time.Duration   // by which the clock of this process is behind
	share            func(n int) int // percent of the ports that report; nil: all
}

func (l *live) Run(ctx context.Context, in *Intake) error {
	began := time.Now()
	upTo := int64(0)
	for n := 0; ctx.Err() == nil; n++ {
		since, now := time.Since(began), time.Now().UnixNano()
		away := l.awayAt > 0 && since >= l.awayAt
		if !away && (l.silentAt == 0 || since < l.silentAt) {
			b := poll(l.graph, n)
			for i := range b.TimeNanos {
				b.TimeNanos[i] = now
				if l.aheadAt > 0 && since >= l.aheadAt {
					b.TimeNanos[i] += time.Hour.Nanoseconds()
				}
			}
			if l.share != nil {
				clear(b.Columns[0].Values) // no High region, as that state would be known
				keep := len(b.Ports) * l.share(n) / 100
				b.PortIndex, b.TimeNanos, b.Columns[0].Values = b.PortIndex[:keep], b.TimeNanos[:keep], b.Columns[0].Values[:keep]
			}
			if err := in.CountersTimed(l, b, NoOffset, clockcheck.Times{AppendedNanos: now}); err != nil {
				return err
			}
		}
		if !away {
			upTo = now
		}
		if err := in.Advance(upTo-int64(l.ownBehind), now-int64(l.ownBehind)); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

// Whatever falls silent, the state becomes unknown for that reason; the last
// interval's state is not shown any longer.
func TestSilenceIsAState(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *live
		breaks time.Duration // the store
		want   schema.UnknownReason
		says   string
	}{
		{"agents", &live{silentAt: 30 * time.Second}, 0, schema.NoReadings, "no readings for 31s, 0 of 1 agents report"},
		{"Kafka", &live{awayAt: 30 * time.Second}, 0, schema.KafkaAway, "Kafka has not answered for"},
		{"store", &live{}, 30 * time.Second, schema.StoreRefuses, "the store has accepted no interval for"},
		{"clock", &live{aheadAt: 30 * time.Second}, 0, schema.NoInterval, "were dropped as clock_ahead"},
		{"never", &live{silentAt: 1}, 0, schema.NoReadings, "no readings for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
				c.source.graph = g
				store := &slowStore{memory: r.store}
				if c.breaks > 0 {
					time.AfterFunc(c.breaks, func() { store.stuck.Store(true) })
				}
				f := r.fabricOn(t, store, g, one(c.source))
				time.AfterFunc(25*time.Second, func() {
					if now := f.Status(); c.name != "never" && (now.Unknown != nil || f.Ready(t.Context()) != nil) {
						t.Errorf("while all is well: %+v, %v", now.Unknown, f.Ready(t.Context()))
					}
				})
				time.AfterFunc(60*time.Second, func() {
					now, err := f.Status(), f.Ready(t.Context())
					if now.Unknown == nil || now.Unknown.Reason != c.want || err == nil || !strings.Contains(err.Error(), c.says) {
						t.Errorf("state %+v, ready %v; want %s, %q", now.Unknown, err, c.want, c.says)
					}
					m := r.metrics
					if v := testutil.ToFloat64(m.network.WithLabelValues("f")); v != -1 {
						t.Errorf("network state %v", v)
					}
					if v := testutil.ToFloat64(m.unknown.WithLabelValues("f", string(c.want))); v != 1 {
						t.Errorf("unknown is %v", v)
					}
					if v := testutil.ToFloat64(m.coverage.WithLabelValues("f", "credit_stall")); v != 0 {
						t.Errorf("coverage %v", v)
					}
					if v := testutil.ToFloat64(m.congestion.WithLabelValues("f")); !math.IsNaN(v) {
						t.Errorf("congestion event %v", v)
					}
					if v := testutil.ToFloat64(m.intervalAge.WithLabelValues("f")); v < 15 {
						t.Errorf("the last interval is %v s old", v)
					}
					store.stuck.Store(false)
				})
				runFor(t, 61*time.Second, f)
			})
		})
	}
}

// If only a part of the ports reports, the state is unknown rather than calm.
func TestPartialCoverageIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		source := &live{polls: polls{graph: g}, share: func(n int) int {
			if n >= 30 && n < 45 {
				return 10
			}
			return 100
		}}
		f := r.fabric(t, g, one(source))
		at := func(second int, want schema.UnknownReason) {
			time.AfterFunc(time.Duration(second)*time.Second+time.Second/2, func() {
				got := schema.UnknownReason("")
				if now := f.Status(); now.Unknown != nil {
					got = now.Unknown.Reason
				}
				if got != want {
					t.Errorf("after %d s: %q, want %q", second, got, want)
				}
			})
		}
		at(25, "")
		at(40, schema.LowCoverage)
		at(58, "")
		runFor(t, 60*time.Second, f)
	})
}

// A recording that is read to its end ends with an interval that has data.
func TestFinishEndsWithData(t *testing.T) {
	g := graphOf(t, "f", "torus:4x4x4")
	r := newRig()
	f := r.fabric(t, g, one(&recording{polls{graph: g}}))
	if err := f.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := r.store.stored("f")
	last := all[len(all)-1]
	if isEmpty(last) || last.Network.Unknown != nil {
		t.Errorf("the last of %d intervals, %s, is empty: %+v", len(all), last.Snapshot.Interval, last.Network.Unknown)
	}
	if want := epoch + 19*second; last.Snapshot.Interval.StartNanos != want-second && last.Snapshot.Interval.StartNanos != want {
		t.Errorf("the last interval is %s", last.Snapshot.Interval)
	}
}

// recording is a source of twenty polls.
type recording struct{ polls }

func (s *recording) Run(_ context.Context, in *Intake) error {
	for n := range 20 {
		if err := in.Counters(s, poll(s.graph, n), NoOffset); err != nil {
			return err
		}
	}
	return in.Finish()
}

// Intervals that measure nothing say why readings were dropped, here because of all agents' clocks.
func TestNothingMeasuredSaysWhy(t *testing.T) {
	f := newFreshness(time.Second, 2*time.Second, 0)
	empty := &schema.IntervalResult{Snapshot: &schema.Snapshot{}, Network: schema.NetworkForecast{Unknown: &schema.Unknown{Reason: schema.NothingMeasured, Since: 7}}}
	for n := range uint64(4) {
		f.dropped = map[string]uint64{"reset": 5000, "clock_ahead": 192 * n}
		f.stored(empty, int64(n)*second)
	}
	why := f.status(4 * second).Unknown
	if want := "intervals are stored, but no link has a value of any stall metric; 192 readings were dropped as clock_ahead"; why.Detail != want || why.Since != 7 {
		t.Errorf("%+v, want %q", why, want)
	}
}

// The advice on allowed_lateness is for the longest delay in about the last minute.
func TestLatenessIsThatOfTheSlowest(t *testing.T) {
	f := newFreshness(2*time.Second, 2*time.Second, 0)
	f.last, f.storedNanos = schema.NetworkForecast{Unknown: &schema.Unknown{Reason: schema.NothingMeasured}}, second
	for _, c := range []struct {
		at, delay int64
		want      string
	}{{10, 4, "up to 4s"}, {12, 33, "up to 33s"}, {14, 5, "to 37s or more"}, {71, 6, "up to 33s"}, {73, 7, "up to 7s"}} {
		f.late(c.delay*second, c.at*second)
		if why := f.lateness(c.at * second); why == nil || !strings.Contains(why.Detail, c.want) {
			t.Errorf("at %d s: %+v, want %q", c.at, why, c.want)
		}
	}
}

// Nothing is read from Kafka while a backlog is stored or intervals to resume from are read: Kafka is not away then.
func TestABusyStoreIsNotKafkaAway(t *testing.T) {
	at := func(f freshness, seconds int64) schema.UnknownReason {
		if why := f.silence(seconds * second); why != nil {
			return why.Reason
		}
		return ""
	}
	stored := newFreshness(time.Second, 2*time.Second, 0)
	stored.read("a", second)
	stored.readUpToNanos, stored.storedNanos = second, 25*second
	if got := at(stored, 30); got != "" {
		t.Errorf("5 s after an interval was stored: %q", got)
	}
	if got := at(stored, 40); got != schema.KafkaAway {
		t.Errorf("15 s after an interval was stored: %q", got)
	}
	resuming := newFreshness(time.Second, 2*time.Second, 0)
	resuming.resumingNanos = second
	if got := at(resuming, 9); got != "" {
		t.Errorf("8 s after the resume began: %q", got)
	}
	if got := at(resuming, 30); got != schema.StoreRefuses {
		t.Errorf("29 s after the resume began: %q", got)
	}
	resuming.resumingNanos, resuming.resumedNanos = 0, 29*second
	if got := at(resuming, 30); got != schema.NoInterval {
		t.Errorf("1 s after it had what is stored: %q", got)
	}
}

func TestAgentsAreForgotten(t *testing.T) {
	f := newFreshness(time.Second, 0, 0)
	for n := range maxAgents + 10 {
		f.read(fmt.Sprint(n), second)
	}
	f.read("0", 100*second)
	if reporting, silent := f.agents(100 * second); reporting != 1 || silent != maxAgents-1 {
		t.Errorf("%d report, %d silent", reporting, silent)
	}
	if reporting, silent := f.agents(forgetAgent.Nanoseconds() + 50*second); reporting+silent != 1 {
		t.Errorf("a day later: %d report, %d silent", reporting, silent)
	}
}

// slowStore is a store that blocks while it is stuck, like one whose disk is full.
type slowStore struct {
	*memory
	stuck atomic.Bool
}

func (s *slowStore) Put(ctx context.Context, r *schema.IntervalResult) error {
	for s.stuck.Load() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return s.memory.Put(ctx, r)
}

// Readings arrive, but an hour late: a state says so, although intervals are stored; not in a replay, nor without readings.
func TestIntervalsThatAreOld(t *testing.T) {
	const now = 5 * int64(time.Hour)
	for want, change := range map[string]func(*freshness){
		"the newest interval ended 1h0m0s ago": func(*freshness) {},
		"":                                     func(f *freshness) { f.endNanos = now - 5*int64(time.Minute) },
		"the newest interval ended":            func(f *freshness) { f.readUpToNanos = 0 }, // a backlog at the start
		" ":                                    func(f *freshness) { f.live = false },
		"  ":                                   func(f *freshness) { f.readNanos = now - int64(time.Hour) },
	} {
		f := newFreshness(10*time.Second, 5*time.Second, 0)
		f.live, f.readNanos, f.readUpToNanos, f.endNanos = true, now, now, now-int64(time.Hour)
		change(&f)
		if got, want := f.old(now), strings.TrimSpace(want); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An analysis that is behind the readings in Kafka says by how much, and whether it catches up; the state of the network is
// unknown meanwhile, also for readiness. A short backlog, a replay and readings without a time of arrival are no such state.
func TestAnAnalysisThatIsBehind(t *testing.T) {
	const hour, step = int64(time.Hour), 2 * second
	behind := func(lag int64, pace float64) freshness {
		f := newFreshness(10*time.Second, 5*time.Second, 0)
		f.live, f.last = true, schema.NetworkForecast{}
		for at := int64(0); at <= int64(paceOver)+step; at += step { // lag is that at the end
			now := 5*hour + at
			f.read("a", now)
			f.backlog.took(5*hour+int64(paceOver)+step-lag-int64(float64(int64(paceOver)+step-at)*pace), now)
			f.storedNanos, f.endNanos = now, now-lag
		}
		return f
	}
	const now = 5*hour + int64(paceOver) + step
	for want, f := range map[string]freshness{
		"40m0s behind the readings in Kafka, and does not catch up: a minute is enough for 30 s of readings": behind(40*hour/60, 0.5),
		"40m0s behind the readings in Kafka, and has caught up in about 10m0s at the present pace":           behind(40*hour/60, 5),
		"": behind(90*second, 1),
	} {
		why := f.status(now).Unknown
		if want == "" {
			if why != nil {
				t.Errorf("a short backlog: %+v", why)
			}
			continue
		}
		if why == nil || why.Reason != schema.Behind || !strings.Contains(why.Detail, want) || f.old(now) != "" {
			t.Errorf("%+v and %q, want %q", why, f.old(now), want)
		}
		if f.live = false; f.status(now).Unknown != nil {
			t.Errorf("a replay: %+v", f.status(now).Unknown)
		}
	}
	f := behind(hour, 1)
	if f.backlog.took(now+second, now+second); f.behind(now+second) != nil {
		t.Error("behind, although the newest readings are analysed")
	}
	var unknown backlog
	if unknown.took(0, now); unknown.lag() != 0 {
		t.Errorf("readings without a time of arrival: %v behind", unknown.lag())
	}
}

// The clock of this process may be behind those of all agents: no reading is taken to be from the future.
func TestAClockOfThisProcessThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		f := r.fabric(t, g, one(&live{polls: polls{graph: g}, ownBehind: time.Hour}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
		empty := 0
		for _, s := range r.store.stored("f") {
			if s.Snapshot.Samples == 0 {
				empty++
			}
		}
		if n := len(r.store.stored("f")); n < 40 || empty > 0 {
			t.Errorf("%d intervals of a minute of polls are stored, %d of them empty", n, empty)
		}
	})
}
