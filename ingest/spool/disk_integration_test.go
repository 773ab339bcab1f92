//go:build integration

package spool_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/test/chaos"
	"github.com/giverny/giverny/internal/test/metric"
)

// On a file system without space the newest records are kept, only few are lost with a segment, and the next process finds
// them.
func TestSpoolOnAFullFileSystem(t *testing.T) {
	disk, err := chaos.NewDisk(filepath.Join(t.TempDir(), "disk"), 8<<20)
	if err != nil {
		t.Fatalf("%v; this needs the right to mount: run it as root", err)
	}
	defer disk.Close()
	s := openSpool(t, spool.Config{Dir: filepath.Join(disk.Dir, "spool"), MaxBytes: 32 << 20, Fsync: "segment"})
	var all []string
	for _, r := range numbered(0, 1000) {
		all = append(all, r+strings.Repeat("y", 20<<10))
	}
	s.put(t, all...)
	if kept := s.Len(); kept < 350 || float64(kept+int(metric.Sum(t, s.metrics, "giverny_spool_dropped_total", "disk_full"))) != 1000 {
		t.Errorf("%d records of 20 KiB kept on a disk of 8 MiB", kept)
	}
	if err := (chaos.Full{Of: "the test", Disk: disk}).Inject(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // the cursor is not written
		t.Error(err)
	}
	s = openSpool(t, s.config)
	defer s.Close()
	want := all[len(all)-s.Len():]
	if got := s.drain(); !slices.Equal(got, want) {
		t.Errorf("%d records come out, the first %.10q; want %d from %.10q on", len(got), got[0], len(want), want[0])
	}
}

// On a file system without space the records of an earlier version are moved to their queues; those that must make room are
// counted, and none is lost beyond them.
func TestDistributeOnAFullFileSystem(t *testing.T) {
	disk, err := chaos.NewDisk(filepath.Join(t.TempDir(), "disk"), 8<<20)
	if err != nil {
		t.Fatalf("%v; this needs the right to mount: run it as root", err)
	}
	defer disk.Close()
	var all []string
	for _, r := range numbered(0, 330) {
		all = append(all, r+strings.Repeat("y", 20<<10))
	}
	s := ofAnEarlierVersion(t, spool.Config{Dir: filepath.Join(disk.Dir, "spool"), MaxBytes: 32 << 20, Fsync: "segment"}, all, 0)
	defer s.Close()
	if s.Len() != len(all) {
		t.Fatalf("%d records", s.Len())
	}
	full := chaos.Full{Of: "the test", Disk: disk}
	if err := full.Inject(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Distribute(lastDigit); err != nil {
		t.Errorf("%v", err)
	}
	dropped := int(metric.Sum(t, s.metrics, "giverny_spool_dropped_total", "disk_full"))
	if s.LenOf("") != 0 || s.Len()+dropped != len(all) || dropped > 20 {
		t.Errorf("%d records are left, %d dropped, %d not moved", s.Len(), dropped, s.LenOf(""))
	}
}
