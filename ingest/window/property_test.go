package window_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// stream is synthetic telemetry of a fabric.
type stream struct {
	g       *topology.Graph
	cfg     window.Config
	batches []*schema.CounterBatch
}

// sets are counters that devices may report together.
var sets = [][]string{
	{"ib.port_xmit_data", "ib.port_rcv_data", "ib.port_xmit_packets"},
	{"ib.port_xmit_data_32", "ice.tx_bytes.nic", "ice.rx_dropped.nic"},
	{"mlx5.rx_prio3_pause_duration", "mlx5.tx_prio3_pause_duration", "mlx5.outbound_pci_stalled_rd"},
	{"gemini.credit_stall_ns", "gemini.inq_stall_ns", "gemini.traffic_bytes"},
	{"gemini.credit_stall", "gemini.used_bw"},
}

// row is one row of a stream in transit.
type row struct {
	arrives, nanos int64
	set            int
	name           schema.PortName
	values         []uint64
	valid          []bool
}

// drawStream draws telemetry with losses, resets, wraps, saturation, duplicates,
// and rows that overtake each other by up to two readings of the same port. With
// wild, one device's clock is fast, by up to more than the horizon, and ports
// report that are not in the graph.
func drawStream(t *rapid.T, wild bool) stream {
	spec := rapid.SampledFrom([]string{"torus:2x2", "mesh:3", "fattree:leaves=2,hosts=2,spines=1"}).Draw(t, "topology")
	g := topologytest.Parse(t, "f", spec)
	cfg := window.DefaultConfig()
	cfg.Interval = time.Duration(rapid.IntRange(1, 4).Draw(t, "interval")) * 15 * time.Second
	cfg.ClockLateness = time.Duration(rapid.Int64Range(1, 2*int64(cfg.Interval)).Draw(t, "lateness"))
	cfg.EventTimeLateness = time.Duration(rapid.Int64Range(1, 3*int64(cfg.Interval)).Draw(t, "lateness in event time"))
	cfg.MaxGapIntervals = rapid.IntRange(1, 4).Draw(t, "gap")
	cfg.MinCoverOfInterval = rapid.SampledFrom([]float64{0, 0.5, 0.9, 1}).Draw(t, "cover")
	cfg.MaxSkew = 1e15
	period := int64(cfg.Interval) / int64(rapid.IntRange(1, 5).Draw(t, "polls per interval"))
	polls := rapid.IntRange(3, 25).Draw(t, "polls")
	loss := rapid.Float64Range(0, 0.4).Draw(t, "loss")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	names := portsOf(g)
	fast, ahead := "", int64(0)
	if wild {
		cfg.MaxAheadIntervals = rapid.IntRange(1, 8).Draw(t, "ahead")
		fast, ahead = names[0].Device, rapid.Int64Range(0, 10*int64(cfg.Interval)).Draw(t, "ahead")
		names = append(names, schema.PortName{Device: fast, Port: "none"})
	}
	var rows []row
	for _, name := range names {
		for _, set := range rng.Perm(len(sets))[:1+rng.IntN(2)] {
			polled := pollPort(rng, name, set, period, polls, loss)
			for i := range polled {
				if name.Device == fast {
					polled[i].nanos += ahead
				}
			}
			rows = append(rows, polled...)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.arrives, b.arrives) })
	return stream{g, cfg, batchesOf(rng, rows)}
}

func portsOf(g *topology.Graph) (names []schema.PortName) {
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		names = append(names, schema.PortName{Device: g.Device(l.From).Name, Port: l.FromPort}, schema.PortName{Device: g.Device(l.To).Name, Port: l.ToPort})
	}
	slices.SortFunc(names, func(a, b schema.PortName) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Port, b.Port))
	})
	return slices.Compact(names)
}

// pollPort reads the counters of one port. Jitter is at most a fifth of the
// period, delay at most 1.6 periods.
func pollPort(rng *rand.Rand, name schema.PortName, set int, period int64, polls int, loss float64) (rows []row) {
	values := make([]uint64, len(sets[set]))
	for c := range values {
		values[c] = rng.Uint64()
	}
	for poll := range polls {
		nanos := int64(poll)*period + rng.Int64N(period/5)
		for c, counter := range sets[set] {
			values[c] = advanceCounter(rng, counter, values[c], period)
		}
		if rng.Float64() < loss {
			continue
		}
		r := row{nanos + rng.Int64N(period*8/5), nanos, set, name, slices.Clone(values), make([]bool, len(values))}
		for c := range r.valid {
			r.valid[c] = rng.Float64() > loss/4
		}
		rows = append(rows, r)
		if rng.IntN(10) == 0 { // delivered twice
			r.arrives += rng.Int64N(period)
			rows = append(rows, r)
		}
	}
	return rows
}

