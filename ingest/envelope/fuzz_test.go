package envelope_test

import (
	"runtime"
	"testing"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/schema"
)

// decodeAny decodes a payload as every kind. Results without an error must be consistent.
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
	checkDocuments(t, d, payload)
}

// checkDocuments: encoding a decoded payload again gives the same.
func checkDocuments(t *testing.T, d *envelope.Decoder, payload []byte) {
	t.Helper()
	var e envelope.Encoder
	again := func(rows int, err error, encode func() ([]byte, error)) {
		if err != nil {
			return
		}
		if p, err := encode(); err != nil {
			t.Errorf("%d documents passed that cannot be written: %v", rows, err)
		} else if h, err := envelope.ParseHeader(p); err != nil || h.Rows != rows {
			t.Errorf("%d documents came back as %+v, %v", rows, h, err)
		}
	}
	jobs, err := d.Jobs(payload, nil)
	again(len(jobs), err, func() ([]byte, error) { return e.Jobs(nil, jobs) })
	failures, err := d.Failures(payload, nil)
	again(len(failures), err, func() ([]byte, error) { return e.Failures(nil, failures) })
	traffic, err := d.Traffic(payload, nil)
	again(len(traffic), err, func() ([]byte, error) { return e.Traffic(nil, traffic) })
	diagnoses, err := d.Diagnoses(payload, nil)
	again(len(diagnoses), err, func() ([]byte, error) { return e.Diagnoses(nil, diagnoses) })
	commands, err := d.Commands(payload, nil)
	again(len(commands), err, func() ([]byte, error) { return e.Commands(nil, commands) })
	results, err := d.Results(payload, nil)
	again(len(results), err, func() ([]byte, error) { return e.Results(nil, results) })
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
	for _, c := range documents(f) {
		keep(c.encode())
		all = append(all, forgedDocument(f, c.kind, int64(noon), "plane0", c.id, c.json))
	}
	return all
}

// FuzzDecode decodes arbitrary bytes.
func FuzzDecode(f *testing.F) {
	for _, payload := range seeds(f) {
		f.Add(payload)
	}
	f.Add([]byte("GVNY"))
	var d envelope.Decoder
	f.Fuzz(func(t *testing.T, payload []byte) { decodeAny(t, &d, payload) })
}

// allocationBound is far above what decoding a stream of this size needs, and far below what an unchecked
// count can request.
func allocationBound(stream int) uint64 { return 4<<20 + 64*uint64(stream) }

// FuzzForged decodes Arrow streams under a valid header, as an attacker who knows the format would forge
// them.
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

// Every byte of a stream is set to values that make a count huge, negative or zero.
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
