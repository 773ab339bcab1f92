package spool_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/dirlock"
	"github.com/giverny/giverny/internal/test/metric"
)

// spoolUnderTest is a spool with its metrics.
type spoolUnderTest struct {
	*spool.Spool
	metrics *prometheus.Registry
	config  spool.Config
}

type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func openSpool(t fataler, config spool.Config) *spoolUnderTest {
	t.Helper()
	reg := prometheus.NewRegistry()
	s, err := spool.OpenSmall(config, reg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return &spoolUnderTest{Spool: s, metrics: reg, config: config}
}

// crash opens a copy of the spool's folder, as a process would after another one crashed.
func (s *spoolUnderTest) crash(t fataler, dir string) *spoolUnderTest {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(s.config.Dir)); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	config := s.config
	config.Dir = dir
	return openSpool(t, config)
}

// only is the queue of tests with one.
const only = "a"

func (s *spoolUnderTest) put(t fataler, records ...string) {
	t.Helper()
	s.putIn(t, only, records...)
}

func (s *spoolUnderTest) putIn(t fataler, queue string, records ...string) {
	t.Helper()
	for _, r := range records {
		if err := s.Append(queue, []byte(r)); err != nil {
			t.Fatal(err)
		}
	}
}

// drain removes and returns everything.
func (s *spoolUnderTest) drain() []string { return s.drainOf(only) }

func (s *spoolUnderTest) drainOf(queue string) (all []string) {
	for {
		records, first := s.Peek(queue, 3, 1<<20)
		if len(records) == 0 {
			return all
		}
		for _, r := range records {
			all = append(all, string(r))
		}
		s.Remove(queue, first, len(records))
	}
}

func numbered(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("record %03d %s", i, strings.Repeat("x", i%40)))
	}
	return all
}

// The naive twin is a slice for each queue.
func TestSpoolAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		config := spool.Config{Dir: filepath.Join(base, "0"), MaxBytes: rapid.SampledFrom([]int64{1 << 11, 1 << 12}).Draw(t, "max bytes"), Fsync: "never"}
		s := openSpool(t, config)
		queues := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "queues")]
		twin := map[string][]string{}
		held := func() (n int) {
			for _, records := range twin {
				n += len(records)
			}
			return n
		}
		written, lost := 0, 0
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			queue := rapid.SampledFrom(queues).Draw(t, "queue")
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0, 1, 2:
				more := numbered(written, written+rapid.IntRange(1, 8).Draw(t, "appended"))
				written += len(more)
				for _, r := range more {
					before := int(metric.Sum(t, s.metrics, "giverny_spool_bytes"))
					s.putIn(t, queue, r)
					twin[queue] = append(twin[queue], r)
					dropped := held() - s.Len() // the oldest, to make room
					if full := before+8+len(r) > int(config.MaxBytes); dropped < 0 || full != (dropped > 0) {
						t.Fatalf("%d records dropped with %d bytes of %d", dropped, before, config.MaxBytes)
					}
					for _, q := range queues {
						twin[q] = twin[q][len(twin[q])-s.LenOf(q):]
					}
					lost += dropped
				}
			case 3, 4:
				records, first := s.Peek(queue, rapid.IntRange(1, 10).Draw(t, "records"), rapid.IntRange(0, 200).Draw(t, "bytes"))
				if len(records) == 0 && len(twin[queue]) > 0 || len(records) > len(twin[queue]) {
					t.Fatalf("%d records come out of %d", len(records), len(twin[queue]))
				}
				for j, r := range records {
					if string(r) != twin[queue][j] {
						t.Fatalf("record %d is %q, want %q", j, r, twin[queue][j])
					}
				}
				n := rapid.IntRange(0, len(records)).Draw(t, "removed")
				s.Remove(queue, first, n)
				twin[queue] = twin[queue][n:]
			case 5:
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s, lost = openSpool(t, s.config), 0
			case 6:
				s, lost = s.crash(t, filepath.Join(base, fmt.Sprint(i+1))), 0
			}
			if s.Len() != held() {
				t.Fatalf("%d records, want %d", s.Len(), held())
			}
			bytes := segmentBytes(s.config.Dir)
			if n := metric.Sum(t, s.metrics, "giverny_spool_bytes"); n != float64(bytes) || bytes > int(config.MaxBytes) || metric.Sum(t, s.metrics, "giverny_spool_records") != float64(held()) ||
				metric.Sum(t, s.metrics, "giverny_spool_dropped_total", "spool_full") != float64(lost) {
				t.Fatalf("%v bytes reported, %d on the disk, at most %d; %d records lost", n, bytes, config.MaxBytes, lost)
			}
		}
		for _, q := range queues {
			if got := s.drainOf(q); !slices.Equal(got, twin[q]) {
				t.Fatalf("drained %q from %s, want %q", got, q, twin[q])
			}
		}
		_ = s.Close()
	})
}