// advanceCounter returns the next reading of a counter.
func advanceCounter(rng *rand.Rand, name string, value uint64, period int64) uint64 {
	info, _ := schema.LookupCounter(name)
	switch info.Kind {
	case schema.Gauge:
		return rng.Uint64N(112)
	case schema.DerivedPercent:
		return rng.Uint64N(112e6)
	}
	most := float64(period) * 1.05
	switch info.Unit {
	case schema.Microseconds:
		most /= 1e3
	case schema.Bytes, schema.Words4, schema.Packets:
		most *= 2
	}
	step := uint64(rng.Float64() * most)
	switch full := info.MaxValue(); {
	case rng.IntN(20) == 0:
		return rng.Uint64N(1000)
	case info.Overflow == schema.Saturates && value > full-min(full, step):
		return full
	default:
		return (value&full + step) & full
	}
}

// batchesOf packs successive rows of the same set.
func batchesOf(rng *rand.Rand, rows []row) (batches []*schema.CounterBatch) {
	set, left := -1, 0
	for _, r := range rows {
		if r.set != set || left == 0 {
			set, left = r.set, 1+rng.IntN(20)
			b := &schema.CounterBatch{Fabric: "f", Agent: "a", Source: fmt.Sprint(set), Sequence: 1} // one batch, delivered in parts: no clock is set back
			for _, c := range sets[set] {
				b.Columns = append(b.Columns, schema.CounterColumn{Name: c, Valid: schema.NewBitmap(64)})
			}
			batches = append(batches, b)
		}
		left--
		b := batches[len(batches)-1]
		at := slices.Index(b.Ports, r.name)
		if at < 0 {
			at = len(b.Ports)
			b.Ports = append(b.Ports, r.name)
		}
		for c := range b.Columns {
			if b.Columns[c].Values = append(b.Columns[c].Values, r.values[c]); r.valid[c] {
				b.Columns[c].Valid.Set(b.Rows())
			}
		}
		b.TimeNanos, b.PortIndex = append(b.TimeNanos, r.nanos), append(b.PortIndex, uint32(at))
	}
	return batches
}

func newWindow(t interface{ Fatal(...any) }, s stream) *window.Window {
	w, err := window.New(s.g, s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// run adds all batches to a window; it keeps every third snapshot until the end,
// and copies and recycles the others.
func run(t interface{ Fatal(...any) }, w *window.Window, batches []*schema.CounterBatch) (out []*schema.Snapshot) {
	take := func() {
		for s := w.Next(); s != nil; s = w.Next() {
			if len(out)%3 == 0 {
				out = append(out, s)
				continue
			}
			out = append(out, clone(s))
			w.Recycle(s)
		}
	}
	for _, b := range batches {
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
		take()
	}
	w.Advance(1e12, 1e12)
	take()
	return out
}

func clone(s *schema.Snapshot) *schema.Snapshot {
	c := *s
	c.Series = slices.Clone(s.Series)
	c.Ports.From, c.Ports.To = slices.Clone(s.Ports.From), slices.Clone(s.Ports.To)
	for i := range c.Series {
		c.Series[i].Values, c.Series[i].Valid = slices.Clone(c.Series[i].Values), slices.Clone(c.Series[i].Valid)
	}
	return &c
}

func TestWindowAgreesWithTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t, true)
		w, twin := newWindow(t, s), newTwin(s.g, s.cfg)
		got := run(t, w, s.batches)
		for _, b := range s.batches {
			twin.add(b)
		}
		twin.advance(1e12)
		if len(got) != len(twin.out) {
			t.Fatalf("%d snapshots, the twin has %d", len(got), len(twin.out))
		}
		for i, want := range twin.out {
			if diff := differ(got[i], want); diff != "" {
				t.Fatalf("snapshot %d, %v: %s", i, want.Interval, diff)
			}
		}
		for reason, n := range twin.dropped {
			if w.Drops()[reason.String()] != uint64(n) {
				t.Fatalf("dropped %d %s, the twin %d", w.Drops()[reason.String()], reason, n)
			}
		}
	})
}

// differ compares a snapshot with the twin's, which has no series without values.
func differ(got, want *schema.Snapshot) string {
	if got.Interval != want.Interval || got.Samples != want.Samples || got.FirstReadNanos != want.FirstReadNanos || got.LastReadNanos != want.LastReadNanos {
		return fmt.Sprintf("%v with %d readings of %d to %d, the twin has %v with %d of %d to %d", got.Interval, got.Samples, got.FirstReadNanos,
			got.LastReadNanos, want.Interval, want.Samples, want.FirstReadNanos, want.LastReadNanos)
	}
	for m := schema.Metric(1); int(m) < schema.NumMetrics; m++ {
		a, b := got.Find(m), want.Find(m)
		for link := range got.Links {
			valid, value := a != nil && a.Valid.Has(link), 0.0
			if valid {
				value = float64(a.Values[link])
			}
			wanted, wantedValue := b != nil && b.Valid.Has(link), 0.0
			if wanted {
				wantedValue = float64(b.Values[link])
			}
			if valid != wanted || math.Abs(value-wantedValue) > 1e-6*math.Abs(wantedValue)+1e-9 {
				return fmt.Sprintf("%s of link %d is %v (%v), the twin says %v (%v)", m, link, value, valid, wantedValue, wanted)
			}
		}
	}
	return ""
}

