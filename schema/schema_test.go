package schema_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
)

func TestSeverityOf(t *testing.T) {
	for _, c := range []struct {
		mean float64
		want schema.Severity
	}{{0, schema.Negligible}, {4.999, schema.Negligible}, {5, schema.Low}, {14.99, schema.Low}, {15, schema.Medium},
		{24.99, schema.Medium}, {25, schema.High}, {100, schema.High}} {
		if got := schema.SeverityOf(c.mean); got != c.want {
			t.Errorf("SeverityOf(%v) = %v, want %v", c.mean, got, c.want)
		}
	}
}

func TestMetricNamesRoundTrip(t *testing.T) {
	for m := schema.Metric(1); int(m) < schema.NumMetrics; m++ {
		got, err := schema.ParseMetric(m.String())
		if err != nil || got != m {
			t.Errorf("ParseMetric(%q) = %v, %v", m.String(), got, err)
		}
	}
	if _, err := schema.ParseMetric("nonsense"); err == nil {
		t.Error("an unknown metric must be an error")
	}
	if name := schema.NoMetric.String(); name != "" { // queries for all metrics use it
		t.Errorf("NoMetric is called %q", name)
	}
	if schema.PFCPauseRx(3).String() != "pfc_pause_rx_prio3" || schema.PFCPauseTx(7).String() != "pfc_pause_tx_prio7" {
		t.Error("PFC metrics are misnumbered")
	}
}

// Every counter that becomes a metric must have a side and a unit that can be converted
// to the metric's.
func TestCounterTableIsConsistent(t *testing.T) {
	durations := map[schema.Unit]bool{schema.Ticks: true, schema.Nanoseconds: true, schema.Microseconds: true, schema.Cycles1GHz: true}
	percents := map[schema.Unit]bool{schema.Percent: true, schema.PercentE6: true}
	for _, c := range schema.Counters() {
		if !strings.Contains(c.Name, ".") || c.Help == "" {
			t.Errorf("%s: needs a family and a help text", c.Name)
		}
		if (c.Kind == schema.Counter) != (c.Width > 0) {
			t.Errorf("%s: counters have a width, gauges have none", c.Name)
		}
		for end, unit := range map[string]schema.Unit{"_picoseconds": schema.Picoseconds, "_ns": schema.Nanoseconds, "_us": schema.Microseconds, "_bytes": schema.Bytes} {
			if strings.HasSuffix(c.Name, end) && c.Unit != unit {
				t.Errorf("%s: its name says %s, its unit %s", c.Name, unit, c.Unit)
			}
		}
		if c.Metric == schema.NoMetric {
			continue
		}
		if c.Side == schema.NoSide {
			t.Errorf("%s: becomes %s of which link?", c.Name, c.Metric)
		}
		ok := false
		switch c.Metric.Unit() {
		case schema.Percent:
			ok = c.Kind == schema.Counter && durations[c.Unit] || c.Kind != schema.Counter && percents[c.Unit]
		case schema.BytesPerSecond:
			ok = c.Unit == schema.Bytes || c.Unit == schema.Words4
		case schema.PacketsPerSecond:
			ok = c.Unit == schema.Packets
		}
		if !ok {
			t.Errorf("%s: %s cannot become %s", c.Name, c.Unit, c.Metric.Unit())
		}
	}
}

func TestIntervalAt(t *testing.T) {
	for _, c := range []struct{ nanos, d, start int64 }{{0, 60, 0}, {59, 60, 0}, {60, 60, 60}, {-1, 60, -60}, {-60, 60, -60}} {
		if got := schema.IntervalAt(c.nanos, c.d); got.StartNanos != c.start || !got.Contains(c.nanos) || got.Contains(c.nanos-c.d) || got.Contains(c.nanos+c.d) ||
			!got.Contains(got.StartNanos) || got.Contains(got.EndNanos()) { // what happens at an end counts in one interval
			t.Errorf("IntervalAt(%d, %d) starts at %d, want %d", c.nanos, c.d, got.StartNanos, c.start)
		}
	}
}

func TestCheckFindsSlicesThatDoNotFitTogether(t *testing.T) {
	good := func() *schema.CounterBatch {
		return &schema.CounterBatch{Ports: []schema.PortName{{Device: "a", Port: "1"}}, TimeNanos: []int64{1, 2}, PortIndex: []uint32{0, 0},
			Columns: []schema.CounterColumn{{Name: "x", Values: []uint64{1, 2}}, {Name: "y", Values: []uint64{1, 2}, Valid: schema.NewBitmap(2)}}}
	}
	if err := good().Check(); err != nil {
		t.Errorf("a batch that fits: %v", err)
	}
	full := &schema.CounterBatch{Ports: []schema.PortName{{Device: "a", Port: "1"}}, TimeNanos: make([]int64, 64), PortIndex: make([]uint32, 64),
		Columns: []schema.CounterColumn{{Name: "x", Values: make([]uint64, 64), Valid: make(schema.Bitmap, 1)}}}
	if err := full.Check(); err != nil {
		t.Errorf("64 rows with 64 validity bits: %v", err)
	}
	more := &schema.CounterBatch{Ports: full.Ports, TimeNanos: make([]int64, 65), PortIndex: make([]uint32, 65),
		Columns: []schema.CounterColumn{{Name: "x", Values: make([]uint64, 65), Valid: make(schema.Bitmap, 1)}}}
	if err := more.Check(); err == nil {
		t.Error("65 rows with 64 validity bits are accepted")
	}
	if err := new(schema.CounterBatch).Check(); err != nil {
		t.Errorf("an empty batch: %v", err)
	}
	for want, spoil := range map[string]func(*schema.CounterBatch){
		"1 port indices for 2 rows":                  func(b *schema.CounterBatch) { b.PortIndex = b.PortIndex[:1] },
		"row 1 has port index 1":                     func(b *schema.CounterBatch) { b.PortIndex[1] = 1 },
		`counter "x" has 1 values`:                   func(b *schema.CounterBatch) { b.Columns[0].Values = b.Columns[0].Values[:1] },
		`"y" has 2 values and 0 validity bits for 2`: func(b *schema.CounterBatch) { b.Columns[1].Valid = schema.Bitmap{} },
	} {
		b := good()
		spoil(b)
		if err := b.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestKeptRaw(t *testing.T) {
	for name, want := range map[string]bool{"ib.symbol_error": true, "new.thing": true, "ib.port_xmit_data": false, schema.TickColumn: false} {
		if got := schema.KeptRaw(name); got != want {
			t.Errorf("KeptRaw(%q) = %v", name, got)
		}
	}
}
