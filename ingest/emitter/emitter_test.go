package emitter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
)

// topic keeps what is produced, except what fails.
type topic struct {
	mu      sync.Mutex
	tries   int
	fail    func(try int) error // may be nil
	records []kafka.Record
}

func (t *topic) Produce(_ context.Context, r kafka.Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tries++
	if t.fail != nil {
		if err := t.fail(t.tries); err != nil {
			return err
		}
	}
	r.Payload = slices.Clone(r.Payload)
	t.records = append(t.records, r)
	return nil
}

// batches returns the batches of counters in the topic, in order.
func (t *topic) batches(tb testing.TB) []schema.CounterBatch {
	tb.Helper()
	var all []schema.CounterBatch
	for _, r := range t.records {
		var b schema.CounterBatch
		if err := new(envelope.Decoder).Counters(r.Payload, &b); err != nil {
			tb.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

func (t *topic) numbers(tb testing.TB) (numbers []uint64) {
	for _, b := range t.batches(tb) {
		numbers = append(numbers, b.Sequence)
	}
	return numbers
}

// batch has rows of incompressible values, so that large batches need several parts.
func batch(source, agent string, rows int) *schema.CounterBatch {
	b := &schema.CounterBatch{Fabric: "f", Source: source, Agent: agent, Ports: []schema.PortName{{Device: "d", Port: "1"}}}
	column := schema.CounterColumn{Name: "ib.port_xmit_data_64"}
	x := uint64(88172645463325252)
	for i := range rows {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b.TimeNanos, b.PortIndex = append(b.TimeNanos, int64(i)), append(b.PortIndex, 0)
		column.Values = append(column.Values, x)
	}
	b.Columns = []schema.CounterColumn{column}
	return b
}

var one = map[string]int{"f": 3}

func TestNumbersRiseByOne(t *testing.T) {
	var out topic
	e := emitter.New(&out, one)
	for _, b := range []*schema.CounterBatch{
		batch("ibsysfs", "a", 1), batch("ibsysfs", "b", 1), batch("ethtool", "a", 1), batch("ibsysfs", "a", 130_000), batch("ibsysfs", "a", 1),
	} {
		if err := e.Emit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, b := range out.batches(t) {
		got = append(got, fmt.Sprint(b.Source, b.Agent, b.Sequence))
	}
	parts := len(out.records) - 4
	want := []string{"ibsysfsa1", "ibsysfsb1", "ethtoola1"}
	for i := range parts + 1 {
		want = append(want, fmt.Sprint("ibsysfsa", 2+i))
	}
	if !slices.Equal(got, want) || parts < 3 {
		t.Errorf("numbers %v, want %v", got, want)
	}
	for _, r := range out.records {
		if r.Fabric != "f" || r.Partition != 3 || r.Kind != envelope.Counters {
			t.Errorf("a record of fabric %s, partition %d, kind %s", r.Fabric, r.Partition, r.Kind)
		}
	}
}

// A loss leaves a gap in the numbers, and counting gaps counts exactly the losses.
func TestWhatIsLostLeavesOneGap(t *testing.T) {
	refused := &kafka.RefusedError{Reason: "refused", Err: errors.New("no")}
	broken := errors.New("disk full")
	for _, c := range []struct {
		name    string
		fail    map[int]error // by try
		rows    int
		lost    []int  // numbers
		missing uint64 // batches, by their numbers
	}{
		{"nothing", nil, 1, nil, 0},
		{"a batch refused in the middle", map[int]error{3: refused}, 1, []int{3}, 1},
		{"a batch that the disk fails", map[int]error{3: broken}, 1, []int{3}, 1},
		{"two batches in a row", map[int]error{2: broken, 3: refused}, 1, []int{2, 3}, 2},
		{"a part refused in the middle of a batch", map[int]error{2: refused}, 130_000, []int{2}, 1},
		{"the rest of a batch", map[int]error{2: broken}, 130_000, []int{2}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := topic{fail: func(try int) error { return c.fail[try] }}
			e := emitter.New(&out, one)
			var faults int
			for range 4 {
				if err := e.Emit(t.Context(), batch("s", "a", c.rows)); err != nil {
					faults++
				}
			}
			var whole topic
			if err := emitter.New(&whole, one).Emit(t.Context(), batch("s", "a", c.rows)); err != nil {
				t.Fatal(err)
			}
			tries := 4 * whole.tries
			for try, err := range c.fail {
				if err == broken && c.rows > 1 {
					tries -= whole.tries - try // the rest of the first batch
				}
			}
			if out.tries != tries || whole.tries < 3 && c.rows > 1 {
				t.Errorf("%d parts tried, want %d", out.tries, tries)
			}
			var want []uint64
			for n := 1; n <= out.tries; n++ {
				if !slices.Contains(c.lost, n) {
					want = append(want, uint64(n))
				}
			}
			if got := out.numbers(t); !slices.Equal(got, want) {
				t.Errorf("numbers %v, want %v", got, want)
			}
			if faults != len(c.lost) {
				t.Errorf("%d errors, want %d", faults, len(c.lost))
			}
			var sequences window.Sequences
			var missing uint64
			for _, b := range out.batches(t) {
				missing += sequences.Add(&b).Missing
			}
			if missing != c.missing {
				t.Errorf("%d batches counted as missing, want %d", missing, c.missing)
			}
		})
	}
}

// A batch that cannot be encoded is lost like any other.
func TestBatchThatCannotBeEncodedLeavesAGap(t *testing.T) {
	var out topic
	e := emitter.New(&out, one)
	bad := batch("s", "a", 1)
	bad.Columns[0].Values = nil
	for _, b := range []*schema.CounterBatch{batch("s", "a", 1), bad, batch("s", "a", 1)} {
		if err := e.Emit(t.Context(), b); (err != nil) != (b == bad) {
			t.Errorf("emit: %v", err)
		}
	}
	if got := out.numbers(t); !slices.Equal(got, []uint64{1, 3}) {
		t.Errorf("numbers %v, want 1 and 3", got)
	}
}

func TestUnknownFabricIsRefused(t *testing.T) {
	var out topic
	e := emitter.New(&out, map[string]int{"g": 0})
	err := e.Emit(t.Context(), batch("s", "a", 1))
	if err == nil || !strings.Contains(err.Error(), `"f" is not configured`) {
		t.Errorf("a batch of an unknown fabric: %v", err)
	}
	if err := e.EmitJobs(t.Context(), "f", []schema.Job{{Fabric: "f", ID: "1"}}); err == nil {
		t.Error("a job of an unknown fabric was sent")
	}
	if err := e.EmitJobs(t.Context(), "g", []schema.Job{{Fabric: "f", ID: "1"}}); err == nil {
		t.Error("a job of another fabric was sent")
	}
}

func TestRowsOfEveryKind(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		kind   envelope.Kind
		emit   func(e *emitter.Emitter) error
		decode func(d *envelope.Decoder, payload []byte) (any, error)
		want   any
	}{
		{envelope.Events, func(e *emitter.Emitter) error {
			return e.EmitEvents(ctx, "f", []schema.Event{{Fabric: "f", Kind: schema.JobStarted}})
		}, func(d *envelope.Decoder, p []byte) (any, error) { return d.Events(p, nil) },
			[]schema.Event{{Fabric: "f", Kind: schema.JobStarted}}},
		{envelope.Jobs, func(e *emitter.Emitter) error { return e.EmitJobs(ctx, "f", []schema.Job{{Fabric: "f", ID: "1"}}) },
			func(d *envelope.Decoder, p []byte) (any, error) { return d.Jobs(p, nil) }, []schema.Job{{Fabric: "f", ID: "1"}}},
		{envelope.Failures, func(e *emitter.Emitter) error {
			return e.EmitFailures(ctx, "f", []schema.Failure{{Fabric: "f", Kind: schema.NodeFailed}})
		}, func(d *envelope.Decoder, p []byte) (any, error) { return d.Failures(p, nil) },
			[]schema.Failure{{Fabric: "f", Kind: schema.NodeFailed}}},
		{envelope.Traffic, func(e *emitter.Emitter) error {
			return e.EmitTraffic(ctx, "f", []schema.JobTraffic{{Fabric: "f", JobID: "1", Read: new(2.0)}})
		}, func(d *envelope.Decoder, p []byte) (any, error) { return d.Traffic(p, nil) },
			[]schema.JobTraffic{{Fabric: "f", JobID: "1", Read: new(2.0)}}},
		{envelope.Diagnoses, func(e *emitter.Emitter) error {
			return e.EmitDiagnoses(ctx, "f", []schema.Diagnosis{{Fabric: "f", Metric: schema.CreditStall, Cause: schema.Cause{Class: schema.CauseUnknown}}})
		}, func(d *envelope.Decoder, p []byte) (any, error) { return d.Diagnoses(p, nil) },
			[]schema.Diagnosis{{Fabric: "f", Metric: schema.CreditStall, Cause: schema.Cause{Class: schema.CauseUnknown}}}},
	} {
		broken := errors.New("disk full")
		failing := topic{fail: func(int) error { return broken }}
		if err := c.emit(emitter.New(&failing, one)); !errors.Is(err, broken) {
			t.Errorf("%s that are not sent: error %v", c.kind, err)
		}
		var out topic
		if err := c.emit(emitter.New(&out, one)); err != nil {
			t.Fatalf("%s: %v", c.kind, err)
		}
		if len(out.records) != 1 || out.records[0].Kind != c.kind || out.records[0].Partition != 3 {
			t.Fatalf("%s: records %+v", c.kind, out.records)
		}
		got, err := c.decode(new(envelope.Decoder), out.records[0].Payload)
		if err != nil {
			t.Fatalf("%s: %v", c.kind, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s came out changed (-want +got):\n%s", c.kind, diff)
		}
	}
}

// longJobs are too long for one record.
func longJobs() (jobs []schema.Job) {
	for i := range 24 {
		jobs = append(jobs, schema.Job{Fabric: "f", ID: fmt.Sprint(i), Nodes: longNames(4000)})
	}
	return jobs
}

// longNames are incompressible.
func longNames(n int) (names []string) {
	for range n {
		names = append(names, fmt.Sprintf("%x", rand.Uint64()))
	}
	return names
}

// Rows that are too long for one record take several.
func TestLongRowsAreHalved(t *testing.T) {
	jobs := longJobs()
	var out topic
	if err := emitter.New(&out, one).EmitJobs(t.Context(), "f", jobs); err != nil {
		t.Fatal(err)
	}
	var got []schema.Job
	for _, r := range out.records {
		if len(r.Payload) > envelope.MaxKafkaPayload {
			t.Errorf("a payload of %d bytes", len(r.Payload))
		}
		var err error
		if got, err = new(envelope.Decoder).Jobs(r.Payload, got); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(jobs, got); diff != "" || len(out.records) < 4 {
		t.Errorf("%d records; jobs changed:\n%s", len(out.records), diff)
	}
}

// An error in any part of long rows ends the emission: what follows is not sent, and the caller knows. No rows are
// no record.
func TestErrorsOfLongRows(t *testing.T) {
	broken := errors.New("disk full")
	for fail := 1; ; fail++ {
		out := topic{fail: func(try int) error {
			if try == fail {
				return broken
			}
			return nil
		}}
		err := emitter.New(&out, one).EmitJobs(t.Context(), "f", longJobs())
		if out.tries < fail {
			if err != nil || fail < 4 {
				t.Errorf("%d parts, error %v", out.tries, err)
			}
			break
		}
		if !errors.Is(err, broken) || out.tries != fail {
			t.Errorf("part %d fails: error %v, %d tried", fail, err, out.tries)
		}
	}
	bad := []schema.Diagnosis{{Fabric: "f", Cause: schema.Cause{Confidence: math.NaN()}}}
	var out topic
	for _, rows := range [][]schema.Diagnosis{bad, append(bad, bad...)} {
		if err := emitter.New(&out, one).EmitDiagnoses(t.Context(), "f", rows); err == nil {
			t.Errorf("%d rows that cannot be encoded: no error", len(rows))
		}
	}
	job := func(names int) schema.Job { return schema.Job{Fabric: "f", ID: "1", Nodes: longNames(names)} }
	for name, c := range map[string]struct {
		jobs    []schema.Job
		records int
		fail    bool
	}{
		"none":                       {nil, 0, false},
		"two in one record":          {[]schema.Job{job(1), job(1)}, 1, false},
		"one that is too long alone": {[]schema.Job{job(100_000)}, 0, true},
	} {
		out.tries = 0
		if err := emitter.New(&out, one).EmitJobs(t.Context(), "f", c.jobs); (err != nil) != c.fail || out.tries != c.records {
			t.Errorf("%s: error %v, %d records", name, err, out.tries)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	var out topic
	e := emitter.New(&out, one)
	var wg sync.WaitGroup
	for _, source := range []string{"ibsysfs", "ethtool", "ibsysfs"} {
		wg.Go(func() {
			for range 50 {
				if err := e.Emit(t.Context(), batch(source, "a", 100)); err != nil {
					t.Error(err)
				}
				if err := e.EmitEvents(t.Context(), "f", []schema.Event{{Fabric: "f", Kind: schema.Story}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	out.records = slices.DeleteFunc(out.records, func(r kafka.Record) bool { return r.Kind != envelope.Counters })
	next := map[string]uint64{}
	for _, b := range out.batches(t) {
		if next[b.Source]++; b.Sequence != next[b.Source] {
			t.Fatalf("batch %d of %s comes as number %d", b.Sequence, b.Source, next[b.Source])
		}
	}
	if next["ibsysfs"] != 100 || next["ethtool"] != 50 {
		t.Errorf("batches %v", next)
	}
}