// segmentBytes is the size of the segments in a folder.
func segmentBytes(dir string) (bytes int) {
	for _, path := range segments(dir) {
		if info, err := os.Stat(path); err == nil {
			bytes += int(info.Size())
		}
	}
	return bytes
}

// segments are the files of all queues in a folder.
func segments(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.queue", "*.spool"))
	return paths
}

// Wherever a crash truncates the last file, what is read is a prefix of what was written.
func TestSpoolCutShort(t *testing.T) {
	want := numbered(0, 12)
	s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 16, Fsync: "always"})
	s.put(t, want...)
	path, whole := onlySegment(t, s.config.Dir)
	_ = s.Close()
	for cut := 0; cut <= len(whole); cut += 3 {
		dir := t.TempDir()
		writeIn(t, filepath.Join(dir, only+".queue"), filepath.Base(path), whole[:cut])
		s := openSpool(t, spool.Config{Dir: dir, MaxBytes: 1 << 16, Fsync: "never"})
		s.put(t, "after")
		got := s.drain()
		n := len(got) - 1
		if n > len(want) || !slices.Equal(got[:n], want[:n]) || got[n] != "after" {
			t.Fatalf("cut at %d of %d: %q", cut, len(whole), got)
		}
		_ = s.Close()
	}
}

func writeIn(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func onlySegment(t *testing.T, dir string) (path string, content []byte) {
	t.Helper()
	paths := segments(dir)
	if len(paths) != 1 {
		t.Fatalf("segments %q, want one", paths)
	}
	content, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return paths[0], content
}

func TestSpoolMakesRoom(t *testing.T) {
	s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 12, Fsync: "segment"})
	defer s.Close()
	all := numbered(0, 300)
	s.put(t, all[:20]...)
	peeked, first := s.Peek(only, 5, 1<<20)
	s.put(t, all[20:]...)
	lost := int(metric.Sum(t, s.metrics, "giverny_spool_dropped_total", "spool_full"))
	if lost == 0 || lost+s.Len() != len(all) {
		t.Errorf("%d lost and %d kept of %d", lost, s.Len(), len(all))
	}
	if got := metric.Sum(t, s.metrics, "giverny_spool_bytes"); got > 1<<12 || got < 1<<11 {
		t.Errorf("%v bytes on the disk, the limit is %d", got, 1<<12)
	}
	s.Remove(only, first, len(peeked)) // they were dropped long ago to make room
	if got := s.drain(); !slices.Equal(got, all[lost:]) {
		t.Errorf("kept %d records, from %q; want %d from %q", len(got), got[0], len(all)-lost, all[lost])
	}
	if text := s.State(); text != "" {
		t.Errorf("state of an empty spool: %q", text)
	}
	if err := s.Append(only, make([]byte, 4096)); err == nil {
		t.Error("a record longer than a segment was taken")
	}
	if err := s.Append(only, nil); err == nil {
		t.Error("an empty record was taken")
	}
}

// A folder that is removed loses what was in it, which is counted; what comes later is kept in a new one, with a lock.
func TestSpoolWhoseFolderIsRemoved(t *testing.T) {
	s := openSpool(t, spool.Config{Dir: filepath.Join(t.TempDir(), "spool"), MaxBytes: 1 << 16, Fsync: "segment"})
	defer s.Close()
	all := numbered(0, 20)
	s.put(t, all[:10]...)
	if err := os.RemoveAll(s.config.Dir); err != nil {
		t.Fatal(err)
	}
	if got := s.drain(); len(got) != 0 || metric.Sum(t, s.metrics, "giverny_spool_dropped_total", "corrupt") != 10 {
		t.Errorf("%q of a folder that is gone", got)
	}
	s.put(t, all[10:]...)
	if pid, err := dirlock.Holder(s.config.Dir, 0); pid == "" || err != nil {
		t.Errorf("the new folder is held by %q, %v", pid, err)
	}
	if got := s.drain(); !slices.Equal(got, all[10:]) {
		t.Errorf("drained %q, want %q", got, all[10:])
	}
}

