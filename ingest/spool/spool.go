// Package spool is a FIFO queue of records on disk that survives a crash of the process at any instant: it
// holds what an agent cannot send yet. Records are opaque bytes to it, and it does not know where they go.
package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/dirlock"
)

// Spool is a queue of records on disk. Appended records survive a crash; removed ones may reappear after one.
// It is safe for concurrent use.
//
// It is a folder of segments, files of records named by the number of their first one, and a cursor file with
// the number of the next record. A record is its length (u32) and CRC-32C (u32), little-endian, then its bytes.
// A segment ends at the first truncated or damaged record. No record is empty: after a power failure a file may
// end in zeros.
type Spool struct {
	config  Config
	metrics *metrics
	log     *slog.Logger
	release func() // releases the lock on the folder
	create  func(path string) (segmentFile, error)

	mu       sync.Mutex
	segments []*segment // guarded by mu, as are all fields below; oldest first
	out      segmentFile
	next     uint64 // number of the record to append
	first    uint64 // number of the oldest record
	readAt   int64  // position of first in segments[0]
	bytes    int64
	frame    []byte            // scratch
	lost     map[string]uint64 // records by reason, since the spool was last empty
}

type segmentFile interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

const (
	frameBytes    = 8 // before each record: its length and CRC
	segmentSuffix = ".spool"
	cursorName    = "next"
	segmentsWhole = 16       // a segment is at most this fraction of a full spool
	minBytes      = 32 << 20 // so that the longest record in most uses fits in a segment

	minSegmentBytes = 64 << 10        // before the next segment starts
	partsOfWaiting  = 64              // a segment is at most this fraction of what waits: space is freed by whole segments
	lockPatience    = 2 * time.Second // for the process before, which is ending
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Open reads what a previous process left in the folder, creates the folder if it is missing, and
// registers the spool's metrics.
func Open(config Config, reg prometheus.Registerer, log *slog.Logger) (*Spool, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	if config.Dir == "" {
		return nil, errors.New("spool: dir: empty; name a folder on a local disk")
	}
	return open(config, reg, log)
}

func open(config Config, reg prometheus.Registerer, log *slog.Logger) (*Spool, error) {
	metrics, err := newMetrics(reg)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	if err := os.MkdirAll(config.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	release, err := dirlock.Acquire(config.Dir, lockPatience)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s := &Spool{config: config, metrics: metrics, log: log, release: release, create: createSegment, lost: map[string]uint64{}}
	if err := s.load(); err != nil {
		release()
		return nil, fmt.Errorf("open spool %s: %w", config.Dir, err)
	}
	if len(s.segments) > 0 {
		log.Info("spool: records of an earlier run are waiting", "records", s.next-s.first, "bytes", s.bytes)
	}
	return s, nil
}

// Config returns the spool's configuration.
func (s *Spool) Config() Config { return s.config }

// CountDropped counts a record that was removed but lost.
func (s *Spool) CountDropped(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.countLost(reason, 1)
}

func createSegment(path string) (segmentFile, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o640)
}

// Close saves the cursor and closes the files. The records stay; if a full disk prevents saving, some are delivered twice.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteIOError(s.saveCursor())
	err := s.closeOut()
	s.release()
	return err
}

// Len returns the number of records.
func (s *Spool) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.next - s.first)
}

// Append adds a record at the end. If that exceeds max_bytes, or the disk is full, the oldest segments are dropped: the
// newest readings are worth most, since late ones complete intervals only for a limited time. On a disk error the record
// is counted as dropped. If only the sync fails, the record stays, and the error is counted and logged.
func (s *Spool) Append(record []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.report()
	s.frame = binary.LittleEndian.AppendUint32(s.frame[:0], uint32(len(record)))
	s.frame = binary.LittleEndian.AppendUint32(s.frame, crc32.Checksum(record, castagnoli))
	s.frame = append(s.frame, record...)
	if err := s.write(); err != nil {
		s.metrics.errors.WithLabelValues(errorWrite).Inc()
		s.countLost(DropWrite, 1)
		return fmt.Errorf("spool %s: %w", s.config.Dir, err)
	}
	return nil
}

func (s *Spool) write() error {
	size := int64(len(s.frame))
	if size == frameBytes {
		return errors.New("an empty record")
	}
	if size > s.config.segmentBytes() {
		return fmt.Errorf("record of %d bytes exceeds the segment size of %d; raise spool.max_bytes", size, s.config.segmentBytes())
	}
	s.makeRoom(s.bytes+size-s.config.MaxBytes, DropFull)
	err := s.writeFrame()
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		s.makeRoom(size, DropDisk) // once: others may use the freed space
		err = s.writeFrame()
	}
	return err
}

// writeFrame appends the frame to the last segment. If it fails the spool is unchanged.
func (s *Spool) writeFrame() error {
	size := int64(len(s.frame))
	if s.out != nil && s.last().bytes+size > s.segmentLimit() {
		s.noteIOError(s.closeOut())
	}
	if s.out == nil {
		if err := s.openOut(); err != nil {
			return err
		}
	}
	last := s.last()
	if _, err := s.out.Write(s.frame); err != nil {
		// A partial frame would end the segment for readers. Cut it off, or start another file.
		if cut := s.out.Truncate(last.bytes); cut != nil {
			err = errors.Join(err, cut, s.closeOut())
		}
		return err
	}
	last.bytes += size
	last.count++
	s.bytes += size
	s.next++
	if s.config.Fsync == FsyncAlways {
		s.noteIOError(s.out.Sync())
	}
	return nil
}

