package spool_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/test/metric"
)

// A queue that is not read keeps no other from being read, however many records it has, nor after a restart.
func TestAQueueDoesNotWaitForOthers(t *testing.T) {
	s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 20, Fsync: "never"})
	blocked, others := numbered(0, 5000), numbered(5000, 5003)
	s.putIn(t, "events-0", blocked...)
	s.putIn(t, "jobs-0", others...)
	if got := s.Queues(); !slices.Equal(got, []string{"events-0", "jobs-0"}) {
		t.Errorf("queues %q", got)
	}
	s = s.crash(t, filepath.Join(t.TempDir(), "copy"))
	if got := s.drainOf("jobs-0"); !slices.Equal(got, others) {
		t.Errorf("drained %q, want %q", got, others)
	}
	if s.LenOf("jobs-0") != 0 || s.LenOf("events-0") != len(blocked) || s.Len() != len(blocked) || s.State() != "records waiting: 5000" {
		t.Errorf("%d and %d records wait: %q", s.LenOf("events-0"), s.LenOf("jobs-0"), s.State())
	}
	s = s.crash(t, filepath.Join(t.TempDir(), "copy"))
	defer s.Close()
	if got := s.Queues(); !slices.Equal(got, []string{"events-0"}) {
		t.Errorf("queues %q", got)
	}
	if got := s.drainOf("events-0"); !slices.Equal(got, blocked) {
		t.Errorf("%d records come out in order, want %d", len(got), len(blocked))
	}
}

// The oldest records make room, whichever queue they are in; those of a queue with few but new ones stay.
func TestTheOldestOfAllQueuesMakeRoom(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 12, Fsync: "never"})
		old, full, recent := numbered(0, 5), numbered(5, 60), numbered(60, 65)
		s.putIn(t, "old", old...)
		s.putIn(t, "full", full...)
		for i, path := range append(segments(s.config.Dir), segments(s.config.Dir)...) { // listed by name: full, then old
			age := time.Duration(len(full)-i) * time.Minute
			if strings.Contains(path, "old") {
				age = time.Hour
			}
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
		if restarted {
			s = s.reopen(t)
		}
		s.putIn(t, "recent", recent...)
		for i := 65; s.LenOf("old") > 0; i++ {
			if s.LenOf("full") < len(full) {
				t.Fatalf("restarted %v: newer records were dropped before older ones", restarted)
			}
			s.putIn(t, "recent", numbered(i, i+1)...)
		}
		for i := 200; s.LenOf("full") > 10; i++ {
			s.putIn(t, "recent", numbered(i, i+1)...)
		}
		if got := s.drainOf("full"); !slices.Equal(got, full[len(full)-len(got):]) {
			t.Errorf("restarted %v: drained %q", restarted, got)
		}
		if got := s.drainOf("recent"); !slices.Equal(got[:5], recent) {
			t.Errorf("restarted %v: drained %q", restarted, got)
		}
		_ = s.Close()
	}
}

func (s *spoolUnderTest) reopen(t fataler) *spoolUnderTest {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return openSpool(t, s.config)
}

// ofAnEarlierVersion is a spool with a single queue, of which the first records have been removed.
func ofAnEarlierVersion(t *testing.T, config spool.Config, records []string, removed int) *spoolUnderTest {
	t.Helper()
	s := openSpool(t, config)
	s.put(t, records...)
	_, first := s.Peek(only, 1, 1<<20)
	s.Remove(only, first, removed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(s.config.Dir, only+".queue", "*"))
	for _, path := range paths {
		if err := os.Rename(path, filepath.Join(s.config.Dir, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	return openSpool(t, s.config)
}

// lastDigit is the queue of a numbered record.
func lastDigit(record []byte) string { return string(record[len("record 00"):len("record 000")]) }

// The records of a full spool of an earlier version are moved to their queues, in order and none is lost; of one without
// room on its disk some stay, or are counted.
func TestDistribute(t *testing.T) {
	all := numbered(0, 90) // some more than fit
	config := func() spool.Config { return spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 12, Fsync: "segment"} }
	s := ofAnEarlierVersion(t, config(), all, 3)
	n := s.Len()
	if got := s.Queues(); !slices.Equal(got, []string{""}) || n < 40 {
		t.Fatalf("%d records wait in %q", n, got)
	}
	if err := s.Distribute(lastDigit); err != nil {
		t.Fatal(err)
	}
	if s.Len() != n || s.LenOf("") != 0 || metric.Sum(t, s.metrics, "giverny_spool_dropped_total") != 0 {
		t.Errorf("%d of %d records are left: %s", s.Len(), n, s.State())
	}
	s = s.crash(t, filepath.Join(t.TempDir(), "copy"))
	defer s.Close()
	var got []string
	for _, queue := range s.Queues() {
		records := s.drainOf(queue)
		if !slices.IsSorted(records) {
			t.Errorf("queue %s: %q", queue, records)
		}
		got = append(got, records...)
	}
	slices.Sort(got)
	if !slices.Equal(got, all[len(all)-n:]) {
		t.Errorf("got %q", got)
	}
	if paths, _ := filepath.Glob(filepath.Join(s.config.Dir, "*.spool")); len(paths) > 0 {
		t.Errorf("files of the earlier version: %q", paths)
	}
}

func TestDistributeOnAFailingDisk(t *testing.T) {
	s := ofAnEarlierVersion(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 12, Fsync: "never"}, numbered(0, 40), 0)
	defer s.Close()
	failure := errors.New("the disk fails")
	s.FailDisk(func(f spool.SegmentFile, err error) (spool.SegmentFile, error) {
		return nil, errors.Join(failure, f.Close())
	})
	if err := s.Distribute(lastDigit); !errors.Is(err, failure) || s.LenOf("") != 40 {
		t.Errorf("%v; %d records wait", err, s.LenOf(""))
	}
}

// A folder of others, such as the lost+found of a disk, is left alone, and no record leaves the folder of the spool.
func TestOnlyQueuesAreRead(t *testing.T) {
	config := spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 12, Fsync: "never"}
	writeIn(t, filepath.Join(config.Dir, "lost+found"), "0000.spool", bytes.Repeat([]byte{1}, 20))
	s := openSpool(t, config)
	defer s.Close()
	if n := s.Len(); n != 0 || metric.Sum(t, s.metrics, "giverny_spool_dropped_total") != 0 {
		t.Errorf("%d records wait: %s", n, s.State())
	}
	for _, name := range []string{"", "../other", "a/b"} {
		if err := s.Append(name, []byte("record")); err == nil {
			t.Errorf("a queue with the name %q", name)
		}
	}
	if records, _ := s.Peek("none", 1, 1); records != nil || s.LenOf("none") != 0 {
		t.Errorf("an unknown queue has %q", records)
	}
	s.Remove("none", 0, 1)
	s.putIn(t, "some", "record")
	if records, _ := s.Peek("some", 0, 0); len(records) != 1 {
		t.Errorf("a queue with one record has %q", records)
	}
}
