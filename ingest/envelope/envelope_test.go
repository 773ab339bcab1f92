package envelope_test

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/schema"
)

func smallBatch() *schema.CounterBatch {
	valid := schema.NewBitmap(3)
	valid.Set(0)
	valid.Set(2)
	return &schema.CounterBatch{
		Fabric: "plane0", Source: "ibsysfs", Agent: "node17", Sequence: 7, Epoch: 3, IntervalNanos: 60e9,
		Ports:     []schema.PortName{{Device: "sw1", Port: "1"}, {Device: "sw1", Port: "2"}, {Device: "sw2", Port: "1"}},
		TimeNanos: []int64{100, 101, 102},
		PortIndex: []uint32{0, 2, 1},
		Columns: []schema.CounterColumn{
			{Name: "ib.port_xmit_data_64", Values: []uint64{1, 2, 3}},
			{Name: "ib.port_xmit_wait_64", Values: []uint64{4, 5, 1<<64 - 1}, Valid: valid},
		},
	}
}

func mustEncode(t testing.TB, b *schema.CounterBatch) []byte {
	t.Helper()
	payload, err := new(envelope.Encoder).Counters(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// reseal puts a valid header on a stream.
func reseal(kind envelope.Kind, rows int, stream []byte) []byte {
	return resealBody(kind, rows, len(stream), snappy.Encode(nil, stream))
}

func resealBody(kind envelope.Kind, rows, uncompressed int, body []byte) []byte {
	p := make([]byte, envelope.HeaderBytes, envelope.HeaderBytes+len(body))
	copy(p, "GVNY")
	p[4], p[5] = 1, byte(kind)
	binary.LittleEndian.PutUint32(p[8:], uint32(rows))
	binary.LittleEndian.PutUint32(p[12:], uint32(uncompressed))
	binary.LittleEndian.PutUint32(p[16:], uint32(len(body)))
	p = append(p, body...)
	fixCRC(p)
	return p
}

func fixCRC(p []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	binary.LittleEndian.PutUint32(p[20:], crc32.Update(crc32.Checksum(p[:20], table), table, p[envelope.HeaderBytes:]))
}

// unsealed returns the Arrow stream of a payload.
func unsealed(t testing.TB, payload []byte) []byte {
	t.Helper()
	stream, err := snappy.Decode(nil, payload[envelope.HeaderBytes:])
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func wantReason(t testing.TB, err error, want envelope.Reason) {
	t.Helper()
	if got, _ := envelope.ReasonOf(err); got != want {
		t.Errorf("refused with %q (%v), want %q", got, err, want)
	}
}

func TestDamagedHeaders(t *testing.T) {
	good := mustEncode(t, smallBatch())
	change := func(f func(p []byte) []byte) []byte { return f(append([]byte(nil), good...)) }
	fixed := func(at int, value byte) []byte {
		return change(func(p []byte) []byte { p[at] = value; fixCRC(p); return p })
	}
	long := func(at int, value uint32) []byte {
		return change(func(p []byte) []byte { binary.LittleEndian.PutUint32(p[at:], value); fixCRC(p); return p })
	}
	for _, c := range []struct {
		name    string
		payload []byte
		want    envelope.Reason
	}{
		{"nothing", nil, envelope.Truncated},
		{"a header too short", good[:23], envelope.Truncated},
		{"another magic", fixed(0, 'X'), envelope.BadMagic},
		{"a later version", fixed(4, 2), envelope.BadVersion},
		{"flags of a later version", fixed(6, 1), envelope.BadVersion},
		{"no kind", fixed(5, 0), envelope.BadKind},
		{"a kind of former times", fixed(5, 3), envelope.BadKind},
		{"a later kind", fixed(5, 99), envelope.BadKind},
		{"another kind than asked for", fixed(5, byte(envelope.Events)), envelope.BadKind},
		{"too many rows", long(8, envelope.MaxRows+1), envelope.TooLarge},
		{"too long unpacked", long(12, envelope.MaxUncompressedBytes+1), envelope.TooLarge},
		{"too long packed", long(16, envelope.MaxCompressedBytes+1), envelope.TooLarge},
		{"a lost byte", good[:len(good)-1], envelope.Truncated},
		{"an added byte", append(append([]byte(nil), good...), 0), envelope.Truncated},
		{"a flipped bit in the body", change(func(p []byte) []byte { p[40] ^= 1; return p }), envelope.BadCRC},
		{"a flipped bit in the rows", change(func(p []byte) []byte { p[8] ^= 1; return p }), envelope.BadCRC},
		{"another length unpacked", long(12, 17), envelope.BadSnappy},
		{"no snappy", resealBody(envelope.Counters, 3, 100, []byte{100, 0xFF, 0xFF}), envelope.BadSnappy},
		{"a snappy bomb", resealBody(envelope.Counters, 3, 100, []byte{0xFF, 0xFF, 0xFF, 0xFF, 0x0F}), envelope.BadSnappy},
		{"no Arrow", reseal(envelope.Counters, 3, []byte("no Arrow at all, only text")), envelope.BadArrow},
		{"metadata that points outside itself", reseal(envelope.Counters, 3, append([]byte{0xFF, 0xFF, 0xFF, 0xFF, 8, 0, 0, 0}, "\xF0\xFF\xFF\x7F beyond"...)), envelope.BadArrow},
		{"an empty stream", reseal(envelope.Counters, 3, nil), envelope.BadArrow},
		{"the rows of another", fixed(8, 2), envelope.BadRows},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b schema.CounterBatch
			wantReason(t, new(envelope.Decoder).Counters(c.payload, &b), c.want)
		})
	}
}

func TestEncoderRefusesWhatDecoderWould(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b *schema.CounterBatch)
		want   envelope.Reason
	}{
		{"no fabric", func(b *schema.CounterBatch) { b.Fabric = "" }, envelope.BadRows},
		{"a name too long", func(b *schema.CounterBatch) { b.Ports[0].Device = string(make([]byte, 257)) }, envelope.BadRows},
		{"a name that is not UTF-8", func(b *schema.CounterBatch) { b.Ports[0].Port = "\xFF" }, envelope.BadRows},
		{"an unnamed counter", func(b *schema.CounterBatch) { b.Columns[0].Name = "" }, envelope.BadRows},
		{"a counter's name too long", func(b *schema.CounterBatch) { b.Columns[0].Name = strings.Repeat("x", 257) }, envelope.BadRows},
		{"an unnamed device", func(b *schema.CounterBatch) { b.Ports[1].Device = "" }, envelope.BadRows},
		{"an unknown port", func(b *schema.CounterBatch) { b.PortIndex[1] = 3 }, envelope.BadRows},
		{"a short column", func(b *schema.CounterBatch) { b.Columns[0].Values = b.Columns[0].Values[:2] }, envelope.BadRows},
		{"a short bitmap", func(b *schema.CounterBatch) { b.Columns[1].Valid = schema.Bitmap{} }, envelope.BadRows},
		{"a missing index", func(b *schema.CounterBatch) { b.PortIndex = b.PortIndex[:2] }, envelope.BadRows},
		{"a counter twice", func(b *schema.CounterBatch) { b.Columns[1].Name = b.Columns[0].Name }, envelope.BadSchema},
		{"a counter called time", func(b *schema.CounterBatch) { b.Columns[1].Name = schema.ColumnTime }, envelope.BadSchema},
		{"too many counters", func(b *schema.CounterBatch) { b.Columns = make([]schema.CounterColumn, 1025) }, envelope.TooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := smallBatch()
			c.change(b)
			dst := []byte("kept")
			dst, err := new(envelope.Encoder).Counters(dst, b)
			wantReason(t, err, c.want)
			if string(dst) != "kept" {
				t.Errorf("a refused batch left %q in the buffer", dst)
			}
		})
	}
}

