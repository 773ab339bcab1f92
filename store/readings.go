package store

import (
	"time"

	"github.com/giverny/giverny/schema"
)

// keptRaw returns the columns of a batch that are stored raw, as they were read.
func keptRaw(b *schema.CounterBatch) []*schema.CounterColumn {
	var kept []*schema.CounterColumn
	for i := range b.Columns {
		if c := &b.Columns[i]; schema.KeptRaw(c.Name) {
			kept = append(kept, c)
		}
	}
	return kept
}

// readingCount is the number of readings kept raw.
func readingCount(r *schema.IntervalResult) (n int) {
	for _, b := range r.Raw {
		for _, c := range keptRaw(b) {
			if c.Valid != nil {
				n += c.Valid.Count()
			} else {
				n += b.Rows()
			}
		}
	}
	return n
}

// readingRows has a row for each row of a batch with at least one raw reading to
// store.
func readingRows(r *schema.IntervalResult, _ *metrics) rowSet {
	room, values := 0, readingCount(r)
	for _, b := range r.Raw {
		room += b.Rows()
	}
	if values == 0 {
		room = 0
	}
	device, port, at := make(plain[string], 0, room), make(plain[string], 0, room), make(plain[time.Time], 0, room)
	counters, readings := make(nested[[]string], 0, room), make(nested[[]uint64], 0, room)
	names, read := make([]string, 0, values), make([]uint64, 0, values) // slices shared by all rows
	for _, b := range r.Raw {
		kept := keptRaw(b)
		for row := range b.Rows() {
			first := len(names)
			for _, c := range kept {
				if c.Valid == nil || c.Valid.Has(row) {
					names, read = append(names, c.Name), append(read, c.Values[row])
				}
			}
			if len(names) == first {
				continue
			}
			p := b.Ports[b.PortIndex[row]]
			device, port, at = append(device, p.Device), append(port, p.Port), append(at, instant(b.TimeNanos[row]))
			counters, readings = append(counters, names[first:]), append(readings, read[first:])
		}
	}
	return rowSet{len(at), []field{{"device", device}, {"port", port}, {"time", at}, {"counters", counters}, {"values", readings}}}
}
