package envelope_test

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/schema"
)

// Any Arrow implementation can read the encoder's output.
func TestStreamIsPlainArrow(t *testing.T) {
	r, err := ipc.NewReader(bytes.NewReader(unsealed(t, mustEncode(t, smallBatch()))))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	record, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	text, err := record.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"device":"sw1","ib.port_xmit_data_64":1,"ib.port_xmit_wait_64":4,"port":"1","time":100}
,{"device":"sw2","ib.port_xmit_data_64":2,"ib.port_xmit_wait_64":null,"port":"1","time":101}
,{"device":"sw1","ib.port_xmit_data_64":3,"ib.port_xmit_wait_64":18446744073709551615,"port":"2","time":102}
]`
	if string(text) != want {
		t.Errorf("Arrow reads\n%s\nwant\n%s", text, want)
	}
}

// foreign is a record of two rows as another Arrow writer that knows our schema could send it.
type foreign struct {
	time, device, port, counter arrow.Array
	fields                      []arrow.Field
	meta                        map[string]string
	options                     []ipc.Option
	batches                     int
}

func newForeign() *foreign {
	s := schema.CounterBatchArrow(&schema.CounterBatch{Columns: []schema.CounterColumn{{Name: "a.b"}}}, arrow.Metadata{})
	return &foreign{
		time: int64s(1, 2), device: dictionary([]uint32{0, 1}, "s1", "s2"), port: dictionary([]uint32{0, 0}, "1"), counter: uint64s(5, 6),
		fields: s.Fields(), batches: 1,
		meta: map[string]string{schema.MetaFabric: "f", schema.MetaSource: "", schema.MetaAgent: "", schema.MetaSequence: "1",
			schema.MetaEpoch: "0", schema.MetaInterval: "60"},
	}
}

func (f *foreign) stream(t *testing.T) []byte {
	t.Helper()
	meta := arrow.MetadataFrom(f.meta)
	s := arrow.NewSchema(f.fields, &meta)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(f.options, ipc.WithSchema(s))...)
	for range f.batches {
		if err := w.Write(array.NewRecord(s, []arrow.Array{f.time, f.device, f.port, f.counter}, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (f *foreign) addKeys(n int) {
	for i := range n {
		f.meta[strconv.Itoa(i)] = ""
	}
}

func TestForeignStreams(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *foreign)
		want   envelope.Reason
	}{
		{"as it should be", func(f *foreign) {}, ""},
		{"an index beyond the dictionary", func(f *foreign) { f.device = dictionary([]uint32{0, 2}, "s1", "s2") }, envelope.BadRows},
		{"a name twice in a dictionary", func(f *foreign) { f.device = dictionary([]uint32{0, 1}, "s1", "s1") }, envelope.BadRows},
		{"an empty name", func(f *foreign) { f.port = dictionary([]uint32{0, 0}, "") }, envelope.BadRows},
		{"a name too long", func(f *foreign) { f.port = dictionary([]uint32{0, 0}, string(make([]byte, 300))) }, envelope.BadRows},
		{"a name that is not UTF-8", func(f *foreign) { f.port = dictionary([]uint32{0, 0}, "\xFF") }, envelope.BadRows},
		{"a row without a time", func(f *foreign) {
			b := array.NewInt64Builder(memory.DefaultAllocator)
			b.Append(1)
			b.AppendNull()
			f.time = b.NewArray()
		}, envelope.BadRows},
		{"no fabric", func(f *foreign) { delete(f.meta, schema.MetaFabric) }, envelope.BadSchema},
		{"no agent", func(f *foreign) { delete(f.meta, schema.MetaAgent) }, envelope.BadSchema},
		{"metadata too long", func(f *foreign) { f.meta["x"] = string(make([]byte, 4<<10+1)) }, envelope.BadSchema},
		{"a key of metadata too long", func(f *foreign) { f.meta[string(make([]byte, 4<<10+1))] = "" }, envelope.BadSchema},
		{"many keys of metadata", func(f *foreign) { f.addKeys(32 - len(f.meta)) }, ""},
		{"too many keys of metadata", func(f *foreign) { f.addKeys(33 - len(f.meta)) }, envelope.BadSchema},
		{"a counter's name too long", func(f *foreign) { f.fields[3].Name = string(make([]byte, 257)) }, envelope.BadSchema},
		{"a counter with metadata", func(f *foreign) { f.fields[3].Metadata = arrow.MetadataFrom(map[string]string{"a": "b"}) }, envelope.BadSchema},
		{"an empty fabric", func(f *foreign) { f.meta[schema.MetaFabric] = "" }, envelope.BadSchema},
		{"a sequence that is no number", func(f *foreign) { f.meta[schema.MetaSequence] = "-1" }, envelope.BadSchema},
		{"a signed counter", func(f *foreign) { f.counter, f.fields[3].Type = int64s(1, 2), arrow.PrimitiveTypes.Int64 }, envelope.BadSchema},
		{"a counter that must not be missing", func(f *foreign) { f.fields[3].Nullable = false }, envelope.BadSchema},
		{"another first column", func(f *foreign) { f.fields[0].Name = "when" }, envelope.BadSchema},
		{"a counter called port", func(f *foreign) { f.fields[3].Name = "port" }, envelope.BadSchema},
		{"two record batches", func(f *foreign) { f.batches = 2 }, envelope.BadArrow},
		{"none", func(f *foreign) { f.batches = 0 }, envelope.BadArrow},
		{"a compressed body", func(f *foreign) { f.options = []ipc.Option{ipc.WithZstd()} }, envelope.BadArrow},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newForeign()
			c.change(f)
			var b schema.CounterBatch
			wantReason(t, new(envelope.Decoder).Counters(reseal(envelope.Counters, 2, f.stream(t)), &b), c.want)
		})
	}
}

func int64s(v ...int64) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(v, nil)
	return b.NewArray()
}

func uint64s(v ...uint64) arrow.Array {
	b := array.NewUint64Builder(memory.DefaultAllocator)
	b.AppendValues(v, nil)
	return b.NewArray()
}

func dictionary(indices []uint32, names ...string) arrow.Array {
	s := array.NewStringBuilder(memory.DefaultAllocator)
	s.AppendValues(names, nil)
	i := array.NewUint32Builder(memory.DefaultAllocator)
	i.AppendValues(indices, nil)
	t := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}
	return array.NewDictionaryArray(t, i.NewArray(), s.NewArray())
}
