package envelope

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/giverny/giverny/schema"
)

// Counters appends the payload of a batch to dst. Ports that no row uses are omitted.
func (e *Encoder) Counters(dst []byte, b *schema.CounterBatch) ([]byte, error) {
	if err := checkBatchOf(b); err != nil {
		return dst, err
	}
	return e.counters(dst, b)
}

func (e *Encoder) counters(dst []byte, b *schema.CounterBatch) ([]byte, error) {
	names := e.emptyTexts(2)
	e.ports.encode(b, &names[0], &names[1])
	s := schema.CounterBatchArrow(b, counterMeta(b))
	columns := make([]arrow.Array, 0, 3+len(b.Columns))
	columns = append(columns,
		fixed(arrow.PrimitiveTypes.Int64, b.TimeNanos, nil),
		dictionaryOf(s.Field(1).Type.(*arrow.DictionaryType), e.ports.device, names[0].column()),
		dictionaryOf(s.Field(2).Type.(*arrow.DictionaryType), e.ports.port, names[1].column()))
	for i := range b.Columns {
		columns = append(columns, fixed(arrow.PrimitiveTypes.Uint64, b.Columns[i].Values, b.Columns[i].Valid))
	}
	return e.write(dst, Counters, s, b.Rows(), columns)
}

func counterMeta(b *schema.CounterBatch) arrow.Metadata {
	var w metaWriter
	w.text(schema.MetaFabric, b.Fabric)
	w.text(schema.MetaSource, b.Source)
	w.text(schema.MetaAgent, b.Agent)
	w.unsigned(schema.MetaSequence, b.Sequence)
	w.unsigned(schema.MetaEpoch, b.Epoch)
	w.signed(schema.MetaInterval, b.IntervalNanos)
	return w.metadata()
}

// checkBatchOf rejects a batch that a Decoder would reject.
func checkBatchOf(b *schema.CounterBatch) error {
	rows := b.Rows()
	if rows > MaxRows || len(b.Columns) > maxColumns {
		return refuse(TooLarge, "%d rows of %d counters, the limits are %d and %d", rows, len(b.Columns), MaxRows, maxColumns)
	}
	if err := checkName("fabric", b.Fabric); err != nil {
		return err
	}
	if err := checkText("source", b.Source, MaxNameBytes); err != nil {
		return err
	}
	if err := checkText("agent", b.Agent, MaxNameBytes); err != nil {
		return err
	}
	if err := b.Check(); err != nil {
		return refuse(BadRows, "%v", err)
	}
	for i := range b.Columns {
		if err := checkColumnName(b.Columns, i); err != nil {
			return err
		}
	}
	for _, p := range b.Ports {
		if err := checkName("device", p.Device); err != nil {
			return err
		}
		if err := checkName("port", p.Port); err != nil {
			return fmt.Errorf("device %s: %w", p.Device, err)
		}
	}
	return nil
}

func checkColumnName(columns []schema.CounterColumn, i int) error {
	name := columns[i].Name
	if err := checkName("counter", name); err != nil {
		return err
	}
	if name == schema.ColumnTime || name == schema.ColumnDevice || name == schema.ColumnPort {
		return refuse(BadSchema, "a counter cannot be called %s", name)
	}
	for _, other := range columns[:i] {
		if other.Name == name {
			return refuse(BadSchema, "counter %s is duplicated", name)
		}
	}
	return nil
}

// Counters decodes a batch of counters into into, whose previous content is lost, also on error. TimeNanos and
// the columns' Values are in the decoder's memory, valid until its next call; into owns Ports, PortIndex, the
// bitmaps and all strings. The order of the rows, and so of a port's times, is the sender's.
func (d *Decoder) Counters(payload []byte, into *schema.CounterBatch) error {
	return d.read(payload, Counters, func(h Header, record arrow.Record) error {
		s := record.Schema()
		if err := readCounterMeta(s.Metadata(), into); err != nil {
			return err
		}
		if err := d.readCounterColumns(record, into); err != nil {
			return err
		}
		if err := checkCounterFields(s); err != nil {
			return err
		}
		return d.readPorts(record, into)
	})
}

