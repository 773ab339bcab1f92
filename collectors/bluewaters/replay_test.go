package bluewaters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// minutes is a file of n minutes of a switch of the small torus.
func minutes(n int) Input {
	var sb strings.Builder
	for m := range n {
		sb.WriteString(line(start+int64(m)*60, 1, 1, 1, uint32(m)))
	}
	return text("f", sb.String())
}

// emitFunc is an emitter.
type emitFunc func(ctx context.Context, b *schema.CounterBatch) error

func (f emitFunc) Emit(ctx context.Context, b *schema.CounterBatch) error { return f(ctx, b) }

func newReplay(t *testing.T, speed float64, e emitFunc, in Input) (*Replay, *prometheus.Registry) {
	t.Helper()
	r, err := NewReader(small(), in)
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	p, err := NewReplay(r, speed, e, slog.New(slog.NewTextHandler(io.Discard, nil)), reg)
	if err != nil {
		t.Fatal(err)
	}
	return p, reg
}

func TestReplayKeepsPace(t *testing.T) {
	for _, c := range []struct{ speed, seconds float64 }{{1, 600}, {60, 10}, {0.5, 1200}, {0, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var begun, last time.Time
			batches := 0
			p, reg := newReplay(t, c.speed, func(_ context.Context, b *schema.CounterBatch) error {
				if last = time.Now(); batches == 0 {
					begun = last
				}
				batches++
				if c.speed > 0 {
					time.Sleep(time.Duration(20e9 / c.speed)) // a slow emitter does not delay later batches
				}
				return nil
			}, minutes(11))
			if err := p.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if took := last.Sub(begun).Seconds(); took != c.seconds || batches != 11 {
				t.Errorf("speed %v: %d batches in %v s, want %v", c.speed, batches, took, c.seconds)
			}
			for name, want := range map[string]float64{"rows_total": 11, "batches_total": 11, "rows_dropped_total": 0} {
				if got := metric.Sum(t, reg, "giverny_bluewaters_"+name); got != want {
					t.Errorf("%s = %v, want %v", name, got, want)
				}
			}
		})
	}
}

func TestReplayStopsOnCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
		defer cancel()
		batches := 0
		p, _ := newReplay(t, 1, func(context.Context, *schema.CounterBatch) error { batches++; return nil }, minutes(11))
		if err := p.Run(ctx); err != nil || batches != 2 {
			t.Errorf("%d batches, %v", batches, err)
		}
	})
}

func TestReplayEndsWithAnError(t *testing.T) {
	refuse := errors.New("broker away")
	p, reg := newReplay(t, 0, func(context.Context, *schema.CounterBatch) error { return refuse }, minutes(3))
	if err := p.Run(t.Context()); !errors.Is(err, refuse) {
		t.Errorf("%v", err)
	}
	if lost := metric.Sum(t, reg, "giverny_bluewaters_batch_rows_lost_total"); lost != 6 {
		t.Errorf("%v rows counted as lost, want 6", lost)
	}
	var wrong *WrongTopologyError
	p, reg = newReplay(t, 0, func(context.Context, *schema.CounterBatch) error { return nil }, text("f", line(start, 7, 7, 7)))
	if err := p.Run(t.Context()); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
	if n := metric.Sum(t, reg, "giverny_bluewaters_rows_dropped_total", "outside"); n != 1 {
		t.Errorf("%v rows counted as outside", n)
	}
	if _, err := NewReplay(&Reader{}, -1, nil, nil, nil); err == nil {
		t.Error("a negative speed was accepted")
	}
}

// Whatever a file contains is returned, by switch, port and minute.
func TestReadsAnyRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Uint32Range(0, maxValue)
		var file bytes.Buffer
		if rapid.Bool().Draw(t, "header") {
			file.WriteString(header())
		}
		want := map[reading]uint64{}
		for n := range rapid.IntRange(1, 12).Draw(t, "switches") {
			r := dayRow{unixSeconds: start + int64(rapid.IntRange(0, 120).Draw(t, "seconds")), x: n % 3, y: n / 3 % 2, z: n / 6}
			at := minuteOf(r.unixSeconds, 0) * intervalNanos
			for d := range numDirections {
				r.creditStall[d], r.inqStall[d], r.usedBandwidth[d] = value.Draw(t, "v"), value.Draw(t, "v"), value.Draw(t, "v")
				for column, v := range map[string]uint32{creditStall: r.creditStall[d], inqStall: r.inqStall[d], usedBandwidth: r.usedBandwidth[d]} {
					want[reading{at, coordName(r.x, r.y, r.z), d.String(), column}] = uint64(v)
				}
			}
			file.Write(appendRow(nil, &r))
		}
		reader, err := NewReader(small(), text("f", file.String()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, reader)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("read %v (%v), wrote %v", got, err, want)
		}
	})
}

