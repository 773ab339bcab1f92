package pattern

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/giverny/giverny/internal/test/repo"
)

type measurement struct {
	bytes  int64
	micros float64
}

func measured(t *testing.T, file string) []measurement {
	t.Helper()
	f, err := os.Open(repo.Fixture(t, "measured-latency", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []measurement
	for _, row := range rows[1:] {
		n, err1 := strconv.ParseInt(row[0], 10, 64)
		us, err2 := strconv.ParseFloat(row[1], 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: row %v", file, row)
		}
		list = append(list, measurement{n, us})
	}
	return list
}

// latency is latency as defined by perftest: for a write from posting until the target
// sees it, for a read until it is complete; in us.
func latency(t *testing.T, model, spec string, to int, op Op, bytes int64) float64 {
	t.Helper()
	m, err := FindModel(model)
	if err != nil {
		t.Fatal(err)
	}
	rest := Call{Op: Poll}
	processes := []Process{{ID: 0, Start: list([]Call{{Op: op, Peer: 1, Bytes: bytes}}).start}, {ID: 1, Node: to, Start: list([]Call{rest}).start}}
	if op == Get {
		processes[1].Start = list(nil).start
	}
	rep, err := Predict(parse(t, spec), m, &Program{Name: "latency", Processes: processes})
	if err != nil {
		t.Fatal(err)
	}
	last := rep.Records[len(rep.Records)-1]
	return last.Complete.Nanoseconds() / 1000
}

// twoHosts is two hosts on one switch.
const twoHosts = "fattree:leaves=1,hosts=2,spines=1"

// TestFittedLatency checks the sizes that the models are fitted to, as named in
// models.go.
func TestFittedLatency(t *testing.T) {
	for _, c := range []struct {
		model  string
		bytes  int64
		micros float64
	}{
		{"qdr", 2, .89}, {"qdr", 128, 1.10}, {"qdr", 256, 1.84},
		{"hdr200", 2, 1.87}, {"hdr200", 256, 2.87}, {"hdr200", 4096, 3.85},
	} {
		if got := latency(t, c.model, twoHosts, 1, Put, c.bytes); math.Abs(got/c.micros-1) > .005 {
			t.Errorf("%s, %d B: %.3f us, fitted to %.2f", c.model, c.bytes, got, c.micros)
		}
	}
}

// TestRecordedLatency compares the fitted models with the published results. A fitted
// size must match; all others are predictions.
func TestRecordedLatency(t *testing.T) {
	for _, c := range []struct {
		model, file string
		op          Op
		fitted      []int64
		worst, mean float64 // percent
	}{
		{"qdr", "qdr_write_lat.csv", Put, []int64{2, 128, 256}, 10, 2},
		{"qdr", "qdr_read_lat.csv", Get, nil, 10, 5},
		{"hdr200", "hdr_write_lat.csv", Put, []int64{2, 256, 4096}, 10, 3},
	} {
		t.Run(c.file, func(t *testing.T) {
			worst, sum := 0.0, 0.0
			list := measured(t, c.file)
			for _, p := range list {
				got := latency(t, c.model, twoHosts, 1, c.op, p.bytes)
				off := 100 * (got/p.micros - 1)
				worst, sum = max(worst, math.Abs(off)), sum+math.Abs(off)
				t.Logf("%8d B: %9.3f us, measured %8.2f, off by %5.1f%%", p.bytes, got, p.micros, off)
				if slices.Contains(c.fitted, p.bytes) && math.Abs(off) > 0.5 {
					t.Errorf("%d B is fitted and yet off by %.1f%%", p.bytes, off)
				}
			}
			mean := sum / float64(len(list))
			t.Logf("mean %.2f%%, worst %.2f%%", mean, worst)
			if worst > c.worst || mean > c.mean {
				t.Errorf("mean error %.2f%%, worst %.2f%%; want at most %v%% and %v%%", mean, worst, c.mean, c.worst)
			}
		})
	}
}

// TestMeasuredFatTree compares hdr100 with a 2-level fat tree: latency over 1 and 3
// switches, of writes (fitted) and reads (predicted), and bandwidth.
func TestMeasuredFatTree(t *testing.T) {
	const tree = "fattree:leaves=2,hosts=2,spines=2"
	for _, c := range []struct {
		name   string
		to     int
		op     Op
		micros float64
	}{
		{"write over 1 switch", 1, Put, 1.21},
		{"write over 3 switches", 2, Put, 1.70},
		{"read over 1 switch", 1, Get, 2.39},
		{"read over 3 switches", 2, Get, 3.27},
	} {
		got := latency(t, "hdr100", tree, c.to, c.op, 2)
		t.Logf("%s: %.3f us, measured %.2f", c.name, got, c.micros)
		if math.Abs(got/c.micros-1) > 0.05 {
			t.Errorf("%s: %.3f us, measured %.2f", c.name, got, c.micros)
		}
	}
	const bytes = 64 << 20
	gbps := bytes * 8 / latency(t, "hdr100", tree, 2, Put, bytes) / 1000
	t.Logf("%.1f Gb/s, measured 98.2 to 98.8", gbps)
	if gbps < 97.5 || gbps > 99.5 {
		t.Errorf("%.1f Gb/s, measured 98.2 to 98.8", gbps)
	}
}
