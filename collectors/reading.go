package collectors

import (
	"time"
	"unicode/utf8"

	"github.com/giverny/giverny/schema"
)

// Reading is what one device returned in one poll. A device fills it row by row; the
// poller merges the readings of all devices into batches.
type Reading struct {
	rows       []row
	cells      []cell
	unreadable [NumReasons]int
	examples   [NumReasons]error // the first of each
}

type row struct {
	set       string
	port      schema.PortName
	timeNanos int64
	first     int // index of its first cell
}

type cell struct {
	name  string
	value uint64
}

// Row begins a row read now. Rows of the same set mostly have the same counters (a
// driver, a kind of query) and share a batch.
func (r *Reading) Row(set string, port schema.PortName) {
	r.RowAt(set, port, time.Now().UnixNano())
}

// RowAt begins a row read at timeNanos, ns UTC.
func (r *Reading) RowAt(set string, port schema.PortName, timeNanos int64) {
	r.rows = append(r.rows, row{set, port, timeNanos, len(r.cells)})
}

// Put adds a counter to the current row, under its canonical name, at most once per
// row. Omit counters without a reading.
func (r *Reading) Put(name string, value uint64) { r.cells = append(r.cells, cell{name, value}) }

// Unreadable counts a counter that the device has but could not read. The error names it.
func (r *Reading) Unreadable(err error) {
	why := ReasonOf(err)
	if r.unreadable[why]++; r.examples[why] == nil {
		r.examples[why] = err
	}
}

func (r *Reading) reset() {
	r.rows, r.cells, r.unreadable, r.examples = r.rows[:0], r.cells[:0], [NumReasons]int{}, [NumReasons]error{}
}

func (r *Reading) cellsOf(i int) []cell {
	if i+1 < len(r.rows) {
		return r.cells[r.rows[i].first:r.rows[i+1].first]
	}
	return r.cells[r.rows[i].first:]
}

// batcher merges readings into one batch per set of counters.
type batcher struct {
	sets  []*setBatch // in order of first appearance
	bySet map[string]*setBatch
}

type setBatch struct {
	batch   schema.CounterBatch
	ports   map[schema.PortName]uint32
	columns map[string]int
	valid   []schema.Bitmap // per column; complete columns are sent without
	count   []int           // readings per column
}

func newBatcher() *batcher { return &batcher{bySet: map[string]*setBatch{}} }

// reset empties the batches and keeps their memory for reuse.
func (b *batcher) reset() {
	for _, s := range b.sets {
		s.batch.Reset()
		clear(s.ports)
		clear(s.columns)
	}
}

// add appends the rows of a reading, without those that have no counters. refused
// counts the counters that a batch cannot carry: a counter or port name that is empty,
// too long or not UTF-8, a duplicate in a row, or one column too many.
func (b *batcher) add(r *Reading) (rows, refused int) {
	for i := range r.rows {
		cells := r.cellsOf(i)
		s := b.set(r.rows[i].set)
		n := s.batch.Rows()
		refused += s.addRow(&r.rows[i], cells)
		rows += s.batch.Rows() - n
	}
	return rows, refused
}

func (b *batcher) set(name string) *setBatch {
	s := b.bySet[name]
	if s == nil {
		s = &setBatch{ports: map[schema.PortName]uint32{}, columns: map[string]int{}}
		b.bySet[name] = s
		b.sets = append(b.sets, s)
	}
	return s
}

func (s *setBatch) addRow(r *row, cells []cell) (refused int) {
	if len(cells) == 0 {
		return 0
	}
	port, ok := s.port(r.port)
	if !ok {
		return len(cells)
	}
	n := s.batch.Rows()
	for i, c := range cells {
		k, ok := s.column(i, c.name)
		if !ok || len(s.batch.Columns[k].Values) > n {
			refused++
			continue
		}
		column := &s.batch.Columns[k]
		column.Values = append(grow(column.Values, n), c.value)
		s.valid[k] = grow(s.valid[k], n>>6+1)
		s.valid[k].Set(n)
		s.count[k]++
	}
	if refused == len(cells) {
		return refused
	}
	s.batch.TimeNanos = append(s.batch.TimeNanos, r.timeNanos)
	s.batch.PortIndex = append(s.batch.PortIndex, port)
	return refused
}

func (s *setBatch) port(name schema.PortName) (index uint32, ok bool) {
	if index, ok = s.ports[name]; ok {
		return index, true
	}
	if !sound(name.Device) || !sound(name.Port) {
		return 0, false
	}
	index = uint32(len(s.batch.Ports))
	s.ports[name] = index
	s.batch.Ports = append(s.batch.Ports, name)
	return index, true
}

// Limits of the wire format; a device that returns garbage must not invalidate the
// batch.
const (
	maxNameBytes = 256
	maxColumns   = 1024
)

func sound(name string) bool {
	return name != "" && len(name) <= maxNameBytes && utf8.ValidString(name)
}

// column finds or adds the column of a name; cells are mostly in column order.
func (s *setBatch) column(guess int, name string) (k int, ok bool) {
	if guess < len(s.batch.Columns) && s.batch.Columns[guess].Name == name {
		return guess, true
	}
	if k, ok = s.columns[name]; ok {
		return k, true
	}
	k = len(s.batch.Columns)
	if k == maxColumns || !sound(name) {
		return 0, false
	}
	s.columns[name] = k
	if k == cap(s.batch.Columns) || k == len(s.valid) {
		s.batch.Columns = append(s.batch.Columns, schema.CounterColumn{Name: name})
		s.valid, s.count = append(s.valid[:k], nil), append(s.count[:k], 0)
		return k, true
	}
	s.batch.Columns = s.batch.Columns[:k+1] // reuses the memory of an earlier poll
	column := &s.batch.Columns[k]
	column.Name, column.Values = name, column.Values[:0]
	s.valid[k], s.count[k] = s.valid[k][:0], 0
	return k, true
}

// finish gives every column one value per row.
func (s *setBatch) finish() *schema.CounterBatch {
	n := s.batch.Rows()
	for k := range s.batch.Columns {
		column := &s.batch.Columns[k]
		column.Values = grow(column.Values, n)
		s.valid[k] = grow(s.valid[k], (n+63)>>6)
		if column.Valid = s.valid[k]; s.count[k] == n {
			column.Valid = nil
		}
	}
	return &s.batch
}

// grow appends zeros until values has n elements.
func grow[S ~[]uint64](values S, n int) S {
	for len(values) < n {
		values = append(values, 0)
	}
	return values
}
