package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"time"
)

// segment is a file of records of a queue.
type segment struct {
	path    string
	first   uint64 // number of its first record
	count   uint64
	bytes   int64     // of complete records; a truncated one may follow
	lost    uint64    // records from the first damaged one on, as far as their lengths show
	age     uint64    // orders the segments of all queues, the oldest first
	written time.Time // of the last record; zero for segments of this process
}

func (s *segment) end() uint64 { return s.first + s.count }

var (
	errDamaged = errors.New("a record does not match its checksum")
	errLength  = errors.New("a record is longer than the rest of the file, or empty")
)

// scan counts the complete records of a file that a previous process left.
func (s *segment) scan(log *slog.Logger) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s.written = info.ModTime()
	r := bufio.NewReaderSize(f, 256<<10)
	var record []byte
	for at := int64(0); ; {
		if record, err = readFrame(r, info.Size()-at, record); err != nil && !errors.Is(err, errDamaged) {
			break
		}
		at += frameBytes + int64(len(record))
		if err != nil || s.lost > 0 {
			s.lost++
			continue
		}
		s.count++
		s.bytes = at
	}
	if s.lost > 0 || !errors.Is(err, io.EOF) {
		log.Warn("spool: segment ends in a damaged record", "path", s.path, "records", s.count, "lost", s.lost, "bytes", info.Size()-s.bytes, "error", err)
	}
	return nil
}

// read returns records from byte at on, until there are maxRecords or together they exceed maxBytes. It
// returns no error if there is at least one.
func (s *segment) read(at int64, maxRecords, maxBytes int) (records [][]byte, err error) {
	if maxRecords <= 0 {
		return nil, nil
	}
	r, f, err := s.open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for size := 0; len(records) < maxRecords && size <= maxBytes; {
		record, err := readFrame(r, s.bytes-at, nil)
		if err != nil {
			if len(records) > 0 {
				return records, nil
			}
			return nil, err
		}
		size += len(record)
		at += frameBytes + int64(len(record))
		records = append(records, record)
	}
	return records, nil
}

// skip returns the position of the n-th record after byte at.
func (s *segment) skip(at int64, n uint64) (int64, error) {
	r, f, err := s.open(at)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for range n {
		header, err := r.Peek(frameBytes)
		if err != nil {
			return 0, err
		}
		size := frameBytes + int64(binary.LittleEndian.Uint32(header))
		if _, err := r.Discard(int(size)); err != nil {
			return 0, err
		}
		at += size
	}
	return at, nil
}

func (s *segment) open(at int64) (*bufio.Reader, *os.File, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, nil, err
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		f.Close()
		return nil, nil, err
	}
	return bufio.NewReaderSize(f, 64<<10), f, nil
}

// readFrame reads one record, into buf if it fits; left is the number of bytes left in the file.
func readFrame(r *bufio.Reader, left int64, buf []byte) ([]byte, error) {
	var header [frameBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return buf, err
	}
	size := int64(binary.LittleEndian.Uint32(header[:]))
	if size == 0 || size > left-frameBytes {
		return buf, errLength
	}
	if int64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if _, err := io.ReadFull(r, buf); err != nil {
		return buf, err
	}
	if crc32.Checksum(buf, castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
		return buf, errDamaged
	}
	return buf, nil
}
