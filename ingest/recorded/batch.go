package recorded

import (
	"time"

	"github.com/giverny/giverny/schema"
)

// Batch collects rows into a batch of the schema. They may have different counters, but the same schema.KeyCounter.
type Batch struct {
	batch   schema.CounterBatch
	key     string
	ports   map[schema.PortName]uint32
	columns map[string]int
	present [][]int // by column: rows that have it
}

// NewBatch returns an empty batch of a fabric.
func NewBatch(fabric string, sequence uint64, interval time.Duration) *Batch {
	return &Batch{
		batch: schema.CounterBatch{Fabric: fabric, Source: "recorded", Agent: "recorded", Sequence: sequence, IntervalNanos: int64(interval)},
		ports: map[schema.PortName]uint32{}, columns: map[string]int{},
	}
}

// Fits reports whether a row belongs into the batch.
func (b *Batch) Fits(r Row) bool {
	return b.batch.Rows() == 0 || schema.KeyCounter(r.Counters) == b.key
}

// Add adds a row and returns the number of rows.
func (b *Batch) Add(r Row) int {
	if b.batch.Rows() == 0 {
		b.key = schema.KeyCounter(r.Counters)
	}
	port := schema.PortName{Device: r.Device, Port: r.Port}
	index, known := b.ports[port]
	if !known {
		index = uint32(len(b.batch.Ports))
		b.ports[port] = index
		b.batch.Ports = append(b.batch.Ports, port)
	}
	row := b.batch.Rows()
	b.batch.TimeNanos, b.batch.PortIndex = append(b.batch.TimeNanos, r.Time.UnixNano()), append(b.batch.PortIndex, index)
	for name, value := range r.Counters {
		k, known := b.columns[name]
		if !known {
			k = len(b.batch.Columns)
			b.columns[name] = k
			b.batch.Columns, b.present = append(b.batch.Columns, schema.CounterColumn{Name: name}), append(b.present, nil)
		}
		column := &b.batch.Columns[k]
		column.Values = append(filled(column.Values, row), value)
		b.present[k] = append(b.present[k], row)
	}
	return b.batch.Rows()
}

// Finish returns the batch, in which every column has a value or a gap for every row. No more rows may be added.
func (b *Batch) Finish() *schema.CounterBatch {
	rows := b.batch.Rows()
	for k := range b.batch.Columns {
		column := &b.batch.Columns[k]
		column.Values, column.Valid = filled(column.Values, rows), schema.NewBitmap(rows)
		for _, row := range b.present[k] {
			column.Valid.Set(row)
		}
	}
	if k, has := b.columns[b.key]; has {
		columns := b.batch.Columns
		columns[0], columns[k] = columns[k], columns[0]
	}
	return &b.batch
}

// filled appends zeros up to a length.
func filled(values []uint64, length int) []uint64 {
	return append(values, make([]uint64, length-len(values))...)
}
