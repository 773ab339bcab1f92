package analysis_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
)

// rowsOf returns some rows of a batch as a batch.
func rowsOf(b *schema.CounterBatch, from, to int, sequence uint64) *schema.CounterBatch {
	part := *b
	part.Sequence, part.TimeNanos, part.PortIndex, part.Columns = sequence, b.TimeNanos[from:to], b.PortIndex[from:to], slices.Clone(b.Columns)
	for i := range part.Columns {
		part.Columns[i].Values = part.Columns[i].Values[from:to]
	}
	return &part
}

// digest returns results as text to compare. It leaves out how raw readings are split
// into batches, and the count of unknown columns, which is by batch.
func digest(all []*schema.IntervalResult) []string {
	var lines []string
	for _, r := range all {
		s := r.Snapshot
		delete(r.Dropped, "unknown_counter")
		regions, _ := json.Marshal(r.Regions) // prints what pointers point to, not addresses
		lines = append(lines, fmt.Sprint(s.Interval, s.Samples, s.LastReadNanos, r.Dropped, string(regions), r.Events))
		for _, series := range s.Series {
			lines = append(lines, fmt.Sprint(series.Metric, series.Count, series.Values, series.Valid))
		}
		for _, raw := range r.Raw {
			for i, nanos := range raw.TimeNanos {
				lines = append(lines, fmt.Sprint(nanos, raw.Ports[raw.PortIndex[i]], raw.Columns[0].Values[i]))
			}
		}
	}
	return lines
}

func TestHowBatchesAreSplitDoesNotMatter(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	rapid.Check(t, func(t *rapid.T) {
		f := fabric{graph: g}
		whole, split := newCore(t, g), newCore(t, g)
		var got, want []*schema.IntervalResult
		sequence := uint64(0)
		polls := rapid.Int64Range(2, 8).Draw(t, "polls")
		for s := int64(10); s < 10+polls; s++ {
			hot := rapid.Uint64Range(0, 3).Draw(t, "hot") * 15
			b := f.poll(s*second+rapid.Int64Range(0, second-1).Draw(t, "skew"), func(l schema.LinkID) uint64 { return hot * uint64(l%2) })
			if err := whole.Add(b); err != nil {
				t.Fatal(err)
			}
			for from := 0; from < b.Rows(); {
				to := rapid.IntRange(from+1, b.Rows()).Draw(t, "cut")
				sequence++
				if err := split.Add(rowsOf(b, from, to, sequence)); err != nil {
					t.Fatal(err)
				}
				from = to
			}
			got, want = append(got, results(split, s*second)...), append(want, results(whole, s*second)...)
		}
		got, want = append(got, results(split, 30*second)...), append(want, results(whole, 30*second)...)
		if g, w := digest(got), digest(want); !slices.Equal(g, w) {
			t.Fatal(cmp.Diff(w, g))
		}
	})
}

func TestGapsInTheNumbersOfBatchesAreCounted(t *testing.T) {
	g := newGraph(t, "torus:4x4")
	f, core := fabric{graph: g}, newCore(t, g)
	first := f.poll(10*second, calm)
	f.sequence += 3
	next := f.poll(11*second, calm)
	add(t, core, first, next, first)
	if n := core.MissingBatches(); n != 3 {
		t.Errorf("%d batches missing, want 3", n)
	}
}