// segmentLimit keeps segments small relative to the spool, because whole segments are dropped to make room.
func (s *Spool) segmentLimit() int64 {
	return min(max(s.bytes/partsOfWaiting, minSegmentBytes), s.config.segmentBytes())
}

func (s *Spool) last() *segment { return s.segments[len(s.segments)-1] }

func (s *Spool) openOut() error {
	if n := len(s.segments); n > 0 && s.segments[n-1].count == 0 {
		s.segments = s.segments[:n-1] // writing its first record failed
	}
	path := filepath.Join(s.config.Dir, fmt.Sprintf("%020d%s", s.next, segmentSuffix))
	out, err := s.create(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.restoreDir(); err == nil {
			out, err = s.create(path)
		}
	}
	if err != nil {
		return err
	}
	s.out = out
	if len(s.segments) == 0 {
		s.first, s.readAt = s.next, 0
	}
	s.segments = append(s.segments, &segment{path: path, first: s.next})
	if s.config.Fsync != FsyncNever {
		s.noteIOError(atomicfile.SyncDir(s.config.Dir))
	}
	return nil
}

// restoreDir makes the folder again, which somebody has removed with its lock. It makes none above it, which may be a disk that
// is not mounted.
func (s *Spool) restoreDir() error {
	if err := os.Mkdir(s.config.Dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	release, err := dirlock.Acquire(s.config.Dir, 0)
	if err != nil {
		return err
	}
	s.release()
	s.release = release
	s.log.Warn("spool: folder was removed, created again", "path", s.config.Dir)
	return nil
}

func (s *Spool) closeOut() error {
	if s.out == nil {
		return nil
	}
	var err error
	if s.config.Fsync != FsyncNever {
		err = s.out.Sync()
	}
	err = errors.Join(err, s.out.Close())
	s.out = nil
	return err
}

// removeOldest removes a segment. If its file cannot be deleted, the cursor tells the next run that its
// records are done.
func (s *Spool) removeOldest() {
	oldest := s.segments[0]
	if len(s.segments) == 1 {
		s.noteIOError(s.closeOut())
	}
	if err := os.Remove(oldest.path); !errors.Is(err, fs.ErrNotExist) {
		s.noteIOError(err)
	}
	s.bytes -= oldest.bytes
	s.segments = s.segments[1:]
	s.first, s.readAt = max(s.first, oldest.end()), 0
	if len(s.segments) > 0 {
		s.first = max(s.first, s.segments[0].first)
	} else {
		s.first = s.next // the last records of the last segment may be damaged
	}
}

// noteIOError counts and logs an I/O error that loses no record.
func (s *Spool) noteIOError(err error) {
	if err != nil {
		s.metrics.errors.WithLabelValues(errorWrite).Inc()
		s.log.Warn("spool: I/O error", "error", err)
	}
}

func (s *Spool) report() {
	s.metrics.records.Set(float64(s.next - s.first))
	s.metrics.bytes.Set(float64(s.bytes))
}

// Peek returns the oldest records, at least one unless the spool is empty, up to maxRecords and about
// maxBytes, and the number of the first one for Remove. The caller owns their memory. Unreadable records are
// lost, and counted.
func (s *Spool) Peek(maxRecords, maxBytes int) (records [][]byte, first uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.report()
	for s.first < s.next {
		oldest := s.segments[0]
		records, err := oldest.read(s.readAt, min(maxRecords, int(oldest.end()-s.first)), maxBytes)
		if err == nil && len(records) > 0 {
			return records, s.first
		}
		if err != nil {
			s.loseRest(err)
		}
		s.removeOldest()
	}
	return nil, s.first
}

// loseRest counts the unreadable rest of the oldest segment as lost.
func (s *Spool) loseRest(err error) {
	lost := s.segments[0].end() - s.first
	s.metrics.errors.WithLabelValues(errorRead).Inc()
	s.countLost(DropCorrupt, lost)
	s.log.Error("spool: segment is unreadable, records dropped", "path", s.segments[0].path, "records", lost, "error", err)
}

// Remove removes n records that Peek returned with the number first. Some of them may have been dropped
// since to make room.
func (s *Spool) Remove(first uint64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.report()
	for end := first + uint64(n); s.first < end && len(s.segments) > 0; {
		oldest := s.segments[0]
		if end >= oldest.end() {
			s.removeOldest()
			continue
		}
		readAt, err := oldest.skip(s.readAt, end-s.first)
		if err != nil {
			s.first = end // the rest is unreadable too
			s.loseRest(err)
			s.removeOldest()
			break
		}
		s.readAt, s.first = readAt, end
	}
	if s.first == s.next {
		clear(s.lost)
	}
	s.noteIOError(s.saveCursor())
}
