package analysis_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
)

func TestUnknownCountersAreKeptOncePerDelivery(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	first, second2 := f.poll(10*second, calm), f.poll(11*second, calm)
	add(t, core, first, first, second2, first, second2) // delivered again
	var mystery []int
	for _, r := range results(core, 12*second) {
		for _, raw := range r.Raw {
			if len(raw.Columns) != 1 || raw.Columns[0].Name != "vendor.mystery" || raw.Agent != "a" || raw.Source != "test" {
				t.Fatalf("kept raw: %+v", raw)
			}
			if schema.IntervalAt(raw.TimeNanos[0], second) != r.Snapshot.Interval {
				t.Errorf("readings of %d came with %v", raw.TimeNanos[0], r.Snapshot.Interval)
			}
			mystery = append(mystery, len(raw.Columns[0].Values))
		}
	}
	if want := []int{2 * g.NumLinks(), 2 * g.NumLinks()}; !slices.Equal(mystery, want) {
		t.Errorf("raw readings by interval: %v, want %v", mystery, want)
	}
}

// A batch may hold several intervals, and the rows of an interval need not be next to each other.
func TestUnknownCountersLieInTheirInterval(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	core := newCore(t, g)
	l := g.Link(0)
	b := &schema.CounterBatch{Fabric: "f", Ports: []schema.PortName{{Device: g.Device(l.From).Name, Port: l.FromPort}, {Device: g.Device(l.To).Name, Port: l.ToPort}},
		PortIndex: []uint32{0, 0, 1, 1}, TimeNanos: []int64{10 * second, 11 * second, 10 * second, 11 * second},
		Columns: []schema.CounterColumn{{Name: "vendor.mystery", Values: []uint64{1, 2, 3, 4}, Valid: schema.NewBitmap(4)}, {Name: "gemini.traffic_bytes", Values: []uint64{1, 2, 3, 4}}}}
	for _, row := range []int{0, 1, 3} {
		b.Columns[0].Valid.Set(row)
	}
	add(t, core, b)
	got := map[int64][]string{}
	for _, r := range results(core, 12*second) {
		for _, raw := range r.Raw {
			for i := range raw.TimeNanos {
				value := "missing"
				if c := raw.Columns[0]; c.Valid.Has(i) {
					value = fmt.Sprint(c.Values[i])
				}
				start := r.Snapshot.Interval.StartNanos / second
				got[start] = append(got[start], raw.Ports[raw.PortIndex[i]].Device+"="+value)
			}
		}
	}
	a, z := b.Ports[0].Device, b.Ports[1].Device
	if diff := cmp.Diff(map[int64][]string{10: {a + "=1", z + "=missing"}, 11: {a + "=2", z + "=4"}}, got); diff != "" {
		t.Error(diff)
	}
}

// No more is kept of a batch than the batch, in any order of rows; intervals of long ago are not kept singly.
func TestRawReadingsAreBounded(t *testing.T) {
	core := newCore(t, newGraph(t, "torus:4x4"))
	const rows = 10_000
	names, values := make([]schema.PortName, rows), make([]uint64, rows)
	turns, longAgo, ports := make([]int64, rows), make([]int64, rows), make([]uint32, rows)
	for i := range rows {
		names[i], ports[i] = schema.PortName{Device: "d", Port: fmt.Sprint(i)}, uint32(i)
		turns[i], longAgo[i] = (10_000+int64(i%2))*second, int64(i)*second
	}
	for sequence, times := range [][]int64{turns, longAgo} {
		add(t, core, &schema.CounterBatch{Fabric: "f", Sequence: uint64(sequence), Ports: names, PortIndex: ports, TimeNanos: times,
			Columns: []schema.CounterColumn{{Name: "vendor.mystery", Values: values}}})
	}
	kept := 0
	for _, r := range results(core, 10_002*second) {
		for _, raw := range r.Raw {
			kept += len(raw.Ports)
		}
	}
	if kept > 2*rows {
		t.Errorf("%d names of ports kept of %d rows", kept, 2*rows)
	}
	if n := core.Drops()["raw_full"]; n == 0 || n > rows {
		t.Errorf("%d readings of long ago dropped", n)
	}
}

// Readings by a clock that is far ahead, where the broker's time is not known, take no room that other readings need.
func TestRawReadingsFarAheadMakeRoom(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	first := f.poll(9*second, calm)
	add(t, core, first)
	port := first.Ports[:1]
	for i := range uint64(5000) {
		add(t, core, &schema.CounterBatch{Fabric: "f", Agent: "ahead", Sequence: i, Ports: port, PortIndex: []uint32{0}, TimeNanos: []int64{(1_000_000 + int64(i)) * second},
			Columns: []schema.CounterColumn{{Name: "vendor.mystery", Values: []uint64{i}}}})
	}
	add(t, core, f.poll(10*second, calm), f.poll(11*second, calm))
	kept := 0
	for _, r := range results(core, 12*second) {
		kept += len(r.Raw)
	}
	if drops := core.Drops(); kept != 3 || drops["raw_early"] != 5000 || drops["raw_full"] != 0 {
		t.Errorf("%d batches of 3 kept, %d readings dropped as early, %d for want of room", kept, drops["raw_early"], drops["raw_full"])
	}
}

func TestRawReadingsAreNotTheDecoders(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	b := f.poll(10*second, calm)
	add(t, core, b)
	for i := range b.Columns { // the decoder reuses its memory
		b.Columns[i].Name = "other"
		for row := range b.Columns[i].Values {
			b.Columns[i].Values[row] = 1 << 40
		}
	}
	clear(b.TimeNanos)
	clear(b.PortIndex)
	clear(b.Ports)
	raw := results(core, 11*second)[0].Raw[0]
	for row, v := range raw.Columns[0].Values {
		if v != uint64(row) || raw.TimeNanos[row] != 10*second || raw.PortIndex[row] != uint32(row) || raw.Ports[row].Device == "" {
			t.Fatalf("row %d of what was kept has changed: %d", row, v)
		}
	}
}

func TestLateAndTooManyRawReadingsAreCounted(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	drops := core.Drops()
	for _, reason := range []string{"raw_late", "raw_early", "raw_full", "late", "unknown_port"} {
		if n, there := drops[reason]; !there || n != 0 {
			t.Errorf("at the start %s is %d (%v), want 0", reason, n, there)
		}
	}
	late := f.poll(10*second, calm)
	add(t, core, f.poll(11*second, calm))
	results(core, 12*second)
	add(t, core, late)
	port := f.poll(12*second, calm)
	const rows = 1 << 17
	huge := &schema.CounterBatch{Fabric: "f", Ports: port.Ports, TimeNanos: slices.Repeat([]int64{12 * second}, rows), PortIndex: make([]uint32, rows)}
	values := make([]uint64, rows)
	for i := range 65 { // 64 fit
		huge.Columns = append(huge.Columns, schema.CounterColumn{Name: fmt.Sprint("vendor.", i), Values: values})
	}
	add(t, core, huge, port)
	r := results(core, 13*second)
	if got, want := r[0].Dropped["raw_late"], uint64(2*g.NumLinks()); got != want {
		t.Errorf("%d late, want %d", got, want)
	}
	if got := r[0].Dropped["raw_full"]; got != 65*rows {
		t.Errorf("%d too many, want %d", got, 65*rows)
	}
	if _, again := results(core, 14*second)[0].Dropped["raw_full"]; again {
		t.Error("a drop is reported twice")
	}
	if core.Drops()["raw_full"] != 65*rows {
		t.Error("the sum since the start forgets")
	}
}
