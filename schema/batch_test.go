package schema

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A batch in parts by interval has the same readings as the whole: each with its instant, port, values and validity, in
// memory of its own.
func TestPartsByInterval(t *testing.T) {
	const rows = 100 // more than a word of a bitmap
	b := &CounterBatch{Fabric: "f", Source: "s", Agent: "a", Sequence: 7, Columns: []CounterColumn{{Name: "left out"}, {Name: "all"}, {Name: "some", Valid: NewBitmap(rows)}}}
	for _, name := range []string{"b", "c", "never read", "a"} {
		b.Ports = append(b.Ports, PortName{Device: "d", Port: name})
	}
	for row := range rows {
		b.TimeNanos = append(b.TimeNanos, int64(row*37%90)-45) // intervals of 10 before and after 1970
		b.PortIndex = append(b.PortIndex, uint32([]int{3, 0, 1}[row%3]))
		for c := range b.Columns {
			b.Columns[c].Values = append(b.Columns[c].Values, uint64(row))
		}
		if row%7 == 0 {
			b.Columns[2].Valid.Set(row)
		}
	}
	type reading struct {
		nanos int64
		port  string
		valid bool
	}
	list := func(b *CounterBatch, all, some int) map[uint64]reading {
		m := map[uint64]reading{}
		for row, value := range b.Columns[all].Values {
			if b.Columns[some].Values[row] != value {
				t.Errorf("row %d: the columns' values are %d and %d", row, value, b.Columns[some].Values[row])
			}
			m[value] = reading{b.TimeNanos[row], b.Ports[b.PortIndex[row]].Port, b.Columns[some].Valid.Has(row)}
		}
		return m
	}
	want, got, starts := list(b, 1, 2), map[uint64]reading{}, []int64(nil)
	for interval, of := range b.ByInterval(10) {
		starts = append(starts, interval.StartNanos)
		part := b.Part(of, []int{1, 2})
		if err := part.Check(); err != nil || len(part.Ports) > 3 || part.Fabric != "f" || part.Source != "s" || part.Agent != "a" || part.Sequence != 7 {
			t.Errorf("%v: %v, %+v", interval, err, part)
		}
		for _, nanos := range part.TimeNanos {
			if !interval.Contains(nanos) {
				t.Errorf("%v has a reading at %d", interval, nanos)
			}
		}
		maps.Copy(got, list(part, 0, 1))
		part.TimeNanos[0], part.Columns[0].Values[0], part.Columns[1].Valid[0] = -1, 999, 0
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reading{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, list(b, 1, 2), cmp.AllowUnexported(reading{})); diff != "" {
		t.Error("a change of a part changed the whole:", diff)
	}
	if want := []int64{-50, -40, -30, -20, -10, 0, 10, 20, 30, 40}; !slices.Equal(starts, want) {
		t.Errorf("intervals %v, want %v", starts, want)
	}
	for range b.ByInterval(10) { // a loop may end early
		break
	}
}

func TestResizedBitmapIsEmpty(t *testing.T) {
	b := NewBitmap(130)
	for i := range 130 {
		b.Set(i)
	}
	if b.Unset(64); b.Count() != 129 || b.Has(64) || !b.Has(63) || !b.Has(65) {
		t.Errorf("%d members, 64: %v", b.Count(), b.Has(64))
	}
	for _, n := range []int{64, 65, 130, 1000} {
		if b = b.Resize(n); len(b) != (n+63)/64 || b.Count() != 0 {
			t.Errorf("for %d: %d words, %d members", n, len(b), b.Count())
		}
		b.Set(n - 1)
	}
}

func TestCoverage(t *testing.T) {
	s := Snapshot{Links: 8, Series: []Series{{Metric: PauseRx, Count: 6}, {Metric: CreditStall, Count: 2}}}
	for metric, want := range map[Metric]float64{PauseRx: .75, CreditStall: .25, InqStall: 0} {
		if got := s.Coverage(metric); got != want {
			t.Errorf("%s: %v, want %v", metric, got, want)
		}
	}
	if s.Links = 0; s.Coverage(PauseRx) != 0 {
		t.Errorf("without links: %v", s.Coverage(PauseRx))
	}
}
