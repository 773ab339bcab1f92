package traffic_test

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/traffic"
	"github.com/giverny/giverny/schema"
)

var begin = time.Date(2026, 1, 5, 0, 30, 0, 0, time.UTC)

func TestReadCSV(t *testing.T) {
	rows, err := traffic.ReadCSV(strings.NewReader(`time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes
2026-01-05T00:30:00Z,17,1e9,,0,5
soon,17,1,1,1,1
2026-01-05T00:30:00Z,17,-1,,,
2026-01-05T00:30:00Z,17,NaN,,,
2026-01-05T00:30:00Z,17,+Inf,,,
2026-01-05T00:30:00Z,17,1e300,,,
2026-01-05T00:30:00Z,17,18446744073709551616,,,
2026-01-05T00:30:00Z,,1,,,
1767573060,18
`), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.JobTraffic{
		{JobID: "17", Time: schema.Instant(begin.UnixNano()), Read: new(1e9), RDMARead: new(0.0), RDMAWrite: new(5.0)},
		{JobID: "18", Time: schema.Instant(begin.Add(time.Minute).UnixNano())},
	}
	if diff := cmp.Diff(want, rows.Traffic); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]uint64{feeds.NoTime: 1, feeds.Malformed: 6}, rows.Dropped); diff != "" {
		t.Error(diff)
	}
	if len(rows.Faults) != 7 || rows.Faults[0].Where != "t.csv:3" || rows.Faults[6].Where != "t.csv:9" {
		t.Errorf("faults %+v", rows.Faults)
	}
	for _, bad := range []string{"", "job_id,read_bytes\n"} {
		if _, err := traffic.ReadCSV(strings.NewReader(bad), "t.csv"); err == nil || !strings.Contains(err.Error(), "t.csv:1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Appended rows are read once, also across a restart, including late rows, after a restart those for the last time.
func TestFileSource(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.csv")
	text := "time,job_id,read_bytes\n"
	put := func(minute int, job string) {
		text += fmt.Sprintf("%s,%s,1\n", begin.Add(time.Duration(minute)*time.Minute).Format(time.RFC3339), job)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open := func() feeds.Source {
		s, err := (&traffic.FileConfig{Path: path}).Open(feeds.Env{Store: feeds.NewStore(dir, "feed"), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	read := func(s feeds.Source, commit bool, want ...string) {
		t.Helper()
		rows, err := s.Read(t.Context(), begin)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows.Traffic {
			got = append(got, r.JobID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if commit {
			if err := s.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(0, "a")
	put(1, "b")
	s := open()
	read(s, true, "a", "b")
	read(s, true)
	put(1, "c")
	put(2, "d")
	read(s, false, "c", "d")
	s = open()
	read(s, true, "c", "d")
	put(0, "e") // one program appends all times of a job, then all of the next
	put(2, "e")
	read(s, true, "e", "e")
	text += "yesterday,f,1\n"
	put(3, "f")
	read(s, true, "f")
	text += "today,g,1\n"
	put(3, "g")
	rows, err := s.Read(t.Context(), begin)
	if err != nil || len(rows.Traffic) != 1 || rows.Dropped[feeds.NoTime] != 1 {
		t.Errorf("after another malformed row: %d rows, dropped %v, %v; want that row once", len(rows.Traffic), rows.Dropped, err)
	}
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	read(s, true)
	read(open(), true)
}

// A row without a line end is not used yet, because digits may be missing; if the file stays like that, its last row
// is used.
func TestRowsThatAreBeingWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	s, err := (&traffic.FileConfig{Path: path}).Open(feeds.Env{Store: feeds.NewStore(t.TempDir(), "feed"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ add, want string }{
		{"time,job_id,read_bytes\n2026-01-05T00:30:00Z,a,1", ""},
		{"000", ""},
		{"\n2026-01-05T00:30:00Z,b,2", "a=1000"},
		{"", "b=2"},
		{"", ""},
	} {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(step.add); err != nil {
			t.Fatal(err)
		}
		file.Close()
		rows, err := s.Read(t.Context(), begin)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range rows.Traffic {
			got += fmt.Sprintf("%s=%g", r.JobID, *r.Read)
		}
		if got != step.want {
			t.Errorf("after %q: %q, want %q", step.add, got, step.want)
		}
	}
}

const jobStats = `obdfilter.scratch-OST0000.job_stats=
job_stats:
- job_id:          4711
  snapshot_time:   1767573000.123456789 secs.nsecs
  start_time:      1767570000.000000000 secs.nsecs
  read_bytes:      { samples:         100, unit: bytes, min:    4096, max: 1048576, sum:        %d, sumsq:  1234 }
  write_bytes:     { samples:           3, unit: bytes, min:    4096, max:    4096, sum:           %d }
  punch:           { samples:           0, unit:  reqs }
- job_id:          "cp.0"
  snapshot_time:   1767573000
  read_bytes:      { samples:           1, unit: bytes, min: 1, max: 1, sum: 1 }
  write_bytes:     { samples:           0, unit: bytes }
oss2: obdfilter.scratch-OST0001.job_stats=
oss2: job_stats:
oss2: - job_id:          4711
oss2:   start_time:      1767570000
oss2:   read_bytes:      { samples:           1, unit: bytes, min: 7, max: 7, sum: 7 }
mdt.scratch-MDT0000.job_stats=job_stats:
`

func TestReadLustre(t *testing.T) {
	got, dropped, err := traffic.ReadLustre(strings.NewReader(fmt.Sprintf(jobStats, 1000, 50)), "lctl")
	if err != nil || dropped != 0 {
		t.Fatal(err, dropped)
	}
	want := []traffic.JobBytes{
		{Target: "obdfilter.scratch-OST0000", Job: "4711", Start: "1767570000.000000000", Read: 1000, Write: 50},
		{Target: "obdfilter.scratch-OST0000", Job: "cp.0", Read: 1},
		{Target: "obdfilter.scratch-OST0001", Job: "4711", Start: "1767570000", Read: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Bytes are distributed over intervals, whatever the polling times, and none is lost or counted twice.
func TestMeter(t *testing.T) {
	m := traffic.NewMeter(regexp.MustCompile(`^(\d+)$`), time.Minute)
	count := func(read, write uint64, start string) []traffic.JobBytes {
		return []traffic.JobBytes{{Target: "o1", Job: "7", Start: start, Read: read, Write: write}, {Target: "o2", Job: "7", Start: "a", Read: 5, Write: 5}, {Target: "o1", Job: "dd.0"}}
	}
	var got []string
	step := func(at time.Duration, stats []traffic.JobBytes) {
		t.Helper()
		rows, noJob := m.Step(stats, begin.Add(at))
		if noJob != 1 {
			t.Errorf("%d ids that are no jobs, want 1", noJob)
		}
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%s %s %.0f %.0f", r.Time.Time().Format("04:05"), r.JobID, math.Round(*r.Read), math.Round(*r.Write)))
		}
	}
	step(30*time.Second, count(1000, 0, "a"))   // earlier counts belong to no interval
	step(90*time.Second, count(1600, 60, "a"))  // half in 30:00, half in 31:00
	step(120*time.Second, count(1900, 60, "a")) // completes 31:00
	step(180*time.Second, count(2000, 0, "b"))  // cleared, and 2000 since then
	step(240*time.Second, count(2000, 0, "b"))  // no traffic: a measured zero
	step(300*time.Second, count(2100, 50, "b"))
	step(360*time.Second, count(2200, 20, "b")) // cleared, as the writes show
	step(420*time.Second, count(2100, 90, "b")) // as the reads show
	want := []string{"30:00 7 300 30", "31:00 7 600 30", "32:00 7 2000 0", "33:00 7 0 0", "34:00 7 100 50", "35:00 7 2200 20", "36:00 7 2100 90"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = nil
	step(time.Hour, count(9000, 0, "b")) // a long gap starts over
	step(time.Hour+time.Minute, count(9100, 0, "b"))
	if diff := cmp.Diff([]string{"30:00 7 100 0"}, got); diff != "" {
		t.Errorf("after a gap (-want +got):\n%s", diff)
	}
}

// A server that misses an answer returns with what it has counted since its last one, not since its jobs began; so
// does a server queried for the first time, for jobs that began after the previous answer.
func TestMeterOfTargetsThatComeAndGo(t *testing.T) {
	m := traffic.NewMeter(regexp.MustCompile(`^(\d+)$`), time.Minute)
	minute := 0
	step := func(want string, stats ...traffic.JobBytes) {
		t.Helper()
		rows, _ := m.Step(stats, begin.Add(time.Duration(minute)*time.Minute))
		minute++
		got := ""
		for _, r := range rows {
			got += fmt.Sprintf("%s %s %.0f;", r.Time.Time().Format("04"), r.JobID, *r.Read)
		}
		if got != want {
			t.Errorf("minute %d: traffic %q, want %q", minute-1, got, want)
		}
	}
	long, alone := traffic.JobBytes{Target: "o1", Job: "7", Start: "1700000000", Read: 1e12}, traffic.JobBytes{Target: "o2", Job: "8", Start: "1700000000"}
	step("", long, alone)
	step("30 8 0;", alone)
	long.Read += 500
	step("31 7 500;31 8 0;", long, alone)
	fresh := traffic.JobBytes{Target: "o3", Job: "9", Start: fmt.Sprint(begin.Add(130 * time.Second).Unix()), Read: 40}
	old := traffic.JobBytes{Target: "o3", Job: "7", Start: "1700000000", Read: 1e12}
	step("32 7 0;32 8 0;32 9 40;", long, alone, fresh, old)
	old.Read += 3
	step("33 7 3;33 8 0;33 9 0;", long, alone, fresh, old)
	for range 10 {
		step(fmt.Sprintf("%d 8 0;", 30+minute-1), alone)
	}
	long.Read += 1e9
	step("44 8 0;", long, alone) // it was absent for too long
}

// The source runs a command and returns the traffic of the interval between two of its answers.
func TestLustreSource(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "stats")
	cfg := traffic.LustreKind().NewConfig().(*traffic.LustreConfig)
	cfg.Command = []string{"cat", file}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	s, err := cfg.Open(feeds.Env{Interval: time.Minute, Store: feeds.NewStore(dir, "feed"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), begin); err == nil {
		t.Error("a command that fails is no error")
	}
	var rows feeds.Rows
	for i, bytes := range []int{1000, 3000} {
		if err := os.WriteFile(file, fmt.Appendf(nil, jobStats, bytes, 50), 0o644); err != nil {
			t.Fatal(err)
		}
		if rows, err = s.Read(t.Context(), begin.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	want := []schema.JobTraffic{{JobID: "4711", Time: schema.Instant(begin.UnixNano()), Read: new(2000.0), Write: new(0.0)}}
	if diff := cmp.Diff(want, rows.Traffic); diff != "" || rows.Dropped[feeds.NotAJob] != 1 {
		t.Errorf("dropped %v (-want +got):\n%s", rows.Dropped, diff)
	}
}

// No input causes a panic, and every result can be sent.
func FuzzRead(f *testing.F) {
	f.Add([]byte("time,job_id,read_bytes\n2026-01-05T00:30:00Z,17,1e9\n"))
	f.Add(fmt.Appendf(nil, jobStats, 1, 2))
	pattern := regexp.MustCompile(`^(\d+)$`)
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, _ := traffic.ReadCSV(strings.NewReader(string(text)), "fuzz")
		m := traffic.NewMeter(pattern, time.Minute)
		stats, _, _ := traffic.ReadLustre(strings.NewReader(string(text)), "fuzz")
		m.Step(nil, begin)
		more, _ := m.Step(stats, begin.Add(2*time.Minute))
		for _, r := range append(rows.Traffic, more...) {
			if r.JobID == "" || r.Time == 0 || r.Read != nil && !(*r.Read >= 0) {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// Bytes are assigned to the intervals of the analysis, whatever their length.
func TestTrafficIsOfAlignedIntervals(t *testing.T) {
	const interval = 7 * time.Second
	m := traffic.NewMeter(regexp.MustCompile(`^(\d+)$`), interval)
	at := time.Unix(1_700_000_000, 0)
	m.Step([]traffic.JobBytes{{Target: "t", Job: "1", Start: "5"}}, at)
	moved, _ := m.Step([]traffic.JobBytes{{Target: "t", Job: "1", Start: "5", Read: 700}}, at.Add(4*interval))
	if len(moved) < 3 {
		t.Fatalf("%d intervals", len(moved))
	}
	for _, one := range moved {
		if start := schema.IntervalAt(int64(one.Time), int64(interval)).StartNanos; start != int64(one.Time) {
			t.Errorf("time %v is in the interval of %v", one.Time, schema.Instant(start))
		}
	}
}
