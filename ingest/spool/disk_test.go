package spool_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/giverny/giverny/ingest/spool"
)

// fullDisk takes so many bytes and then fails, in the middle of a record.
type fullDisk struct {
	spool.SegmentFile
	room     *int
	truncate error
}

func (f fullDisk) Write(b []byte) (int, error) {
	n := min(len(b), *f.room)
	*f.room -= n
	written, _ := f.SegmentFile.Write(b[:n])
	if n < len(b) {
		return written, syscall.ENOSPC
	}
	return written, nil
}

func (f fullDisk) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.SegmentFile.Truncate(size)
}

func TestSpoolOnAFullDisk(t *testing.T) {
	for name, truncate := range map[string]error{"that can be cut": nil, "that fails altogether": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 16, Fsync: "never"})
			defer s.Close()
			room := 100
			s.FailDisk(func(f spool.SegmentFile, err error) (spool.SegmentFile, error) {
				return fullDisk{f, &room, truncate}, err
			})
			all := numbered(0, 30)
			var kept []string
			for i, r := range all {
				if i == 20 {
					room = 1 << 20
				}
				if err := s.Append([]byte(r)); err == nil {
					kept = append(kept, r)
				} else if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("record %d: %v", i, err)
				}
			}
			if failed := int(s.metric(t, "giverny_spool_dropped_total", "write_error")); failed == 0 || failed+len(kept) != len(all) {
				t.Errorf("%d counted as dropped and %d kept of %d", failed, len(kept), len(all))
			}
			s = s.crash(t, t.TempDir())
			defer s.Close()
			if got := s.drain(); !slices.Equal(got, kept) {
				t.Errorf("drained %q, want %q", got, kept)
			}
		})
	}
}

// unsyncedDisk writes, but cannot write through.
type unsyncedDisk struct{ spool.SegmentFile }

func (unsyncedDisk) Sync() error { return syscall.EIO }

// A record that is written but not written through is there: it counts as kept, and comes out once.
func TestSpoolThatCannotSync(t *testing.T) {
	for _, fsync := range []spool.Fsync{spool.FsyncAlways, spool.FsyncSegment} {
		s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 12, Fsync: fsync})
		s.FailDisk(func(f spool.SegmentFile, err error) (spool.SegmentFile, error) { return unsyncedDisk{f}, err })
		all := numbered(0, 20) // several segments
		s.put(t, all...)
		if n := s.metric(t, "giverny_spool_dropped_total", "write_error"); n != 0 {
			t.Errorf("fsync %s: %v records counted as dropped that are there", fsync, n)
		}
		if n := s.metric(t, "giverny_spool_errors_total", "write_error"); n == 0 || fsync == spool.FsyncAlways && n < 20 {
			t.Errorf("fsync %s: %v errors counted", fsync, n)
		}
		if got := s.drain(); !slices.Equal(got, all) {
			t.Errorf("fsync %s: drained %q", fsync, got)
		}
		_ = s.Close()
	}
}