// generate generates rows as on a calm Blue Waters (mostly zeros, 58 bytes per row, 2.3
// GB per day) or a busy one (7 to 8 digits).
func generate(minutes int, dims [3]int, busy bool) []byte {
	rng := rand.New(rand.NewSource(1))
	var file []byte
	for m := range minutes {
		for n := range dims[0] * dims[1] * dims[2] {
			r := dayRow{unixSeconds: start + int64(m)*60 + int64(n%3), x: n % dims[0], y: n / dims[0] % dims[1], z: n / (dims[0] * dims[1])}
			for range 2 { // the two nodes of a Gemini
				for d := range numDirections {
					for _, v := range []*uint32{&r.creditStall[d], &r.inqStall[d], &r.usedBandwidth[d]} {
						switch {
						case busy:
							*v = uint32(1e6 + rng.Intn(5e7))
						case rng.Intn(16) == 0:
							*v = uint32(rng.ExpFloat64() * 1e4)
						default:
							*v = 0
						}
					}
				}
				file = appendRow(file, &r)
			}
		}
	}
	return file
}

func bytesInput(content []byte) Input {
	return Input{Name: "day", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

func TestReadingAllocatesNothingOnceWarm(t *testing.T) {
	content := generate(30, [3]int{3, 2, 2}, true)
	r, err := NewReader(small(), bytesInput(content))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil { // opens and reads the file
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a minute", n)
	}
	r, _ = NewReader(small(), bytesInput(content))
	r.file = &file{}
	r.file.setLayout(canonicalLayout)
	read := func() {
		r.block = content
		if err := r.readBlock(); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(20, read); n > 0 {
		t.Errorf("%v allocations a block", n)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, busy := range []bool{false, true} {
		b.Run(fmt.Sprintf("busy=%v", busy), func(b *testing.B) {
			content := generate(1, [3]int{24, 24, 24}, busy)
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				var f fields
				for rest := content; len(rest) > 0; {
					n := parsePlain(rest, &f)
					if n == 0 {
						b.Fatal("not plain")
					}
					rest = rest[n:]
				}
			}
		})
	}
}

// BenchmarkReplay reads, sorts and makes batches, and with window=true also snapshots.
func BenchmarkReplay(b *testing.B) {
	g, err := topology.NewGrid("gemini", []int{24, 24, 24}, true)
	if err != nil {
		b.Fatal(err)
	}
	for _, windowed := range []bool{false, true} {
		for _, busy := range []bool{false, true} {
			b.Run(fmt.Sprintf("window=%v/busy=%v", windowed, busy), func(b *testing.B) {
				content := generate(20, [3]int{24, 24, 24}, busy)
				b.SetBytes(int64(len(content)))
				b.ReportAllocs()
				rows := int64(0)
				for b.Loop() {
					rows += replayInto(b, g, content, windowed)
				}
				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

func replayInto(b *testing.B, g *topology.Graph, content []byte, windowed bool) (rows int64) {
	r, err := NewReader(DefaultConfig("gemini"), bytesInput(content))
	if err != nil {
		b.Fatal(err)
	}
	w, err := window.New(g, window.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		if !windowed {
			continue
		}
		if err := w.Add(batch); err != nil {
			b.Fatal(err)
		}
		for s := w.Next(); s != nil; s = w.Next() {
			if s.Coverage(schema.CreditStall) != 1 {
				b.Fatalf("%v: coverage %v", s.Interval, s.Coverage(schema.CreditStall))
			}
			w.Recycle(s)
		}
	}
	if s := r.Summary(); s.Batches != 20 || s.Bad() != 0 {
		b.Fatalf("%+v", s)
	}
	return r.Summary().Rows
}