func TestSpoolDamagedInTheMiddle(t *testing.T) {
	s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 12, Fsync: "never"})
	all := numbered(0, 40)
	s.put(t, all...)
	paths := segments(s.config.Dir)
	if len(paths) < 3 {
		t.Fatalf("%d segments, want more", len(paths))
	}
	flip(t, paths[1], 9)
	t.Run("while open", func(t *testing.T) { wantTwoGaps(t, s, all) })
	if n := metric.Sum(t, s.metrics, "giverny_spool_errors_total", "read_error"); n != 1 {
		t.Errorf("%v read errors counted, want 1", n)
	}
	s = s.crash(t, t.TempDir())
	_ = s.Close()

	for _, damaged := range []int{0, 1, len(paths) - 1} { // there is nothing before the first, and nothing after the last
		s = openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 12, Fsync: "never"})
		s.put(t, all...)
		paths = segments(s.config.Dir)
		flip(t, paths[damaged], 9)
		s = s.crash(t, t.TempDir())
		t.Run(fmt.Sprintf("segment %d after a restart", damaged+1), func(t *testing.T) { wantTwoGaps(t, s, all) })
		_ = s.Close()
	}
}

func flip(t *testing.T, path string, at int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantTwoGaps drains a spool with one segment that is damaged in its first record.
func wantTwoGaps(t *testing.T, s *spoolUnderTest, all []string) {
	t.Helper()
	got := s.drain()
	if s.Len() != 0 {
		t.Errorf("%d records are left", s.Len())
	}
	lost := int(metric.Sum(t, s.metrics, "giverny_spool_dropped_total", "corrupt"))
	if lost == 0 || lost+len(got) != len(all) {
		t.Errorf("%d lost and %d kept of %d", lost, len(got), len(all))
	}
	for i := range got[1:] {
		if got[i] >= got[i+1] {
			t.Errorf("%q comes before %q", got[i], got[i+1])
		}
	}
}

func TestValidateNamesEveryKey(t *testing.T) {
	config := spool.DefaultConfig()
	if err := config.Validate(); err != nil {
		t.Error(err)
	}
	config = spool.Config{MaxBytes: 1, Fsync: "often"}
	if err := config.Validate(); err == nil || !strings.HasPrefix(err.Error(), "max_bytes: 1: want") || !strings.Contains(err.Error(), "\nfsync: \"often\"") {
		t.Errorf("faults: %v", err)
	}
	if _, err := spool.Open(spool.DefaultConfig(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "dir: empty") {
		t.Errorf("a spool without a folder: %v", err)
	}
}

func TestReasonsStandAtZero(t *testing.T) {
	s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 16, Fsync: "never"})
	defer s.Close()
	for name, reasons := range map[string][]string{
		"giverny_spool_dropped_total": {"spool_full", "disk_full", "corrupt", "write_error", "too_large", "refused"},
		"giverny_spool_errors_total":  {"write_error", "read_error"},
	} {
		for _, reason := range reasons {
			if got := metric.Sum(t, s.metrics, name, reason); got != 0 {
				t.Errorf("%s{reason=%q} = %v", name, reason, got)
			}
		}
	}
}

func TestSpoolFolderIsLocked(t *testing.T) {
	s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 16, Fsync: "never"})
	defer s.Close()
	synctest.Test(t, func(t *testing.T) { // with the bubble's clock, by which it waits for the first one to exit
		if _, err := spool.OpenSmall(s.config, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in use by process") {
			t.Errorf("a second process opened the spool: %v", err)
		}
	})
}

// FuzzSpoolSegment opens a file with arbitrary contents.
func FuzzSpoolSegment(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add(make([]byte, 64))
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0})
	f.Add([]byte("\x01\x00\x00\x00\x52\x7d\x53\x52a\x02\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		folder := filepath.Join(dir, only+".queue")
		writeIn(t, folder, "00000000000000000007.spool", content)
		if len(content) > 0 {
			writeIn(t, folder, "next", content[:1])
		}
		s := openSpool(t, spool.Config{Dir: dir, MaxBytes: 1 << 20, Fsync: "never"})
		s.put(t, "last")
		if got := s.drain(); len(got) == 0 || got[len(got)-1] != "last" {
			t.Errorf("drained %q", got)
		}
		_ = s.Close()
	})
}
