// Package collectortest is the conformance suite of collectors.Collector, for every
// source of counters. A source's test supplies two devices and a way to break one.
package collectortest

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// Fixture is a collector with at least two devices, all healthy.
type Fixture struct {
	Collector collectors.Collector
	// Break makes the device named Broken fail from now on.
	Break  func(t *testing.T)
	Broken string
	// Absent is a counter that some port has but the port AbsentAt does not.
	Absent   string
	AbsentAt schema.PortName
}

// Interval is the poll interval of the suite.
const Interval = 100 * time.Millisecond

// Run checks that a collector meets the contract. newFixture is called once per case.
func Run(t *testing.T, newFixture func(t *testing.T) Fixture) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Fixture)
	}{
		{"lists devices in a stable order", testOrder},
		{"numbers and labels batches", testLabels},
		{"rows are sound", testRows},
		{"absent is not zero", testAbsent},
		{"a broken device costs its own rows only", testIsolation},
		{"stops on cancel", testCancel},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, newFixture(t)) })
	}
}

func testOrder(t *testing.T, f Fixture) {
	first, second := devices(t, f.Collector), devices(t, f.Collector)
	if !slices.Equal(first, second) {
		t.Errorf("listed %v, then %v", first, second)
	}
	if len(first) < 2 {
		t.Fatalf("devices %v: the suite needs two", first)
	}
	slices.Sort(first)
	if len(slices.Compact(first)) != len(second) {
		t.Errorf("devices %v: a name is duplicated", second)
	}
}

func devices(t *testing.T, c collectors.Collector) (names []string) {
	t.Helper()
	list, err := c.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		names = append(names, d.Name())
	}
	return names
}

func testLabels(t *testing.T, f Fixture) {
	batches := Poll(t, f.Collector, 2)
	for i, b := range batches {
		if b.Fabric != fabric || b.Agent != agentName || b.Source != f.Collector.Name() || b.IntervalNanos != int64(Interval) {
			t.Errorf("batch %d is labelled %q %q %q %d", i, b.Fabric, b.Agent, b.Source, b.IntervalNanos)
		}
		if b.Epoch != f.Collector.Epoch() {
			t.Errorf("batch %d has epoch %d, the collector %d", i, b.Epoch, f.Collector.Epoch())
		}
	}
}

func testRows(t *testing.T, f Fixture) {
	before := time.Now().UnixNano()
	for _, b := range Poll(t, f.Collector, 1) {
		checkBatch(t, b)
		for _, at := range b.TimeNanos {
			if at < before || at > time.Now().UnixNano() {
				t.Errorf("a row is dated %s, outside the poll", time.Unix(0, at))
			}
		}
	}
}

// checkBatch checks what schema.CounterBatch promises.
func checkBatch(t *testing.T, b *schema.CounterBatch) {
	t.Helper()
	ports := map[schema.PortName]bool{}
	for _, p := range b.Ports {
		if p.Device == "" || p.Port == "" || ports[p] {
			t.Errorf("port %q: without a name, or twice in the dictionary", p)
		}
		ports[p] = true
	}
	if len(b.PortIndex) != b.Rows() || b.Rows() == 0 {
		t.Fatalf("%d rows, %d port indices", b.Rows(), len(b.PortIndex))
	}
	last := map[uint32]int64{}
	for i, p := range b.PortIndex {
		if int(p) >= len(b.Ports) || b.TimeNanos[i] < last[p] {
			t.Errorf("row %d of port %d: no such port, or older than the row before", i, p)
		}
		last[p] = b.TimeNanos[i]
	}
	columns := map[string]bool{}
	for _, c := range b.Columns {
		if family, name, ok := strings.Cut(c.Name, "."); !ok || family == "" || name == "" || columns[c.Name] {
			t.Errorf("column %q: want family.name, once", c.Name)
		}
		columns[c.Name] = true
		if len(c.Values) != b.Rows() || c.Valid != nil && (len(c.Valid) != len(schema.NewBitmap(b.Rows())) || c.Valid.Count() == 0) {
			t.Errorf("column %s: %d values, %d words of validity for %d rows, or no reading at all", c.Name, len(c.Values), len(c.Valid), b.Rows())
		}
	}
}

func testAbsent(t *testing.T, f Fixture) {
	readings := Read(t, f.Collector)
	if _, read := readings[f.AbsentAt][f.Absent]; read {
		t.Errorf("%s of %v was read, though it is absent there", f.Absent, f.AbsentAt)
	}
	if len(readings[f.AbsentAt]) == 0 {
		t.Errorf("port %v has no readings at all", f.AbsentAt)
	}
	for _, counters := range readings {
		if _, read := counters[f.Absent]; read {
			return
		}
	}
	t.Errorf("no port has %s", f.Absent)
}