func TestEncoderRefusesEvents(t *testing.T) {
	long := strings.Repeat("x", 4<<10+1)
	for name, ev := range map[string]schema.Event{
		"no fabric":          {Kind: schema.LinkFailed},
		"no kind":            {Fabric: "f"},
		"a device too long":  {Fabric: "f", Kind: schema.LinkFailed, Device: long},
		"a port too long":    {Fabric: "f", Kind: schema.LinkFailed, Port: long},
		"a job not UTF-8":    {Fabric: "f", Kind: schema.LinkFailed, JobID: "\xff"},
		"a detail too long":  {Fabric: "f", Kind: schema.LinkFailed, Detail: long},
		"a detail not UTF-8": {Fabric: "f", Kind: schema.LinkFailed, Detail: "\xff"},
		"a fabric too long":  {Fabric: long, Kind: schema.LinkFailed},
	} {
		if _, err := new(envelope.Encoder).Events(nil, []schema.Event{ev}); err == nil {
			t.Errorf("%s: was encoded", name)
		}
	}
}

func TestEncoderRefusesRegions(t *testing.T) {
	long := strings.Repeat("x", 257)
	odds := func(p float64) schema.Region { return schema.Region{Forecast: &schema.Forecast{Next: schema.Odds{p}}} }
	for name, region := range map[string]schema.Region{
		"no dimension":                 {Box: &schema.Box{}},
		"too many":                     {Box: &schema.Box{Min: make([]int, 17), Max: make([]int, 17)}},
		"another number":               {Box: &schema.Box{Min: []int{0, 0}, Max: []int{1}}},
		"a minimum of 33 bits":         {Box: &schema.Box{Min: []int{-1 << 32}, Max: []int{1}}},
		"a maximum of 33 bits":         {Box: &schema.Box{Min: []int{0}, Max: []int{1 << 32}}},
		"a name too long":              {Name: strings.Repeat("x", 4<<10+1)},
		"a root too long":              {Root: &schema.Root{Device: long}},
		"a peer too long":              {Root: &schema.Root{Device: "leaf1", Peer: long}},
		"a mean that is not a number":  {Mean: math.NaN()},
		"a trend that is not a number": {Forecast: &schema.Forecast{TrendPercent: math.NaN()}},
		"odds below 0":                 odds(-.1),
		"odds above 1":                 odds(1.1),
		"odds that are not numbers":    odds(math.NaN()),
	} {
		region.ID, region.Metric = 1, schema.CreditStall
		set := &envelope.RegionSet{Fabric: "f", Interval: minute, Regions: []schema.Region{region}}
		_, err := new(envelope.Encoder).Regions(nil, set)
		if reason, _ := envelope.ReasonOf(err); reason != envelope.BadRows {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var minute = schema.Interval{StartNanos: 120e9, DurationNanos: 60e9}

func TestEventsRoundTrip(t *testing.T) {
	events := []schema.Event{
		{TimeNanos: -1, Fabric: "plane0", Kind: schema.LinkFailed, Device: "sw1", Port: "2", Detail: "β"},
		{TimeNanos: 5, Fabric: "plane1", Kind: schema.RegionBorn, RegionID: 1<<64 - 1, JobID: "4711.0"},
	}
	payload, err := new(envelope.Encoder).Events(nil, events)
	if err != nil {
		t.Fatal(err)
	}
	got, err := new(envelope.Decoder).Events(payload, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, events)
}

func TestRegionsRoundTrip(t *testing.T) {
	set := &envelope.RegionSet{Fabric: "plane0", GraphVersion: 3, Interval: minute, Revision: 2, Unknown: &schema.Unknown{Reason: schema.NoReadings, Since: 60e9}}
	for _, regions := range [][]schema.Region{{}, {
		{ID: 9, Metric: schema.CreditStall, Links: []schema.LinkID{1, 2, 500}, Size: 3, Mean: 17.5, Max: 99, Severity: schema.Medium,
			Name: "(0,1,2) 4x4x9", AgeIntervals: 4, Unread: 3, BirthNanos: 7, Box: &schema.Box{Min: []int{0, 1, 2}, Max: []int{3, 4, 0}},
			Forecast: &schema.Forecast{GrowthLinks: -2, TrendPercent: .5, Next: schema.Odds{0, 0, .25, .75, 0}, Later: schema.Odds{.2, .2, .2, .2, .2}}},
		{ID: 11, Metric: schema.XmitWait, Links: []schema.LinkID{4}, Size: 1, Root: &schema.Root{Device: "leaf7", Port: "9", Peer: "host56", Kind: schema.RootIncast, Link: 12}},
		{ID: 10, Metric: schema.PFCPauseRx(3), Links: []schema.LinkID{}, Severity: schema.High},
	}} {
		set.Regions = regions
		payload, err := new(envelope.Encoder).Regions(nil, set)
		if err != nil {
			t.Fatal(err)
		}
		got, err := new(envelope.Decoder).Regions(payload)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, set)
	}
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("came back changed (-want +got):\n%s", diff)
	}
}

func TestReasonsAreComplete(t *testing.T) {
	seen := map[envelope.Reason]bool{}
	for _, r := range envelope.Reasons() {
		if seen[r] {
			t.Errorf("%s is duplicated", r)
		}
		seen[r] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d reasons, want 10", len(seen))
	}
}