// A stream that is split into other batches gives the same snapshots, bit for bit.
func TestSplitBatchesGiveTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t, true)
		whole := newWindow(t, s)
		want := run(t, whole, s.batches)
		var parts []*schema.CounterBatch
		for _, b := range s.batches {
			cut := rapid.IntRange(0, b.Rows()).Draw(t, "cut")
			parts = append(parts, part(b, 0, cut), part(b, cut, b.Rows()))
		}
		split := newWindow(t, s)
		got := run(t, split, parts)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if diff := gocmp.Diff(whole.Drops(), split.Drops()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func part(b *schema.CounterBatch, from, to int) *schema.CounterBatch {
	p := *b
	p.Ports = slices.Clone(b.Ports)
	p.TimeNanos, p.PortIndex, p.Columns = b.TimeNanos[from:to], b.PortIndex[from:to], slices.Clone(b.Columns)
	for c := range p.Columns {
		p.Columns[c].Values = b.Columns[c].Values[from:to]
		p.Columns[c].Valid = schema.NewBitmap(to - from)
		for r := from; r < to; r++ {
			if b.Columns[c].Valid.Has(r) {
				p.Columns[c].Valid.Set(r - from)
			}
		}
	}
	return &p
}

// A new window that gets everything from the low watermark on makes the same
// snapshots as the old one.
func TestRestartAtLowWaterGivesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t, false)
		want := run(t, newWindow(t, s), s.batches)
		crash := rapid.IntRange(0, len(s.batches)).Draw(t, "crash")
		before := newWindow(t, s)
		taken := 0
		for _, b := range s.batches[:crash] {
			if err := before.Add(b); err != nil {
				t.Fatal(err)
			}
			for before.Next() != nil {
				taken++
			}
		}
		low := before.LowWater()
		first := slices.IndexFunc(s.batches, func(b *schema.CounterBatch) bool { return slices.Max(b.TimeNanos) >= low })
		if first < 0 || taken == 0 {
			return
		}
		last := want[taken-1].Interval
		var got []*schema.Snapshot
		for _, snap := range run(t, newWindow(t, s), s.batches[first:]) {
			if snap.Interval.StartNanos > last.StartNanos {
				got = append(got, snap)
			}
		}
		if diff := gocmp.Diff(want[taken:], got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("from %d of %d batches, %d snapshots taken: %s", first, len(s.batches), taken, diff)
		}
	})
}

// Whatever the instants at which a counter is read, the count between two
// boundaries is in the intervals between them, exactly.
func TestBytesAreConserved(t *testing.T) {
	g := topologytest.Parse(t, "f", "mesh:2")
	rapid.Check(t, func(t *rapid.T) {
		cfg := window.DefaultConfig()
		intervals := rapid.Int64Range(1, 6).Draw(t, "intervals")
		end := intervals * int64(cfg.Interval)
		instants := rapid.SliceOfN(rapid.Int64Range(1, end-1), 0, 40).Draw(t, "instants")
		instants = append(instants, 0, end)
		slices.Sort(instants)
		instants = slices.Compact(instants)
		cfg.MaxGapIntervals = 10
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		b := &schema.CounterBatch{Fabric: "f", Ports: []schema.PortName{{Device: "0", Port: "X+"}}, Columns: []schema.CounterColumn{{Name: "gemini.traffic_bytes"}}}
		start, total := rng.Uint64N(1<<48), 0.0
		value := start
		for i, nanos := range instants {
			if i > 0 {
				step := uint64(rng.Float64() * 9.4 * float64(nanos-instants[i-1]))
				value = (value + step) & (1<<48 - 1)
				total += float64(step)
			}
			b.TimeNanos, b.PortIndex = append(b.TimeNanos, nanos), append(b.PortIndex, 0)
			b.Columns[0].Values = append(b.Columns[0].Values, value)
		}
		w, err := window.New(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
		got := 0.0
		n := int64(0)
		for s := w.Next(); s != nil; s = w.Next() {
			got += float64(s.Find(schema.Throughput).Values[0]) * float64(int64(cfg.Interval)) / 1e9
			n++
		}
		if n != intervals || math.Abs(got-total) > 1e-6*total {
			t.Fatalf("%.0f bytes in %d intervals, counted were %.0f in %d; drops %v", got, n, total, intervals, w.Drops())
		}
	})
}
