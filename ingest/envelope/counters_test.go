package envelope_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/schema"
)

// row is a batch's row in a naive, explicit form.
type row struct {
	Time         int64
	Device, Port string
	Values       map[string]uint64
}

func rowsOf(b *schema.CounterBatch) []row {
	rows := make([]row, b.Rows())
	for i := range rows {
		p := b.Ports[b.PortIndex[i]]
		rows[i] = row{b.TimeNanos[i], p.Device, p.Port, map[string]uint64{}}
		for _, c := range b.Columns {
			if c.Valid == nil || c.Valid.Has(i) {
				rows[i].Values[c.Name] = c.Values[i]
			}
		}
	}
	return rows
}

func drawBatch(t *rapid.T) *schema.CounterBatch {
	rows := rapid.IntRange(0, 200).Draw(t, "rows")
	name := rapid.StringMatching(`[a-zä\x{1F338} ]{1,12}`)
	ports := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) schema.PortName {
		return schema.PortName{Device: name.Draw(t, "device"), Port: rapid.SampledFrom([]string{"1", "2", "X+"}).Draw(t, "port")}
	}), 1, 30, rapid.ID[schema.PortName]).Draw(t, "ports")
	b := &schema.CounterBatch{
		Fabric: name.Draw(t, "fabric"), Source: rapid.SampledFrom([]string{"", "snmp"}).Draw(t, "source"), Agent: name.Draw(t, "agent"),
		Sequence: rapid.Uint64().Draw(t, "sequence"), Epoch: rapid.Uint64().Draw(t, "epoch"), IntervalNanos: rapid.Int64().Draw(t, "interval"),
		Ports: ports,
	}
	for range rows {
		b.TimeNanos = append(b.TimeNanos, rapid.Int64Min(0).Draw(t, "time"))
		b.PortIndex = append(b.PortIndex, uint32(rapid.IntRange(0, len(ports)-1).Draw(t, "index")))
	}
	for c := range rapid.IntRange(0, 4).Draw(t, "columns") {
		column := schema.CounterColumn{Name: fmt.Sprint("counter.", c), Values: make([]uint64, rows)}
		if rapid.Bool().Draw(t, "missing") {
			column.Valid = schema.NewBitmap(rows + rapid.IntRange(0, 100).Draw(t, "spare"))
		}
		share := rapid.IntRange(0, 4).Draw(t, "share")
		for i := range rows {
			column.Values[i] = rapid.Uint64().Draw(t, "value")
			if column.Valid != nil && i%4 < share {
				column.Valid.Set(i)
			}
		}
		b.Columns = append(b.Columns, column)
	}
	return b
}

func sameBatch(t interface {
	Helper()
	Fatalf(string, ...any)
}, got, want *schema.CounterBatch) {
	t.Helper()
	if got.Fabric != want.Fabric || got.Source != want.Source || got.Agent != want.Agent || got.Sequence != want.Sequence ||
		got.Epoch != want.Epoch || got.IntervalNanos != want.IntervalNanos {
		t.Fatalf("metadata: got %+v, want %+v", got, want)
	}
	g, w := rowsOf(got), rowsOf(want)
	if len(g) != len(w) {
		t.Fatalf("%d rows, want %d", len(g), len(w))
	}
	for i := range g {
		if fmt.Sprint(g[i]) != fmt.Sprint(w[i]) {
			t.Fatalf("row %d: got %v, want %v", i, g[i], w[i])
		}
	}
	seen := map[schema.PortName]bool{}
	for _, p := range got.Ports {
		if seen[p] {
			t.Fatalf("port %v is duplicated", p)
		}
		seen[p] = true
	}
}

// One encoder and one decoder process all batches, so that leftovers of one would show in the next.
func TestCountersRoundTrip(t *testing.T) {
	var e envelope.Encoder
	var d envelope.Decoder
	var got schema.CounterBatch
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		prefix := []byte("before")
		payload, err := e.Counters(prefix, b)
		if err != nil {
			t.Fatal(err)
		}
		if string(payload[:6]) != "before" {
			t.Fatalf("the payload overwrote the buffer's content: %q", payload[:6])
		}
		if err := d.Counters(payload[6:], &got); err != nil {
			t.Fatal(err)
		}
		sameBatch(t, &got, b)
	})
}

