package collectors_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// fake is a collector with scripted devices.
type fake struct {
	devices []collectors.Device
	err     error
	listing func()
}

func (f *fake) Name() string  { return "fake" }
func (f *fake) Epoch() uint64 { return 7 }
func (f *fake) Devices(context.Context) ([]collectors.Device, error) {
	if f.listing != nil {
		f.listing()
	}
	return f.devices, f.err
}

type device struct {
	name string
	read func(ctx context.Context, r *collectors.Reading) error
}

func (d device) Name() string                                          { return d.name }
func (d device) Read(ctx context.Context, r *collectors.Reading) error { return d.read(ctx, r) }

// steady returns one row immediately.
func steady(name string) device {
	return device{name, func(_ context.Context, r *collectors.Reading) error {
		r.Row("set", schema.PortName{Device: name, Port: "1"})
		r.Put("ib.port_xmit_data", 1)
		return nil
	}}
}

type rig struct {
	poller   *collectors.Poller
	recorder *collectortest.Recorder
	reg      *prometheus.Registry
	log      *bytes.Buffer
}

func newRig(t *testing.T, c collectors.Collector, edit func(*collectors.Config)) *rig {
	t.Helper()
	r := &rig{recorder: &collectortest.Recorder{}, reg: prometheus.NewRegistry(), log: &bytes.Buffer{}}
	r.poller = r.with(t, c, r.recorder, edit)
	return r
}

func (r *rig) with(t *testing.T, c collectors.Collector, e collectors.Emitter, edit func(*collectors.Config)) *collectors.Poller {
	t.Helper()
	agent, err := collectors.NewAgent("agent", e, slog.New(slog.NewTextHandler(r.log, nil)), r.reg)
	if err != nil {
		t.Fatal(err)
	}
	cfg := everySecond("rail0")
	if edit != nil {
		edit(&cfg)
	}
	p, err := collectors.New(cfg, c, agent)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run polls for d of the bubble's time.
func (r *rig) run(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if err := r.poller.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	t.Cleanup(func() { time.Sleep(time.Minute) }) // in fake time: the reads that hang must end within the test
}

func (r *rig) metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	return metric.Sum(t, r.reg, "giverny_collector_"+name, labels...)
}

func TestPollsAtBoundariesWithoutDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delay time.Duration
		slow := device{"slow", func(_ context.Context, r *collectors.Reading) error {
			r.Row("set", schema.PortName{Device: "slow", Port: "1"})
			r.Put("a.b", 1)
			delay += 37 * time.Millisecond // every poll ends later
			time.Sleep(delay % (400 * time.Millisecond))
			return nil
		}}
		time.Sleep(123456789 * time.Nanosecond) // start at any time
		r := newRig(t, &fake{devices: []collectors.Device{slow}}, nil)
		r.run(t, 100*time.Second)
		batches := r.recorder.Batches()
		if len(batches) != 100 {
			t.Errorf("%d batches in 100 s", len(batches))
		}
		for i, b := range batches {
			if at := b.TimeNanos[0]; at%int64(time.Second) != 0 || i > 0 && at-batches[i-1].TimeNanos[0] != int64(time.Second) {
				t.Fatalf("batch %d was read at %v", i, time.Unix(0, at).UTC())
			}
			if b.Epoch != 7 || b.Agent != "agent" || b.Fabric != "rail0" {
				t.Fatalf("batch %d: %+v", i, b)
			}
		}
	})
}

func TestOverlappingPollsAreSkippedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := 0
		slow := device{"slow", func(_ context.Context, r *collectors.Reading) error {
			running++
			if running > 1 {
				t.Error("two polls at a time")
			}
			time.Sleep(2500 * time.Millisecond)
			running--
			return nil
		}}
		r := newRig(t, &fake{devices: []collectors.Device{slow}}, func(c *collectors.Config) {
			c.DeviceTimeout, c.PollTimeout = 3*time.Second, 3*time.Second
		})
		r.run(t, 9*time.Second+time.Millisecond) // polls at 1, 4 and 7; the last one ends at 9.5 s
		if polls, skipped := r.metric(t, "polls_total"), r.metric(t, "polls_skipped_total"); polls != 3 || skipped != 4 {
			t.Errorf("%v polls, %v skipped; want 3 and 4", polls, skipped)
		}
		if h := r.poller.Health(); h.SkippedPolls != 4 {
			t.Errorf("health says %d skipped", h.SkippedPolls)
		}
	})
}

