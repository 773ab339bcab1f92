package schema

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// PortName names a port within a fabric.
type PortName struct {
	Device string `json:"device"`
	Port   string `json:"port"`
}

// CounterColumn is one counter of a batch, with one value per row.
type CounterColumn struct {
	Name   string   // canonical name, see LookupCounter; unknown names are kept unchanged
	Values []uint64 // raw readings, len = rows
	Valid  Bitmap   // nil: every row has a value; missing is not zero
}

// CounterBatch is the result of one poll of a source: a row per port and
// instant, a column per counter. Columns match how devices report (each has its
// set of counters), and an unknown counter is just another column.
//
// Rows of one port must be in order of time within a batch. A batch owns its
// slices; Reset keeps their memory.
type CounterBatch struct {
	Fabric   string
	Source   string // name of the collector: "ibsysfs", "perfquery", ...
	Agent    string // the agent that read it: host name of the collector
	Sequence uint64 // incremented per batch of a fabric, source and agent, lost ones included; a gap means lost batches
	// Epoch changes when the source knows that its counters were reset (agent
	// restart with a driver reload, a reset command), or the clock by which they are read
	// was set: no difference is formed across the change. 0 if it cannot know.
	Epoch uint64
	// IntervalNanos is the polling interval the readings belong to.
	IntervalNanos int64

	Ports     []PortName // dictionary for PortIndex, no duplicates
	TimeNanos []int64    // when the row was read, by the source's clock, ns UTC
	PortIndex []uint32   // index into Ports
	Columns   []CounterColumn
}

// Rows returns the number of rows.
func (b *CounterBatch) Rows() int { return len(b.TimeNanos) }

// Reset empties the batch and keeps its memory.
func (b *CounterBatch) Reset() {
	b.Ports, b.TimeNanos, b.PortIndex = b.Ports[:0], b.TimeNanos[:0], b.PortIndex[:0]
	b.Columns = b.Columns[:0]
}

// Check returns the first inconsistency of a batch's slices. Indices in a valid
// batch are within bounds.
func (b *CounterBatch) Check() error {
	rows := b.Rows()
	if len(b.PortIndex) != rows {
		return fmt.Errorf("%d port indices for %d rows", len(b.PortIndex), rows)
	}
	for i := range b.Columns {
		if c := &b.Columns[i]; len(c.Values) != rows || c.Valid != nil && len(c.Valid)*64 < rows {
			return fmt.Errorf("counter %q has %d values and %d validity bits for %d rows", c.Name, len(c.Values), len(c.Valid)*64, rows)
		}
	}
	for row, i := range b.PortIndex {
		if int(i) >= len(b.Ports) {
			return fmt.Errorf("row %d has port index %d in a dictionary of %d", row, i, len(b.Ports))
		}
	}
	return nil
}

// ByInterval groups the rows by interval of the given length, in order of time, without empty intervals.
func (b *CounterBatch) ByInterval(intervalNanos int64) iter.Seq2[Interval, []int] {
	rows := map[int64][]int{}
	for row, nanos := range b.TimeNanos {
		start := IntervalAt(nanos, intervalNanos).StartNanos
		rows[start] = append(rows[start], row)
	}
	return func(yield func(Interval, []int) bool) {
		for _, start := range slices.Sorted(maps.Keys(rows)) {
			if !yield(IntervalAt(start, intervalNanos), rows[start]) {
				return
			}
		}
	}
}

// Part copies some rows of some columns into new memory, with only the ports of these rows.
func (b *CounterBatch) Part(rows, columns []int) *CounterBatch {
	p := *b
	p.Fabric, p.Source, p.Agent = strings.Clone(b.Fabric), strings.Clone(b.Source), strings.Clone(b.Agent)
	p.Ports, p.Columns = nil, make([]CounterColumn, len(columns))
	p.TimeNanos, p.PortIndex = make([]int64, len(rows)), make([]uint32, len(rows))
	renamed := map[uint32]uint32{}
	for n, row := range rows {
		was := b.PortIndex[row]
		port, known := renamed[was]
		if !known {
			port = uint32(len(p.Ports))
			renamed[was] = port
			p.Ports = append(p.Ports, PortName{strings.Clone(b.Ports[was].Device), strings.Clone(b.Ports[was].Port)})
		}
		p.TimeNanos[n], p.PortIndex[n] = b.TimeNanos[row], port
	}
	for i, column := range columns {
		p.Columns[i] = b.Columns[column].part(rows)
	}
	return &p
}

func (c *CounterColumn) part(rows []int) CounterColumn {
	p := CounterColumn{Name: strings.Clone(c.Name), Values: make([]uint64, len(rows))}
	if c.Valid != nil {
		p.Valid = NewBitmap(len(rows))
	}
	for n, row := range rows {
		p.Values[n] = c.Values[row]
		if c.Valid != nil && c.Valid.Has(row) {
			p.Valid.Set(n)
		}
	}
	return p
}