// Splitting a batch and joining the parts changes nothing.
func TestSplit(t *testing.T) {
	var e envelope.Encoder
	var d envelope.Decoder
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		maxBytes := rapid.SampledFrom([]int{3 << 10, 8 << 10, 64 << 10}).Draw(t, "max")
		whole := rowsOf(b)
		var together []row
		var sequence []uint64
		parts, err := e.Split(b, maxBytes, func(payload []byte) error {
			if len(payload) > maxBytes {
				t.Fatalf("a part of %d bytes, the limit is %d", len(payload), maxBytes)
			}
			var part schema.CounterBatch
			if err := d.Counters(payload, &part); err != nil {
				t.Fatal(err)
			}
			together = append(together, rowsOf(&part)...)
			sequence = append(sequence, part.Sequence)
			return nil
		})
		if reason, _ := envelope.ReasonOf(err); reason == envelope.TooLarge && maxBytes < 8<<10 {
			return // 64 rows of long names
		}
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(together) != fmt.Sprint(whole) {
			t.Fatalf("together the parts are not the whole")
		}
		if parts != len(sequence) || parts == 0 {
			t.Fatalf("%d parts, but %d were given", parts, len(sequence))
		}
		for i, s := range sequence {
			if s != b.Sequence+uint64(i) {
				t.Fatalf("sequence numbers %d, want them to rise from %d", sequence, b.Sequence)
			}
		}
	})
}

func TestSplitOfALargeFabric(t *testing.T) {
	b := infiniband(300_000)
	var e envelope.Encoder
	var d envelope.Decoder
	rows := 0
	parts, err := e.Split(b, envelope.MaxKafkaPayload, func(payload []byte) error {
		var part schema.CounterBatch
		if err := d.Counters(payload, &part); err != nil {
			return err
		}
		for i := range part.Rows() {
			if part.TimeNanos[i] != b.TimeNanos[rows+i] || part.Ports[part.PortIndex[i]] != b.Ports[b.PortIndex[rows+i]] {
				t.Fatalf("row %d is another", rows+i)
			}
		}
		rows += part.Rows()
		if len(payload) < envelope.MaxKafkaPayload/3 && rows < b.Rows() {
			t.Errorf("a part of only %d bytes", len(payload))
		}
		return nil
	})
	if err != nil || rows != b.Rows() {
		t.Fatalf("%d of %d rows in %d parts: %v", rows, b.Rows(), parts, err)
	}
	t.Logf("%d rows in %d parts", rows, parts)
}

