// Package spool is a set of FIFO queues of records on disk that survive a crash of the process at any instant: they
// hold what an agent cannot send yet. Records are opaque bytes to it, and it does not know where they go.
package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/dirlock"
)

// Spool is a set of queues of records on disk, which share its size. A queue that is not read does not keep the others
// from being read. Appended records survive a crash; removed ones may reappear after one. It is safe for concurrent use.
//
// It is a folder with a folder for each queue that has ever had a record: see queue. Earlier versions had a single queue,
// whose files are in the folder itself: see Distribute.
type Spool struct {
	config  Config
	metrics *metrics
	log     *slog.Logger
	release func() // releases the lock on the folder
	create  func(path string) (segmentFile, error)

	mu     sync.Mutex
	queues map[string]*queue // guarded by mu, as are the queues and all fields below
	bytes  int64             // of all segments
	begun  uint64            // number of segments ever begun: their ages
	frame  []byte            // scratch
	lost   map[string]uint64 // records by reason, since the spool was last empty
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
	queueSuffix   = ".queue"
	cursorName    = "next"
	segmentsWhole = 16       // a segment is at most this fraction of a full spool
	minBytes      = 32 << 20 // so that the longest record in most uses fits in a segment

	minSegmentBytes = 64 << 10        // before the next segment starts
	partsOfWaiting  = 64              // a segment is at most this fraction of its queue: space is freed by whole segments
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
	s := &Spool{config: config, metrics: metrics, log: log, release: release, create: createSegment, queues: map[string]*queue{}, lost: map[string]uint64{}}
	if err := s.load(); err != nil {
		release()
		return nil, fmt.Errorf("open spool %s: %w", config.Dir, err)
	}
	if n := s.waiting(); n > 0 {
		log.Info("spool: records of an earlier run are waiting", "records", n, "bytes", s.bytes)
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

// Close saves the cursors and closes the files. The records stay; if a full disk prevents saving, some are delivered twice.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, q := range s.queues {
		s.noteIOError(q.saveCursor())
		errs = append(errs, q.closeOut())
	}
	s.release()
	return errors.Join(errs...)
}

// Len returns the number of records of all queues.
func (s *Spool) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.waiting())
}

func (s *Spool) waiting() (records uint64) {
	for _, q := range s.queues {
		records += q.waiting()
	}
	return records
}

// LenOf returns the number of records of a queue.
func (s *Spool) LenOf(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[name]; q != nil {
		return int(q.waiting())
	}
	return 0
}

// Queues returns the names of the queues that have records, sorted. That of a single queue of an earlier version is empty.
func (s *Spool) Queues() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		if s.queues[name].waiting() > 0 {
			names = append(names, name)
		}
	}
	return names
}

// Append adds a record at the end of a queue, whose name must be that of a file. If that exceeds max_bytes, or the disk is
// full, the oldest segments of all queues are dropped: the newest readings are worth most, since late ones complete
// intervals only for a limited time. On a disk error the record is counted as dropped. If only the sync fails, the record
// stays, and the error is counted and logged.
func (s *Spool) Append(name string, record []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.report()
	if err := s.write(name, record, s.config.MaxBytes); err != nil {
		s.metrics.errors.WithLabelValues(errorWrite).Inc()
		s.countLost(DropWrite, 1)
		return fmt.Errorf("spool %s: %w", s.config.Dir, err)
	}
	return nil
}

func (s *Spool) write(name string, record []byte, maxBytes int64) error {
	size := int64(frameBytes + len(record))
	if len(record) == 0 {
		return errors.New("an empty record")
	}
	if name == "" || strings.ContainsAny(name, `/\`) {
		return fmt.Errorf("%q is no name of a queue", name)
	}
	if size > s.config.segmentBytes() {
		return fmt.Errorf("record of %d bytes exceeds the segment size of %d; raise spool.max_bytes", size, s.config.segmentBytes())
	}
	q := s.queues[name]
	if q == nil {
		q = &queue{spool: s, dir: filepath.Join(s.config.Dir, name+queueSuffix)}
		s.queues[name] = q
	}
	s.frame = binary.LittleEndian.AppendUint32(s.frame[:0], uint32(len(record)))
	s.frame = binary.LittleEndian.AppendUint32(s.frame, crc32.Checksum(record, castagnoli))
	s.frame = append(s.frame, record...)
	s.makeRoom(s.bytes+size-maxBytes, DropFull)
	err := q.append(s.frame)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		s.makeRoom(size, DropDisk) // once: others may use the freed space
		err = q.append(s.frame)
	}
	return err
}

// makeDir makes the folder of a queue. If somebody has removed that of the spool with its lock, it makes that again, but
// none above it, which may be a disk that is not mounted.
func (s *Spool) makeDir(dir string) error {
	err := os.Mkdir(dir, 0o750)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.restoreDir(); err == nil {
			err = os.Mkdir(dir, 0o750)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil && s.config.Fsync != FsyncNever {
		s.noteIOError(atomicfile.SyncDir(s.config.Dir))
	}
	return err
}

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

// noteIOError counts and logs an I/O error that loses no record.
func (s *Spool) noteIOError(err error) {
	if err != nil {
		s.metrics.errors.WithLabelValues(errorWrite).Inc()
		s.log.Warn("spool: I/O error", "error", err)
	}
}

func (s *Spool) report() {
	s.metrics.records.Set(float64(s.waiting()))
	s.metrics.bytes.Set(float64(s.bytes))
}

// Peek returns the oldest records of a queue, at least one unless it is empty, up to maxRecords and about
// maxBytes, and the number of the first one for Remove. The caller owns their memory. Unreadable records are
// lost, and counted.
func (s *Spool) Peek(name string, maxRecords, maxBytes int) (records [][]byte, first uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.report()
	if q := s.queues[name]; q != nil {
		return q.peek(maxRecords, maxBytes)
	}
	return nil, 0
}

// Remove removes n records that Peek returned for a queue with the number first. Some of them may have been dropped
// since to make room.
func (s *Spool) Remove(name string, first uint64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.report()
	q := s.queues[name]
	if q == nil {
		return
	}
	q.remove(first + uint64(n))
	if s.waiting() == 0 {
		clear(s.lost)
	}
	s.noteIOError(q.saveCursor())
}
