package bluewaters

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRowsOutOfOrder(t *testing.T) {
	var lines []string
	for m := range 30 {
		for x := range 3 {
			lines = append(lines, line(start+int64(m)*60, x, 0, 0, uint32(m)), line(start+int64(m)*60, x, 1, 1, uint32(m)),
				line(start+int64(m)*60, x, 1, 0, uint32(m)))
		}
	}
	shuffled := slices.Clone(lines)
	rng := rand.New(rand.NewSource(1))
	for i := range shuffled { // by up to 4 minutes
		j := min(len(shuffled)-1, i+rng.Intn(36))
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	}
	ordered, _ := mustRead(t, small(), text("f", strings.Join(lines, "")))
	got, s := mustRead(t, small(), text("f", strings.Join(shuffled, "")))
	if len(got) != len(ordered) || s.Bad() != 0 {
		t.Errorf("%d values, %d in order; %+v", len(got), len(ordered), s)
	}
	for at, v := range ordered {
		if got[at] != v {
			t.Fatalf("%v is %d, want %d", at, got[at], v)
		}
	}
}

func TestLateRowsAreCounted(t *testing.T) {
	var sb strings.Builder
	for m := range 30 {
		for n := range 12 {
			sb.WriteString(line(start+int64(m)*60, n%3, n/3%2, n/6))
		}
	}
	sb.WriteString(line(start+60, 0, 0, 0))
	cfg := small()
	_, s := mustRead(t, cfg, text("f", sb.String()))
	if s.Dropped[Late] != 0 { // a file of one block is in memory before the first minute is released
		t.Errorf("%+v", s)
	}
	sorter := newSorter(&cfg)
	var f fields
	for m := range int64(30) {
		f.unixSeconds = start + m*60
		for n := range uint32(12) {
			f.coord = [3]uint32{n / 6, n / 3 % 2, n % 3}
			sorter.add(&f)
		}
		for slot := sorter.next(false); slot != nil; slot = sorter.next(false) {
			sorter.recycle(slot)
		}
	}
	for minute, want := range map[int64]bool{18: false, 19: false, 20: true, 29: true} {
		f.unixSeconds = start + minute*60
		if why, ok := sorter.add(&f); ok != want || !ok && why != Late {
			t.Errorf("a row of minute %d, the newest being 29: %v %v", minute, why, ok)
		}
	}
}

// A clock that is years off neither ends the window for all others nor makes a batch.
func TestBrokenClocks(t *testing.T) {
	var sb strings.Builder
	sb.WriteString(line(5, 0, 0, 0))
	for m := range 40 {
		if m == 7 {
			sb.WriteString(line(start+1e8, 0, 0, 0))
		}
		for n := range 12 {
			sb.WriteString(line(start+int64(m)*60, n%3, n/3%2, n/6))
		}
	}
	got, s := mustRead(t, small(), text("f", sb.String()))
	if s.Batches != 40 || len(got) != 40*12*18 || s.Dropped[Stray] != 2 || s.Dropped[Late] != 0 {
		t.Errorf("%d values, %+v", len(got), s)
	}
}

// An extract of one switch has too few rows to confirm any minute.
func TestFewRowsAMinute(t *testing.T) {
	var sb strings.Builder
	for m := range 500 {
		sb.WriteString(line(start+int64(m)*60, 1, 1, 1, uint32(m)))
	}
	got, s := mustRead(t, small(), text("f", sb.String()))
	if s.Batches != 500 || len(got) != 500*18 || s.Bad() != 0 {
		t.Errorf("%d values, %+v", len(got), s)
	}
}

