package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/giverny/giverny/internal/atomicfile"
)

// queue is one FIFO of a Spool, whose lock guards it.
//
// It is a folder of segments, files of records named by the number of their first one, and a cursor file with
// the number of the next record. A record is its length (u32) and CRC-32C (u32), little-endian, then its bytes.
// A segment ends at the first truncated or damaged record. No record is empty: after a power failure a file may
// end in zeros.
type queue struct {
	spool    *Spool
	dir      string
	segments []*segment // oldest first
	out      segmentFile
	next     uint64 // number of the record to append
	first    uint64 // number of the oldest record
	readAt   int64  // position of first in segments[0]
	bytes    int64  // of its segments
	held     uint64 // Distribute has the records before this number in memory: they are not lost with their segment
}

func (q *queue) waiting() uint64 { return q.next - q.first }

// append adds a frame to the last segment. If it fails the queue is unchanged.
func (q *queue) append(frame []byte) error {
	size := int64(len(frame))
	if q.out != nil && q.last().bytes+size > q.segmentLimit() {
		q.spool.noteIOError(q.closeOut())
	}
	if q.out == nil {
		if err := q.openOut(); err != nil {
			return err
		}
	}
	last := q.last()
	if _, err := q.out.Write(frame); err != nil {
		// A partial frame would end the segment for readers. Cut it off, or start another file.
		if cut := q.out.Truncate(last.bytes); cut != nil {
			err = errors.Join(err, cut, q.closeOut())
		}
		return err
	}
	last.count++
	q.next++
	q.grow(last, size)
	if q.spool.config.Fsync == FsyncAlways {
		q.spool.noteIOError(q.out.Sync())
	}
	return nil
}

// grow adds bytes to a segment, and to what the queue and the spool have.
func (q *queue) grow(s *segment, bytes int64) {
	s.bytes += bytes
	q.bytes += bytes
	q.spool.bytes += bytes
}

// segmentLimit keeps segments small relative to the queue, because whole segments are dropped to make room.
func (q *queue) segmentLimit() int64 {
	return min(max(q.bytes/partsOfWaiting, minSegmentBytes), q.spool.config.segmentBytes())
}

func (q *queue) last() *segment { return q.segments[len(q.segments)-1] }

func (q *queue) openOut() error {
	if n := len(q.segments); n > 0 && q.segments[n-1].count == 0 {
		q.segments = q.segments[:n-1] // writing its first record failed
	}
	path := filepath.Join(q.dir, fmt.Sprintf("%020d%s", q.next, segmentSuffix))
	out, err := q.spool.create(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = q.spool.makeDir(q.dir); err == nil {
			out, err = q.spool.create(path)
		}
	}
	if err != nil {
		return err
	}
	q.out = out
	if len(q.segments) == 0 {
		q.first, q.readAt = q.next, 0
	}
	q.spool.begun++
	q.segments = append(q.segments, &segment{path: path, first: q.next, age: q.spool.begun})
	if q.spool.config.Fsync != FsyncNever {
		q.spool.noteIOError(atomicfile.SyncDir(q.dir))
	}
	return nil
}

// sync syncs the last segment unless the configuration says never.
func (q *queue) sync() error {
	if q.out == nil || q.spool.config.Fsync == FsyncNever {
		return nil
	}
	return q.out.Sync()
}

func (q *queue) closeOut() error {
	if q.out == nil {
		return nil
	}
	err := errors.Join(q.sync(), q.out.Close())
	q.out = nil
	return err
}

// removeOldest removes a segment. If its file cannot be deleted, the cursor tells the next run that its
// records are done.
func (q *queue) removeOldest() {
	oldest := q.segments[0]
	if len(q.segments) == 1 {
		q.spool.noteIOError(q.closeOut())
	}
	if err := os.Remove(oldest.path); !errors.Is(err, fs.ErrNotExist) {
		q.spool.noteIOError(err)
	}
	q.bytes -= oldest.bytes
	q.spool.bytes -= oldest.bytes
	q.segments = q.segments[1:]
	q.first, q.readAt = max(q.first, oldest.end()), 0
	if len(q.segments) > 0 {
		q.first = max(q.first, q.segments[0].first)
	} else {
		q.first = q.next // the last records of the last segment may be damaged
	}
}

func (q *queue) peek(maxRecords, maxBytes int) (records [][]byte, first uint64) {
	for q.first < q.next {
		oldest := q.segments[0]
		records, err := oldest.read(q.readAt, min(max(maxRecords, 1), int(oldest.end()-q.first)), maxBytes)
		if err == nil && len(records) > 0 {
			return records, q.first
		}
		if err != nil {
			q.loseRest(err)
		}
		q.removeOldest()
	}
	return nil, q.first
}

// loseRest counts the unreadable rest of the oldest segment as lost.
func (q *queue) loseRest(err error) {
	lost := q.segments[0].end() - q.first
	q.spool.metrics.errors.WithLabelValues(errorRead).Inc()
	q.spool.countLost(DropCorrupt, lost)
	q.spool.log.Error("spool: segment is unreadable, records dropped", "path", q.segments[0].path, "records", lost, "error", err)
}

// remove removes the records before the one with the number end.
func (q *queue) remove(end uint64) {
	for q.first < end && len(q.segments) > 0 {
		oldest := q.segments[0]
		if end >= oldest.end() {
			q.removeOldest()
			continue
		}
		readAt, err := oldest.skip(q.readAt, end-q.first)
		if err != nil {
			q.first = end // the rest is unreadable too
			q.loseRest(err)
			q.removeOldest()
			break
		}
		q.readAt, q.first = readAt, end
	}
}

// pass removes the oldest record if it still is the one with the number. It reads nothing.
func (q *queue) pass(number uint64, record []byte) {
	switch {
	case q.first != number || len(q.segments) == 0: // it was dropped to make room
	case number+1 >= q.segments[0].end():
		q.removeOldest()
	default:
		q.first++
		q.readAt += frameBytes + int64(len(record))
	}
}

// saveCursor persists the number of the next record. If that is lost, some records are delivered
// twice.
func (q *queue) saveCursor() error {
	path := filepath.Join(q.dir, cursorName)
	if err := os.WriteFile(path+".new", strconv.AppendUint(nil, q.first, 10), 0o640); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
