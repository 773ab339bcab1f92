package collectors

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
)

// Compares the batcher with the readings: no value is lost, invented or moved, for any
// combination of counters, poll after poll with reused memory.
func TestBatcherKeepsEveryReading(t *testing.T) {
	type key struct {
		set, name string
		row       int
	}
	rapid.Check(t, func(t *rapid.T) {
		b := newBatcher()
		for range rapid.IntRange(1, 4).Draw(t, "polls") {
			b.reset()
			want := map[key]uint64{}
			rowsOf := map[string]int{}
			for d := range rapid.IntRange(0, 5).Draw(t, "devices") {
				r := &Reading{}
				for p := range rapid.IntRange(0, 4).Draw(t, "ports") {
					set := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "set")
					names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 5, rapid.ID[string]).Draw(t, "names")
					r.Row(set, schema.PortName{Device: fmt.Sprint(d), Port: fmt.Sprint(p)})
					for _, n := range names {
						v := rapid.Uint64().Draw(t, "value")
						r.Put(n, v)
						want[key{set, n, rowsOf[set]}] = v
					}
					if len(names) > 0 {
						rowsOf[set]++
					}
				}
				b.add(r)
			}
			got := 0
			for name, s := range b.bySet {
				batch := s.finish()
				if batch.Rows() != rowsOf[name] {
					t.Fatalf("set %s has %d rows, want %d", name, batch.Rows(), rowsOf[name])
				}
				for _, c := range batch.Columns {
					for row := range batch.Rows() {
						if c.Valid != nil && !c.Valid.Has(row) {
							continue
						}
						got++
						if v, ok := want[key{name, c.Name, row}]; !ok || v != c.Values[row] {
							t.Fatalf("%s row %d: %s = %d, want %d (%v)", name, row, c.Name, c.Values[row], v, ok)
						}
					}
				}
			}
			if got != len(want) {
				t.Fatalf("%d readings, want %d", got, len(want))
			}
		}
	})
}

func TestBatcherRefusesWhatCannotTravel(t *testing.T) {
	port := func(device string) schema.PortName { return schema.PortName{Device: device, Port: "1"} }
	b, r := newBatcher(), &Reading{}
	for _, device := range []string{"", "caf\xe9", strings.Repeat("x", 257), "good", "bare"} {
		r.RowAt("set", port(device), 1)
		r.Put("a.one", 1)
		if device == "good" {
			for _, name := range []string{"a.one", "", "a.\xff", strings.Repeat("y", 257), "a.two"} {
				r.Put(name, 2)
			}
		}
	}
	r.RowAt("set", port("only rubbish"), 1)
	r.Put("", 1)
	if rows, refused := b.add(r); rows != 2 || refused != 3+4+1 {
		t.Errorf("%d rows, %d counters refused; want 2 and 8", rows, refused)
	}
	batch := b.bySet["set"].finish()
	if len(batch.Columns) != 2 || batch.Columns[0].Values[0] != 1 || batch.Columns[1].Values[0] != 2 || batch.Columns[1].Valid.Has(1) || batch.Columns[0].Valid != nil {
		t.Errorf("%+v", batch)
	}
	b.reset()
	r.reset()
	r.RowAt("set", port("wide"), 1)
	for i := range maxColumns + 5 {
		r.Put(fmt.Sprint("a.", i), 1)
	}
	if rows, refused := b.add(r); rows != 1 || refused != 5 {
		t.Errorf("%d rows, %d counters refused; want 1 and 5", rows, refused)
	}
}

func TestBatcherAllocatesNothingOnceWarm(t *testing.T) {
	b, r := newBatcher(), &Reading{}
	names := []string{"ib.a", "ib.b", "ib.c"}
	ports := make([]schema.PortName, 100)
	for i := range ports {
		ports[i] = schema.PortName{Device: fmt.Sprint(i), Port: "1"}
	}
	poll := func() {
		b.reset()
		r.reset()
		for i := range ports {
			r.RowAt("set", ports[i], int64(i))
			for _, n := range names[:1+i%3] {
				r.Put(n, 1)
			}
		}
		b.add(r)
		for _, s := range b.sets {
			s.finish()
		}
	}
	poll()
	if n := testing.AllocsPerRun(20, poll); n > 0 {
		t.Errorf("%v allocations per poll", n)
	}
}

func TestReasonOf(t *testing.T) {
	for err, want := range map[error]Reason{
		context.DeadlineExceeded:                    Timeout,
		&fs.PathError{Err: syscall.EACCES}:          Refused,
		&fs.PathError{Err: syscall.EPERM}:           Refused,
		&fs.PathError{Err: syscall.ENOENT}:          Gone,
		&fs.PathError{Err: syscall.ENODEV}:          Gone,
		syscall.EOPNOTSUPP:                          Unsupported,
		&fs.PathError{Err: syscall.EINVAL}:          Unsupported,
		&fs.PathError{Err: syscall.EIO}:             Failed,
		fmt.Errorf("line 3: %w", ErrMalformed):      Malformed,
		fmt.Errorf("%w: 3 polls to go", ErrBackoff): Backoff,
		errors.New("something"):                     Failed,
	} {
		if got := ReasonOf(err); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}
