package envelope_test

import (
	"runtime"
	"testing"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/schema"
)

// decodeAny decodes a payload as every kind. What comes back without an error must hold together.
func decodeAny(t *testing.T, d *envelope.Decoder, payload []byte) {
	t.Helper()
	var b schema.CounterBatch
	if d.Counters(payload, &b) == nil {
		for i := range b.Rows() {
			_ = b.Ports[b.PortIndex[i]]
			for _, c := range b.Columns {
				_ = c.Values[i]
				if c.Valid != nil {
					_ = c.Valid.Has(i)
				}
			}
		}
		if b.Fabric == "" {
			t.Error("a batch of no fabric passed")
		}
	}
	if events, err := d.Events(payload, nil); err == nil && len(events) > envelope.MaxRows {
		t.Error("too many events passed")
	}
	_, _ = d.Regions(payload)
	if s, err := d.Snapshot(payload); err == nil {
		for _, r := range s.Series {
			if len(r.Values) != s.Links || r.Count != r.Valid.Count() {
				t.Error("a snapshot that does not hold together passed")
			}
		}
	}
	_, _ = d.Documents(payload, envelope.Commands, nil)
}

func seeds(f *testing.F) [][]byte {
	f.Helper()
	var e envelope.Encoder
	var all [][]byte
	keep := func(payload []byte, err error) {
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, payload)
	}
	keep(e.Counters(nil, smallBatch()))
	keep(e.Events(nil, []schema.Event{{TimeNanos: 1, Fabric: "f", Kind: schema.JobEnded, JobID: "1"}}))
	keep(e.Regions(nil, &envelope.RegionSet{Fabric: "f", Regions: []schema.Region{{ID: 1, Metric: schema.XmitWait,
		Links: []schema.LinkID{1, 2}, Box: &schema.Box{Min: []int{0}, Max: []int{1}}}}}))
	one := schema.Bitmap{1}
	keep(e.Snapshot(nil, &schema.Snapshot{Fabric: "f", Links: 2, Series: []schema.Series{{Metric: schema.XmitWait, Values: []float32{1, 2}, Valid: one}}}))
	keep(e.Documents(nil, envelope.Commands, []envelope.Document{{Fabric: "f", ID: "1", JSON: []byte("{}")}}))
	return all
}

// FuzzDecode is fed with anything.
func FuzzDecode(f *testing.F) {
	for _, payload := range seeds(f) {
		f.Add(payload)
	}
	f.Add([]byte("GVNY"))
	var d envelope.Decoder
	f.Fuzz(func(t *testing.T, payload []byte) { decodeAny(t, &d, payload) })
}

// allocationBound is far above what decoding a stream of this size takes, and far below what a count that
// is believed can ask for.
func allocationBound(stream int) uint64 { return 4<<20 + 64*uint64(stream) }

// FuzzForged is fed with Arrow streams under a header that is right in every respect, as one who knows the
// format would forge them.
func FuzzForged(f *testing.F) {
	for _, payload := range seeds(f) {
		f.Add(payload[5], payload[8], unsealed(f, payload))
	}
	f.Fuzz(func(t *testing.T, kind, rows uint8, stream []byte) {
		if len(stream) > 1<<16 {
			return
		}
		payload := reseal(envelope.Kind(kind), int(rows), stream)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decodeAny(t, new(envelope.Decoder), payload)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > allocationBound(len(stream)) {
			t.Errorf("a stream of %d bytes made the decoder take %d", len(stream), took)
		}
	})
}

// Every byte of a stream, set to values that make a count huge, negative or zero.
func TestForgedStreams(t *testing.T) {
	payload := mustEncode(t, smallBatch())
	stream := unsealed(t, payload)
	var d envelope.Decoder
	var before, after runtime.MemStats
	passed := 0
	for at := range stream {
		for _, value := range []byte{0x00, 0x01, 0x7F, 0x80, 0xFF} {
			forged := append([]byte(nil), stream...)
			forged[at] = value
			runtime.ReadMemStats(&before)
			var b schema.CounterBatch
			err := d.Counters(reseal(envelope.Counters, 3, forged), &b)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > allocationBound(len(stream)) {
				t.Fatalf("byte %d = %#x made the decoder take %d bytes", at, value, took)
			}
			if err == nil {
				passed++
			} else if _, ours := envelope.ReasonOf(err); !ours {
				t.Fatalf("byte %d = %#x: an error without a reason: %v", at, value, err)
			}
		}
	}
	t.Logf("%d of %d forged streams pass as another batch", passed, 5*len(stream))
}