// The files of the release may be written in blocks of nodes, each with the whole day.
func TestFileInBlocksOfNodes(t *testing.T) {
	var blocks strings.Builder
	for n := range 12 {
		for m := range 300 {
			blocks.WriteString(line(start+int64(m)*60, n%3, n/3%2, n/6, uint32(n*m)))
		}
	}
	path := filepath.Join(t.TempDir(), "20170101")
	padded := strings.Repeat(blocks.String(), 1+probeBytes/blocks.Len()) // large enough to be probed at many places
	if err := os.WriteFile(path, []byte(padded), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, in := range []Input{text("sequential", blocks.String()), File(path)} {
		got, s := mustRead(t, small(), in)
		if s.Batches != 300 || len(got) != 300*12*18 || s.Bad() != 0 || !slices.Equal(s.WholeFiles, []string{in.Name}) {
			t.Errorf("%s: %d values, %+v", in.Name, len(got), s)
		}
	}
}

// Times that are garbage cost neither memory without bound nor the rows of the day: a file sorted whole holds two days of
// minutes, and names the rows beyond; one in the order of time releases minutes as it goes.
func TestMinutesInMemoryAreBounded(t *testing.T) {
	const day, garbage = 1440, 4000
	var sb strings.Builder
	for n := range 12 {
		for m := range day {
			sb.WriteString(line(start+int64(m)*60, n%3, n/3%2, n/6))
		}
	}
	for i := range garbage {
		sb.WriteString(line(int64(i)*10_007*60, 0, 0, 0))
	}
	whole := small()
	whole.MaxLatePercent = 100
	r, err := NewReader(whole, text("blocks", sb.String()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, r)
	s, limit := r.Summary(), maxHeldMinutes+whole.WindowMinutes
	if err != nil || len(got) != day*12*18 || s.Dropped[Unheld] != int64(garbage-(limit-day)) || s.Bad() != garbage {
		t.Errorf("%d values, %+v, %v", len(got), s, err)
	}
	if n := len(r.sorter.free); n > limit {
		t.Errorf("%d minutes in memory, want at most %d", n, limit)
	}
	if want := (LineError{"blocks", day*12 + limit - day + 1, 1, Unheld, fmt.Sprint((limit - day) * 10_007 * 60)}); len(s.FirstErrors) == 0 || s.FirstErrors[0] != want {
		t.Errorf("%+v, want first %+v", s.FirstErrors, want)
	}
	strict, _ := NewReader(small(), text("blocks", sb.String()))
	var long *TooLongError
	if _, err := readAll(t, strict); !errors.As(err, &long) || !strings.Contains(err.Error(), "sort the file") {
		t.Errorf("%v, want an error with advice", err)
	}
	sb.Reset()
	for m := range 5000 {
		sb.WriteString(line(start+int64(m)*60, 1, 1, 1))
	}
	if r, err = NewReader(small(), text("ordered", sb.String())); err != nil {
		t.Fatal(err)
	}
	got, err = readAll(t, r)
	if n := len(r.sorter.free); err != nil || len(got) != 5000*18 || n > 100 {
		t.Errorf("%d values, %d minutes in memory, %v", len(got), n, err)
	}
}

// Files that are sorted whole are sorted one by one.
func TestWholeFilesOneByOne(t *testing.T) {
	cfg := small()
	cfg.WholeFile = true
	var days []Input
	for d := range 5 {
		var sb strings.Builder
		for m := range 1440 {
			for n := range 12 {
				sb.WriteString(line(start+int64(1440*d+m)*60, n%3, n/3%2, n/6))
			}
		}
		days = append(days, text("day", sb.String()))
	}
	got, s := mustRead(t, cfg, days...)
	if len(got) != 5*1440*12*18 || s.Bad() != 0 {
		t.Errorf("%d values, %+v", len(got), s)
	}
}

// If the probe is insufficient, reading fails with advice.
func TestUnorderedFileEndsWithAnError(t *testing.T) {
	s := Summary{Rows: 20_000, MaxLateMinutes: 77}
	s.Dropped[Late] = 201
	cfg := small()
	err := s.judge(&cfg, false)
	var unordered *UnorderedError
	if !errors.As(err, &unordered) || !strings.Contains(err.Error(), "sort the file") {
		t.Errorf("%v", err)
	}
	if s.Dropped[Late] = 200; s.judge(&cfg, false) != nil {
		t.Error("one percent is allowed")
	}
}