// If all devices fail, there is one log line for the first failed sweep, and two for the recovery with the first readings.
func TestFailingDevicesAreOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		read := func(ctx context.Context, r *collectors.Reading) error {
			if time.Since(began) < 20*time.Second {
				return errors.New("no answer")
			}
			return steady("switch").read(ctx, r)
		}
		var devices []collectors.Device
		for i := range 76 {
			devices = append(devices, device{fmt.Sprint("switch", i), read})
		}
		r := newRig(t, &fake{devices: devices}, func(c *collectors.Config) { c.Interval = 2 * time.Second })
		r.run(t, 30*time.Second)
		log := r.log.String()
		if strings.Count(log, "\n") != 3 || !strings.Contains(log, "collectors: reading") || !strings.Contains(log, "devices=76 examples=\"[switch0 switch1 switch10]\" error=") || !strings.Contains(log, "failed_polls=") {
			t.Errorf("want a line for 76 devices, one for their recovery, and one for the first readings:\n%s", log)
		}
	})
}

type refusing struct{}

func (refusing) Emit(context.Context, *schema.CounterBatch) error { return errors.New("broker away") }

func TestRowsThatCannotBeEmittedAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &fake{}, nil)
		r.reg = prometheus.NewRegistry()
		r.poller = r.with(t, &fake{devices: []collectors.Device{steady("a"), steady("b")}}, refusing{}, nil)
		r.run(t, 1500*time.Millisecond)
		if lost := r.metric(t, "rows_dropped_total", "emit"); lost != 2 {
			t.Errorf("%v rows counted as lost, want 2", lost)
		}
		if r.poller.Health().Err == nil {
			t.Error("health does not say so")
		}
	})
}

func TestOnce(t *testing.T) {
	bad := device{"bad", func(context.Context, *collectors.Reading) error { return errors.New("input/output error") }}
	r := newRig(t, &fake{devices: []collectors.Device{bad, steady("a")}}, nil)
	h := r.poller.Once(t.Context())
	if why, failing := h.Failing["bad"]; h.Err != nil || !failing || why != collectors.Failed || h.Rows != 1 || len(r.recorder.Batches()) != 1 {
		t.Errorf("%+v, %d batches", h, len(r.recorder.Batches()))
	}
}

// Two pollers of one agent share the emitter, which accepts one batch at a time.
func TestPollersOfAnAgentEmitInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		emitter := &oneAtATime{t: t}
		agent, err := collectors.NewAgent("agent", emitter, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for _, fabric := range []string{"rail0", "rail1"} {
			p, err := collectors.New(everySecond(fabric), &fake{devices: []collectors.Device{steady("a")}}, agent)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() { p.Run(ctx) })
		}
		wg.Wait()
		if emitter.emitted != 10 {
			t.Errorf("%d batches, want 10", emitter.emitted)
		}
	})
}

// oneAtATime is an emitter that is slow with each batch.
type oneAtATime struct {
	t       *testing.T
	busy    atomic.Bool
	emitted int
}

func (e *oneAtATime) Emit(context.Context, *schema.CounterBatch) error {
	if !e.busy.CompareAndSwap(false, true) {
		e.t.Error("two batches at a time")
	}
	for range 100 {
		runtime.Gosched() // a sleep would stop the bubble's clock: a goroutine that waits for a mutex is not idle
	}
	e.emitted++
	e.busy.Store(false)
	return nil
}

func everySecond(fabric string) collectors.Config {
	cfg := collectors.DefaultConfig()
	cfg.Fabric, cfg.Interval, cfg.DeviceTimeout = fabric, time.Second, 500*time.Millisecond
	return cfg
}

// Every reason is a series from the start, at zero.
func TestMetricsArePresentFromTheStart(t *testing.T) {
	r := newRig(t, &fake{}, nil)
	for reason := range collectors.NumReasons {
		for _, name := range []string{"device_errors_total", "counters_unreadable_total", "inventory_errors_total"} {
			if n := r.metric(t, name, reason.String(), "fake", "rail0"); n != 0 {
				t.Errorf("%s{reason=%q} = %v", name, reason, n)
			}
		}
	}
}

