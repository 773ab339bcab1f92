package spool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/test/metric"
)

// smallDisk has room for some bytes and then fails, in the middle of a record.
type smallDisk struct {
	spool.SegmentFile
	dir      string
	room     *int
	truncate error
}

func (d smallDisk) Write(b []byte) (int, error) {
	n := min(len(b), max(*d.room-folderBytes(d.dir), 0))
	written, _ := d.SegmentFile.Write(b[:n])
	if n < len(b) {
		return written, syscall.ENOSPC
	}
	return written, nil
}

func folderBytes(dir string) (bytes int) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				bytes += int(info.Size())
			}
		}
		return nil
	})
	return bytes
}

func (d smallDisk) Truncate(size int64) error {
	if d.truncate != nil {
		return d.truncate
	}
	return d.SegmentFile.Truncate(size)
}

// On a full disk the oldest records make room for the newest, whatever else fails; all losses are counted.
func TestSpoolOnAFullDisk(t *testing.T) {
	for name, truncate := range map[string]error{"that can be cut": nil, "that fails altogether": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openSpool(t, spool.Config{Dir: dir, MaxBytes: 1 << 12, Fsync: "never"})
			defer s.Close()
			room := 1500
			s.FailDisk(func(f spool.SegmentFile, err error) (spool.SegmentFile, error) {
				return smallDisk{f, dir, &room, truncate}, err
			})
			all := numbered(0, 100)
			s.put(t, all...)
			dropped := int(metric.Sum(t, s.metrics, "giverny_spool_dropped_total", "disk_full"))
			if dropped == 0 || dropped+s.Len() != len(all) || metric.Sum(t, s.metrics, "giverny_spool_bytes") < 1000 {
				t.Errorf("%d counted as dropped and %d kept of %d", dropped, s.Len(), len(all))
			}
			if got, want := s.State(), fmt.Sprintf("records waiting: %d, lost as disk_full: %d", s.Len(), dropped); got != want {
				t.Errorf("state %q, want %q", got, want)
			}
			room = 0 // others take all freed space
			if err := s.Append(only, []byte("one more")); !errors.Is(err, syscall.ENOSPC) || s.Len() == 0 || metric.Sum(t, s.metrics, "giverny_spool_dropped_total", "write_error") != 1 {
				t.Errorf("on a disk without any room: %v, %d kept", err, s.Len())
			}
			want := all[len(all)-s.Len():]
			s = s.crash(t, t.TempDir())
			defer s.Close()
			if got := s.drain(); !slices.Equal(got, want) || s.State() != "" {
				t.Errorf("drained %q, want %q; state %q", got, want, s.State())
			}
		})
	}
}

// unsyncedDisk writes, but cannot sync.
type unsyncedDisk struct{ spool.SegmentFile }

func (unsyncedDisk) Sync() error { return syscall.EIO }

// A record that is written but not synced counts as kept, and is delivered once.
func TestSpoolThatCannotSync(t *testing.T) {
	for _, fsync := range []spool.Fsync{spool.FsyncAlways, spool.FsyncSegment} {
		s := openSpool(t, spool.Config{Dir: t.TempDir(), MaxBytes: 1 << 12, Fsync: fsync})
		s.FailDisk(func(f spool.SegmentFile, err error) (spool.SegmentFile, error) { return unsyncedDisk{f}, err })
		all := numbered(0, 20) // several segments
		s.put(t, all...)
		if n := metric.Sum(t, s.metrics, "giverny_spool_dropped_total", "write_error"); n != 0 {
			t.Errorf("fsync %s: %v records counted as dropped that are there", fsync, n)
		}
		if n := metric.Sum(t, s.metrics, "giverny_spool_errors_total", "write_error"); n == 0 || fsync == spool.FsyncAlways && n < 20 {
			t.Errorf("fsync %s: %v errors counted", fsync, n)
		}
		if got := s.drain(); !slices.Equal(got, all) {
			t.Errorf("fsync %s: drained %q", fsync, got)
		}
		_ = s.Close()
	}
}