func testIsolation(t *testing.T, f Fixture) {
	whole := Read(t, f.Collector)
	f.Break(t)
	reg := prometheus.NewRegistry()
	rest := Readings(poll(t, f.Collector, 1, reg))
	if len(rest) == 0 || len(rest) >= len(whole) {
		t.Errorf("%d ports were read, %d after %s broke", len(whole), len(rest), f.Broken)
	}
	if n := metric.Sum(t, reg, "giverny_collector_device_errors_total"); n == 0 {
		t.Errorf("the failure of %s was not counted", f.Broken)
	}
}

func testCancel(t *testing.T, f Fixture) {
	leak := goleak.IgnoreCurrent()
	p := newPoller(t, f.Collector, discard{}, prometheus.NewRegistry())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	time.Sleep(Interval + Interval/2)
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run returned %v on cancel", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Run did not return on cancel")
	}
	goleak.VerifyNone(t, leak)
}

type discard struct{}

func (discard) Emit(context.Context, *schema.CounterBatch) error { return nil }

const (
	fabric    = "test"
	agentName = "agent"
)

// Poll polls a collector n times and returns the batches. No read is interrupted: ibsim exits when a client of it is
// killed, and the client's slot stays taken.
func Poll(t testing.TB, c collectors.Collector, n int) []*schema.CounterBatch {
	t.Helper()
	return poll(t, c, n, prometheus.NewRegistry())
}

func poll(t testing.TB, c collectors.Collector, n int, reg *prometheus.Registry, edits ...func(*collectors.Config)) []*schema.CounterBatch {
	t.Helper()
	recorder := &Recorder{}
	p := newPoller(t, c, recorder, reg, edits...)
	for i := range n {
		if i > 0 {
			time.Sleep(Interval)
		}
		p.Once(t.Context())
	}
	return recorder.Batches()
}

// PollHung polls a collector that has a hanging device, n times with short timeouts,
// and returns how many devices hung at the end.
func PollHung(t testing.TB, c collectors.Collector, n int) (batches []*schema.CounterBatch, stuck int) {
	t.Helper()
	reg := prometheus.NewRegistry()
	batches = poll(t, c, n, reg, func(cfg *collectors.Config) {
		cfg.DeviceTimeout, cfg.DrainTimeout = time.Second, time.Millisecond
	})
	return batches, int(metric.Sum(t, reg, "giverny_collector_devices_stuck"))
}

func newPoller(t testing.TB, c collectors.Collector, e collectors.Emitter, reg prometheus.Registerer, edits ...func(*collectors.Config)) *collectors.Poller {
	t.Helper()
	agent, err := collectors.NewAgent(agentName, e, slog.New(slog.NewTextHandler(io.Discard, nil)), reg)
	if err != nil {
		t.Fatal(err)
	}
	cfg := collectors.DefaultConfig()
	cfg.Fabric, cfg.Interval = fabric, Interval
	cfg.DeviceTimeout, cfg.PollTimeout = 30*time.Second, time.Minute // not to fail on a loaded machine
	for _, edit := range edits {
		edit(&cfg)
	}
	p, err := collectors.New(cfg, c, agent)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Recorder is an emitter that stores a copy of every batch.
type Recorder struct {
	lock    sync.Mutex
	batches []*schema.CounterBatch
}

// Emit stores a copy of b.
func (r *Recorder) Emit(_ context.Context, b *schema.CounterBatch) error {
	c := *b
	c.Ports, c.TimeNanos, c.PortIndex = slices.Clone(b.Ports), slices.Clone(b.TimeNanos), slices.Clone(b.PortIndex)
	c.Columns = slices.Clone(b.Columns)
	for i := range c.Columns {
		c.Columns[i].Values, c.Columns[i].Valid = slices.Clone(c.Columns[i].Values), slices.Clone(c.Columns[i].Valid)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.batches = append(r.batches, &c)
	return nil
}

// Batches are the batches emitted so far.
func (r *Recorder) Batches() []*schema.CounterBatch {
	r.lock.Lock()
	defer r.lock.Unlock()
	return slices.Clone(r.batches)
}

// Read polls a collector once and returns the valid values by port and counter. Devices
// that fail are skipped.
func Read(t testing.TB, c collectors.Collector) map[schema.PortName]map[string]uint64 {
	t.Helper()
	recorder := &Recorder{}
	if health := newPoller(t, c, recorder, prometheus.NewRegistry()).Once(t.Context()); health.Err != nil {
		t.Fatal(health.Err)
	}
	return Readings(recorder.Batches())
}

// Readings are the valid values of batches by port and counter; the last one counts.
func Readings(batches []*schema.CounterBatch) map[schema.PortName]map[string]uint64 {
	readings := map[schema.PortName]map[string]uint64{}
	for _, b := range batches {
		for row, p := range b.PortIndex {
			counters := readings[b.Ports[p]]
			if counters == nil {
				counters = map[string]uint64{}
				readings[b.Ports[p]] = counters
			}
			for _, c := range b.Columns {
				if c.Valid == nil || c.Valid.Has(row) {
					counters[c.Name] = c.Values[row]
				}
			}
		}
	}
	return readings
}