// A counter that a device has and does not give is counted at each poll and named once.
func TestUnreadableCountersAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &fake{devices: []collectors.Device{device{"mlx5_0", func(_ context.Context, r *collectors.Reading) error {
			r.Row("set", schema.PortName{Device: "mlx5_0", Port: "1"})
			r.Put("a.b", 0)
			r.Unreadable(fmt.Errorf("port_xmit_wait holds \"-5\", not a number: %w", collectors.ErrMalformed))
			r.Unreadable(fmt.Errorf("port_rcv_data holds \"NaN\", not a number: %w", collectors.ErrMalformed))
			return nil
		}}}}, nil)
		r.run(t, 5500*time.Millisecond)
		if n := r.metric(t, "counters_unreadable_total", "malformed", "fake", "rail0"); n < 8 {
			t.Errorf("%v counted, want 2 of each poll", n)
		}
		if n := strings.Count(r.log.String(), "counters cannot be read"); n != 1 || !strings.Contains(r.log.String(), "port_xmit_wait holds") || !strings.Contains(r.log.String(), "counters=2") {
			t.Errorf("named %d times:\n%s", n, r.log)
		}
	})
}

func TestConfigNamesEveryFault(t *testing.T) {
	agent, err := collectors.NewAgent("agent", refusing{}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	_, err = collectors.New(collectors.Config{}, &fake{}, agent)
	for _, key := range []string{"fabric", "interval", "device_timeout", "workers", "max_stuck", "drain_timeout"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
	if cfg := everySecond("f"); cfg.Validate() != nil {
		t.Errorf("the default is refused: %v", cfg.Validate())
	}
	if _, err := collectors.NewAgent("", refusing{}, nil, prometheus.NewRegistry()); err == nil {
		t.Error("an agent without a name was accepted")
	}
}

func TestConformance(t *testing.T) {
	collectortest.Run(t, func(t *testing.T) collectortest.Fixture {
		broken := false
		fragile := device{"fragile", func(_ context.Context, r *collectors.Reading) error {
			if broken {
				return errors.New("input/output error")
			}
			r.Row("set", schema.PortName{Device: "fragile", Port: "1"})
			r.Put("a.b", 0)
			return nil
		}}
		return collectortest.Fixture{
			Collector: &fake{devices: []collectors.Device{steady("a"), fragile}},
			Break:     func(*testing.T) { broken = true },
			Broken:    "fragile",
			Absent:    "a.b",
			AbsentAt:  schema.PortName{Device: "a", Port: "1"},
		}
	})
}

// A test's poll ends by itself, however long its reads take, and no further one begins.
func TestPollCutsNoReadShort(t *testing.T) {
	begun, cut := 0, 0
	slow := device{"slow", func(ctx context.Context, _ *collectors.Reading) error {
		begun++
		boundary := time.Now().Truncate(collectortest.Interval).Add(collectortest.Interval) // when Run would begin another poll
		select {
		case <-ctx.Done():
			cut++
		case <-time.After(time.Until(boundary) - time.Millisecond):
		}
		return nil
	}}
	const polls = 8
	for range polls {
		collectortest.Poll(t, &fake{devices: []collectors.Device{slow}}, 1)
	}
	if begun != polls || cut != 0 {
		t.Errorf("%d reads began and %d were cut short, want %d and 0", begun, cut, polls)
	}
}

// A source that has nothing to read is in the log once, and in its state until it has.
func TestASourceWithNothingToRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fake{}
		r := newRig(t, source, nil)
		r.run(t, 5500*time.Millisecond) // this run and the next end between two polls
		if state := r.poller.State(); state != "nothing read in the last poll: 0 devices listed, 0 failed" {
			t.Errorf("state %q", state)
		}
		source.devices = []collectors.Device{steady("a")}
		r.run(t, 5*time.Second)
		if state := r.poller.State(); state != "" {
			t.Errorf("state %q of a source that is read", state)
		}
		for _, says := range []string{"collectors: nothing to read", "collectors: reading"} {
			if n := strings.Count(r.log.String(), says); n != 1 {
				t.Errorf("%q is in the log %d times:\n%s", says, n, r.log)
			}
		}
	})
}