// keyColumns is the schema of a batch without counters.
var keyColumns = schema.CounterBatchArrow(&schema.CounterBatch{}, arrow.Metadata{})

// checkCounterFields is sameColumns for a batch of counters whose names and types have been checked, without a schema
// to compare with: an agent's batch has a few rows and dozens of counters, so schemas are what it costs.
func checkCounterFields(s *arrow.Schema) error {
	for i := range s.NumFields() {
		switch f := s.Field(i); {
		case i < keyColumns.NumFields() && !f.Equal(keyColumns.Field(i)),
			i >= keyColumns.NumFields() && (!f.Nullable || f.HasMetadata()):
			return refuse(BadSchema, "columns %v, want time, device, port and nullable counters without metadata", describe(s))
		}
	}
	return nil
}

func readCounterMeta(meta arrow.Metadata, into *schema.CounterBatch) error {
	r := metaReader{meta: meta}
	into.Fabric = r.name(schema.MetaFabric)
	into.Source = r.text(schema.MetaSource)
	into.Agent = r.text(schema.MetaAgent)
	into.Sequence = r.unsigned(schema.MetaSequence)
	into.Epoch = r.unsigned(schema.MetaEpoch)
	into.IntervalNanos = r.signed(schema.MetaInterval)
	for _, s := range []string{into.Source, into.Agent} {
		if err := checkText("source or agent", s, MaxNameBytes); err != nil {
			return err
		}
	}
	return r.err
}

func (d *Decoder) readCounterColumns(record arrow.Record, into *schema.CounterBatch) (err error) {
	s, rows := record.Schema(), int(record.NumRows())
	if s.NumFields() < 3 {
		return refuse(BadSchema, "columns %s, want time, device and port first", describe(s))
	}
	n := s.NumFields() - 3
	for cap(into.Columns) < n {
		into.Columns = append(into.Columns[:cap(into.Columns)], schema.CounterColumn{})
	}
	into.Columns = into.Columns[:n]
	for i := range into.Columns {
		c, data := &into.Columns[i], record.Column(3+i).Data()
		c.Name = d.names.text([]byte(s.Field(3 + i).Name))
		if err := checkColumnName(into.Columns, i); err != nil {
			return err
		}
		if data.DataType().ID() != arrow.UINT64 {
			return refuse(BadSchema, "counter %s is %s, want uint64", c.Name, data.DataType())
		}
		if c.Values, err = values[uint64](data, rows); err != nil {
			return err
		}
		if c.Valid, err = validity(data, rows, c.Valid); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) readPorts(record arrow.Record, into *schema.CounterBatch) (err error) {
	rows := int(record.NumRows())
	if into.TimeNanos, err = values[int64](record.Column(0).Data(), rows); err != nil {
		return err
	}
	for i := range 3 {
		if err := noneMissing(record.Column(i).Data()); err != nil {
			return err
		}
	}
	for _, nanos := range into.TimeNanos {
		if nanos < 0 { // invalid, and differences of times could overflow
			return refuse(BadRows, "a reading of %d ns, before 1970", nanos)
		}
	}
	device, err := d.readDictionary(record.Column(1), rows, &d.ports.devices)
	if err != nil {
		return err
	}
	port, err := d.readDictionary(record.Column(2), rows, &d.ports.names)
	if err != nil {
		return err
	}
	d.ports.decode(device, port, into)
	return nil
}

// readDictionary validates a column of indices and stores its dictionary in texts.
func (d *Decoder) readDictionary(column arrow.Array, rows int, into *[]string) (indices []uint32, err error) {
	*into = (*into)[:0]
	if indices, err = values[uint32](column.Data(), rows); err != nil || rows == 0 {
		return nil, err
	}
	dictionary := column.(*array.Dictionary).Dictionary().Data()
	names, err := texts(dictionary, dictionary.Len(), 1, MaxNameBytes)
	if err != nil {
		return nil, err
	}
	if *into, err = d.names.distinct(names, *into); err != nil {
		return nil, err
	}
	for _, index := range indices {
		if int(index) >= len(*into) {
			return nil, refuse(BadRows, "index %d into a dictionary of %d names", index, len(*into))
		}
	}
	return indices, nil
}