// A batch without rows says nothing about how well the next one compresses.
func TestSplitAfterAnEmptyBatch(t *testing.T) {
	b, empty := infiniband(10_000), infiniband(0)
	split := func(batches ...*schema.CounterBatch) (parts int) {
		var e envelope.Encoder
		for _, b := range batches {
			var err error
			if parts, err = e.Split(b, envelope.MaxKafkaPayload, func([]byte) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		return parts
	}
	if fresh, after := split(b), split(empty, b); after != fresh {
		t.Errorf("%d parts, and %d after an empty batch", fresh, after)
	}
}

func TestSplitGivesUpOnRowsThatNeverFit(t *testing.T) {
	b := infiniband(64)
	parts, err := new(envelope.Encoder).Split(b, 500, func([]byte) error { return nil })
	wantReason(t, err, envelope.TooLarge)
	if parts != 0 {
		t.Errorf("%d parts", parts)
	}
}

func TestAllocationsDoNotGrowWithRows(t *testing.T) {
	allocs := func(rows int) (encode, decode float64) {
		b := gemini(rows)
		var e envelope.Encoder
		var d envelope.Decoder
		var got schema.CounterBatch
		payload := mustEncode(t, b)
		buffer := make([]byte, 0, 2<<20)
		run := func(f func() error) float64 {
			return testing.AllocsPerRun(5, func() {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			})
		}
		encode = run(func() error { _, err := e.Counters(buffer, b); return err })
		decode = run(func() error { return d.Counters(payload, &got) })
		return encode, decode
	}
	encodeFew, decodeFew := allocs(600)
	encodeMany, decodeMany := allocs(41472)
	t.Logf("allocations per batch: encode %v, decode %v", encodeMany, decodeMany)
	if encodeMany > encodeFew+16 || decodeMany > decodeFew+16 {
		t.Errorf("600 rows allocate %v and %v times, 41472 rows %v and %v", encodeFew, decodeFew, encodeMany, decodeMany)
	}
}

// gemini is a poll of a Gemini torus as LDMS publishes it: six directions per switch, three gauges.
func gemini(rows int) *schema.CounterBatch {
	b := &schema.CounterBatch{Fabric: "bluewaters", Source: "ldms", Agent: "agg-03", Sequence: 99, IntervalNanos: 60e9}
	for i := range rows {
		s := i / 6
		b.Ports = append(b.Ports, schema.PortName{
			Device: fmt.Sprintf("c%d-%dc%ds%dg%d", s/48%24, s/1152, s/16%3, s/2%8, s%2),
			Port:   [...]string{"X+", "X-", "Y+", "Y-", "Z+", "Z-"}[i%6]})
	}
	// Most links are idle or nearly so; a few per cent stall.
	return withColumns(b, rows, 1_400_000_000e9, func(r *rand.Rand, column int) uint64 {
		if column < 2 && r.Intn(100) < 70 {
			return 0
		}
		return uint64(r.ExpFloat64() * 3e6)
	}, "gemini.credit_stall", "gemini.inq_stall", "gemini.used_bw")
}

// infiniband is a sweep over the switches of a fat tree: 40 ports each, five counters.
func infiniband(rows int) *schema.CounterBatch {
	b := &schema.CounterBatch{Fabric: "ib0", Source: "perfquery", Agent: "sm-1", Sequence: 5, IntervalNanos: 60e9}
	for i := range rows {
		b.Ports = append(b.Ports, schema.PortName{Device: fmt.Sprintf("0x%016x", uint64(0x98039b0300c00000)+uint64(i/40*16)), Port: fmt.Sprint(i%40 + 1)})
	}
	return withColumns(b, rows, 1_700_000_000e9, func(r *rand.Rand, column int) uint64 {
		switch column {
		case 0, 1:
			return uint64(r.Int63n(1 << 44)) // octets / 4, since the port came up
		case 2, 3:
			return uint64(r.Int63n(1 << 36)) // packets
		}
		return uint64(r.ExpFloat64() * 1e7) // ticks
	}, "ib.port_xmit_data_64", "ib.port_rcv_data_64", "ib.port_xmit_pkts_64", "ib.port_rcv_pkts_64", "ib.port_xmit_wait_64")
}

func withColumns(b *schema.CounterBatch, rows int, start int64, value func(r *rand.Rand, column int) uint64, names ...string) *schema.CounterBatch {
	r := rand.New(rand.NewSource(1))
	for i := range rows {
		b.TimeNanos = append(b.TimeNanos, start+int64(i)*20_000+r.Int63n(5_000))
		b.PortIndex = append(b.PortIndex, uint32(i))
	}
	for c, name := range names {
		column := schema.CounterColumn{Name: name, Values: make([]uint64, rows)}
		for i := range column.Values {
			column.Values[i] = value(r, c)
		}
		b.Columns = append(b.Columns, column)
	}
	return b
}

func BenchmarkEncode(b *testing.B) { benchmark(b, true) }
func BenchmarkDecode(b *testing.B) { benchmark(b, false) }

func benchmark(b *testing.B, encode bool) {
	const rows = 41472
	for _, c := range []struct {
		name  string
		batch *schema.CounterBatch
	}{{"gemini/counters=3", gemini(rows)}, {"infiniband/counters=5", infiniband(rows)}} {
		b.Run(fmt.Sprintf("%s/rows=%d", c.name, rows), func(b *testing.B) {
			var e envelope.Encoder
			var d envelope.Decoder
			var got schema.CounterBatch
			var payloads [][]byte
			if _, err := e.Split(c.batch, envelope.MaxKafkaPayload, func(payload []byte) error {
				payloads = append(payloads, bytes.Clone(payload))
				return nil
			}); err != nil {
				b.Fatal(err)
			}
			discard := func([]byte) error { return nil }
			b.ReportAllocs()
			for b.Loop() {
				if encode {
					if _, err := e.Split(c.batch, envelope.MaxKafkaPayload, discard); err != nil {
						b.Fatal(err)
					}
					continue
				}
				for _, payload := range payloads {
					if err := d.Counters(payload, &got); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(len(bytes.Join(payloads, nil)))/rows, "bytes/row")
			b.ReportMetric(float64(len(payloads)), "payloads")
		})
	}
}

// A host has few ports and many counters, so what a payload costs is that of its columns, not of its rows.
func BenchmarkDecodeHost(b *testing.B) {
	var names []string
	for i := range 52 {
		names = append(names, fmt.Sprintf("hw.counter_%d", i))
	}
	batch := &schema.CounterBatch{Fabric: "ib0", Source: "ibsysfs", Agent: "node0001", Sequence: 5, IntervalNanos: 60e9,
		Ports: []schema.PortName{{Device: "node0001 mlx5_0", Port: "1"}}}
	batch = withColumns(batch, 1, 1_700_000_000e9, func(r *rand.Rand, _ int) uint64 { return uint64(r.Int63n(1 << 44)) }, names...)
	var e envelope.Encoder
	var d envelope.Decoder
	var got schema.CounterBatch
	payload, err := e.Counters(nil, batch)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Counters(payload, &got); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(payload)), "bytes/payload")
}

// No clock shows such a time, and computations with it would overflow.
func TestAReadingBefore1970IsRefused(t *testing.T) {
	var e envelope.Encoder
	var d envelope.Decoder
	var got schema.CounterBatch
	for nanos, want := range map[int64]bool{math.MinInt64: false, -1: false, 0: true, math.MaxInt64: true} {
		b := &schema.CounterBatch{Fabric: "f", Ports: []schema.PortName{{Device: "a", Port: "1"}}, PortIndex: []uint32{0}, TimeNanos: []int64{nanos}}
		payload, err := e.Counters(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Counters(payload, &got); (err == nil) != want {
			t.Errorf("a reading of %d: %v", nanos, err)
		}
	}
}
