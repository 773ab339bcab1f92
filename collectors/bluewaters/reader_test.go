package bluewaters

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const start = int64(1483228800) // 2017-01-01

func small() Config {
	cfg := DefaultConfig("gemini")
	cfg.Dims = [3]int{3, 2, 2}
	return cfg
}

func text(name, content string) Input {
	return Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

// reading is one value of a batch.
type reading struct {
	nanos                int64
	device, port, column string
}

// readAll reads to the end and returns every value, checking the guarantees of batches
// on the way.
func readAll(t interface {
	Helper()
	Errorf(string, ...any)
}, r *Reader) (map[reading]uint64, error) {
	t.Helper()
	got := map[reading]uint64{}
	last := int64(math.MinInt64)
	for n := uint64(1); ; n++ {
		b, err := r.Next()
		if err != nil {
			if _, again := r.Next(); again != err {
				t.Errorf("behind the end: %v, then %v", err, again)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return got, err
		}
		if b.Sequence != n || b.TimeNanos[0] <= last || b.IntervalNanos != intervalNanos {
			t.Errorf("batch %d has sequence %d and time %d behind %d", n, b.Sequence, b.TimeNanos[0], last)
		}
		last = b.TimeNanos[0]
		for i, p := range b.PortIndex {
			if b.TimeNanos[i] != last {
				t.Errorf("batch %d holds two instants", n)
			}
			for _, c := range b.Columns {
				at := reading{b.TimeNanos[i], b.Ports[p].Device, b.Ports[p].Port, c.Name}
				if _, twice := got[at]; twice {
					t.Errorf("%v is duplicated", at)
				}
				got[at] = c.Values[i]
			}
		}
	}
}

func mustRead(t *testing.T, cfg Config, inputs ...Input) (map[reading]uint64, Summary) {
	t.Helper()
	r, err := NewReader(cfg, inputs...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t, r)
	if err != nil {
		t.Fatal(err)
	}
	return got, r.Summary()
}

func line(seconds int64, x, y, z int, values ...uint32) string {
	r := dayRow{unixSeconds: seconds, x: x, y: y, z: z}
	copy(r.creditStall[:], values)
	return string(appendRow(nil, &r))
}

func TestReadsARow(t *testing.T) {
	r := dayRow{unixSeconds: start + 61, x: 2, y: 1, z: 0}
	for d := range numDirections {
		r.creditStall[d], r.inqStall[d], r.usedBandwidth[d] = uint32(100+d), uint32(200+d), uint32(300+d)
	}
	got, s := mustRead(t, small(), text("20170101", string(appendRow(nil, &r))))
	if len(got) != 18 || s.Rows != 1 || s.Bad() != 0 || s.Batches != 1 || s.Files != 1 {
		t.Errorf("%d values, %+v", len(got), s)
	}
	at := (start + 60) * nanosPerSecond
	for port, want := range map[string]uint64{"Z-": 0, "Z+": 1, "Y-": 2, "Y+": 3, "X-": 4, "X+": 5} {
		for column, base := range map[string]uint64{"gemini.credit_stall": 100, "gemini.inq_stall": 200, "gemini.used_bw": 300} {
			if v := got[reading{at, "2,1,0", port, column}]; v != base+want {
				t.Errorf("%s of %s is %d, want %d", column, port, v, base+want)
			}
			if _, known := schema.LookupCounter(column); !known {
				t.Errorf("the schema does not know %s", column)
			}
		}
	}
}

// The graph and the files use the same port names.
func TestPortsAreThoseOfTheGrid(t *testing.T) {
	cfg := DefaultConfig("gemini")
	cfg.Dims = [3]int{4, 3, 5}
	g, err := topology.NewGrid("gemini", cfg.Dims[:], true)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range cfg.portNames() {
		if _, ok := g.FindPort(p.Device, p.Port); !ok {
			t.Errorf("the torus has no port %v", p)
		}
		if d, _ := g.FindDevice(p.Device); int(d) != i/int(numDirections) {
			t.Errorf("switch %s is number %d of the torus, %d here", p.Device, d, i/int(numDirections))
		}
	}
}

func TestTheLargerOfTwoNodesHolds(t *testing.T) {
	got, s := mustRead(t, small(), text("f", line(start, 0, 0, 0, 5, 9)+line(start+3, 0, 0, 0, 7, 1)+line(start+29, 0, 0, 0, 6, 2)))
	at := start * nanosPerSecond
	if got[reading{at, "0,0,0", "Z-", creditStall}] != 7 || got[reading{at, "0,0,0", "Z+", creditStall}] != 9 || s.Batches != 1 {
		t.Errorf("%v, %+v", got, s)
	}
}

func TestBadRowsAreNamedAndTheOthersKept(t *testing.T) {
	lines := []string{
		line(start, 0, 0, 0),
		"1483228800,1,2\n",
		line(start, 1, 0, 0),
		strings.Replace(line(start, 2, 0, 0), ",0", ",-4", 1),
		strings.Replace(line(start, 2, 0, 0), ",0", ",nan", 1),
		"\r\n",
		strings.Replace(line(start, 2, 0, 0), ",0", ",200000000", 1),
		strings.Repeat("x", 500) + "\n",
		line(start, 3, 0, 0),
		"#" + line(start, 2, 1, 1),
		line(start, 0, 1, 9),
		strings.TrimSuffix(line(start, 2, 1, 1), "\n"), // without a final line end
	}
	cfg := small()
	cfg.MaxOutsidePercent = 50
	got, s := mustRead(t, cfg, text("20170101", strings.Join(lines, "")))
	if len(got) != 3*18 || s.Rows != 11 || s.Bad() != 8 {
		t.Errorf("%d values of 3 rows, %+v", len(got), s)
	}
	var said []string
	for i := range s.FirstErrors {
		said = append(said, s.FirstErrors[i].Error())
	}
	want := []string{
		`20170101:2: column 3: "1483228800,1,2": want 22 columns, or as many as the header has`,
		`20170101:4: column 2: "-4": negative`,
		`20170101:5: column 2: "nan": not a number (NaN)`,
		`20170101:7: column 2: "200000000": more than 100 percent`,
		`20170101:8: column 1: "` + strings.Repeat("x", 60) + `...": want a number`,
		`20170101:10: column 1: "#1483228800": want a number`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("the summary says\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if fmt.Sprint(s.FirstOutside) != "[3,0,0 0,1,9]" {
		t.Errorf("outside: %v", s.FirstOutside)
	}
	for why, want := range map[Reason]int64{WrongColumns: 1, Negative: 1, NaN: 1, TooLarge: 1, NotANumber: 2, Outside: 2, Late: 0} {
		if s.Dropped[why] != want {
			t.Errorf("%d rows dropped as %v, want %d", s.Dropped[why], why, want)
		}
	}
}

func TestWrongTorus(t *testing.T) {
	r, err := NewReader(small(), text("f", line(start, 0, 0, 0)+line(start, 9, 0, 0)+line(start, 9, 1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = readAll(t, r)
	var wrong *WrongTopologyError
	if !errors.As(err, &wrong) || wrong.Outside != 2 || !strings.Contains(err.Error(), "wrong topology") || !strings.Contains(err.Error(), "(9,0,0), (9,1,0)") {
		t.Errorf("%v", err)
	}
}

// If no row can be parsed, these are the wrong files; one valid row suffices.
func TestNoRowCanBeUnderstood(t *testing.T) {
	r, err := NewReader(small(), text("f", "root:x:0\nbin:x:1\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = readAll(t, r)
	var other *NotDayFilesError
	if !errors.As(err, &other) || other.Rows != 2 || !strings.Contains(err.Error(), `f:1: column 1: "root:x:0"`) {
		t.Errorf("%v", err)
	}
	if _, s := mustRead(t, small(), text("f", "root:x:0\n"), text("g", line(start, 0, 0, 0))); s.Bad() != 1 {
		t.Errorf("%+v", s)
	}
}

func TestHeaderedAndPackedFiles(t *testing.T) {
	rows := line(start, 0, 0, 0, 1) + line(start+60, 1, 0, 0, 2)
	plain, _ := mustRead(t, small(), text("f", rows))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(header() + rows))
	z.Close()
	var zst bytes.Buffer
	zw, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	zw.Write([]byte(header() + rows))
	zw.Close()
	for _, in := range []Input{text("zst", zst.String()), text("header", header()+rows), text("crlf", strings.ReplaceAll(header()+rows, "\n", "\r\n")), text("packed", packed.String())} {
		got, s := mustRead(t, small(), in)
		if len(got) != len(plain) || s.Rows != 2 || s.Bad() != 0 {
			t.Errorf("%s: %d values, %+v", in.Name, len(got), s)
		}
		for at, v := range plain {
			if got[at] != v {
				t.Errorf("%s: %v is %d, want %d", in.Name, at, got[at], v)
			}
		}
	}
	for name, content := range map[string]string{"bad header": "#Time,CompId\n", "truncated": packed.String()[:packed.Len()-9], "endless line": strings.Repeat("1", 9<<20)} {
		r, err := NewReader(small(), text(name, content))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t, r); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSeveralFilesGoOnAtMidnight(t *testing.T) {
	midnight := start + 86400
	first := line(midnight-60, 0, 0, 0, 1) + line(midnight-5, 1, 0, 0, 2) // belongs to the minute at midnight
	second := line(midnight, 0, 0, 0, 3) + line(midnight+60, 0, 0, 0, 4)
	got, s := mustRead(t, small(), text("20170101", first), text("20170102", second))
	if s.Batches != 3 || s.Files != 2 || s.Bad() != 0 {
		t.Errorf("%+v", s)
	}
	at := midnight * nanosPerSecond
	if got[reading{at, "1,0,0", "Z-", creditStall}] != 2 || got[reading{at, "0,0,0", "Z-", creditStall}] != 3 {
		t.Errorf("%v", got)
	}
	r, err := NewReader(small(), text("a", first), File(filepath.Join(t.TempDir(), "missing")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(t, r); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	_, err := NewReader(Config{MaxLatePercent: -1, MaxOutsidePercent: 101, MaxLineErrors: -1}, text("f", ""))
	for _, key := range []string{"fabric", "dims[0]", "dims[2]", "window_minutes", "max_late_percent", "max_outside_percent", "max_line_errors"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
	if _, err := NewReader(DefaultConfig("f")); err == nil {
		t.Error("no files is no error")
	}
}

// naive is a straightforward reader.
func naive(t *rapid.T, content string) map[reading]uint64 {
	records, err := csv.NewReader(strings.NewReader(content)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[reading]uint64{}
	for _, rec := range records {
		seconds, err := strconv.ParseFloat(rec[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		minute := math.Ceil((seconds-float64(start)+30)/60) - 1
		for c, port := range []string{"Z-", "Z+", "Y-", "Y+", "X-", "X+"} {
			for k, column := range []string{"gemini.credit_stall", "gemini.inq_stall", "gemini.used_bw"} {
				v, err := strconv.ParseFloat(rec[1+6*k+c], 64)
				if err != nil {
					t.Fatal(err)
				}
				at := reading{(start + int64(minute)*60) * 1e9, rec[21] + "," + rec[20] + "," + rec[19], port, column}
				want[at] = max(want[at], uint64(math.Round(v)))
			}
		}
	}
	return want
}

func TestReaderAgainstTheNaiveOne(t *testing.T) {
	value := rapid.OneOf(rapid.Just("0"), rapid.Map(rapid.IntRange(0, maxValue), strconv.Itoa), rapid.StringMatching(`[0-9]{1,7}\.[0-9]{1,5}`), rapid.StringMatching(`[1-9]\.[0-9]{1,3}e\+?0?[0-7]`))
	rapid.Check(t, func(t *rapid.T) {
		var sb strings.Builder
		for range rapid.IntRange(1, 30).Draw(t, "rows") {
			seconds := start + int64(rapid.IntRange(0, 9*60).Draw(t, "seconds"))
			fmt.Fprintf(&sb, "%d%s", seconds, rapid.SampledFrom([]string{"", "", ".5", ".000"}).Draw(t, "fraction"))
			for range numValues {
				sb.WriteString("," + value.Draw(t, "value"))
			}
			fmt.Fprintf(&sb, ",%d,%d,%d\n", rapid.IntRange(0, 1).Draw(t, "z"), rapid.IntRange(0, 1).Draw(t, "y"), rapid.IntRange(0, 2).Draw(t, "x"))
		}
		r, err := NewReader(small(), text("f", sb.String()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, r)
		if err != nil {
			t.Fatal(err)
		}
		want := naive(t, sb.String())
		if len(got) != len(want) {
			t.Fatalf("%d values, want %d", len(got), len(want))
		}
		for at, v := range want {
			if got[at] != v {
				t.Fatalf("%v is %d, want %d", at, got[at], v)
			}
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(line(start, 0, 0, 0, 1)+line(start+60, 1, 1, 1)+line(start+3600, 2, 1, 0)), 7)
	f.Add([]byte(header()+line(start, 0, 0, 0, 1)), 1)
	f.Add([]byte("\x1f\x8b"), 3)
	f.Fuzz(func(t *testing.T, content []byte, chunk int) {
		in := Input{Name: "f", Open: func() (io.ReadCloser, error) {
			return io.NopCloser(&chunked{content, 1 + chunk&0xff}), nil
		}}
		cfg := small()
		cfg.MaxOutsidePercent, cfg.MaxLatePercent = 100, 100
		r, err := NewReader(cfg, in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, r)
		s := r.Summary()
		if err == nil && int64(len(got)) > 18*(s.Rows-s.Bad()) {
			t.Errorf("%d values of %d good rows", len(got), s.Rows-s.Bad())
		}
		r.Close()
	})
}

// chunked returns a few bytes at a time.
type chunked struct {
	rest []byte
	n    int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.n, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}
