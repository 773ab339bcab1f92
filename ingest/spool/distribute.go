package spool

import (
	"errors"
	"fmt"
)

// distributed is how many records, and about how many bytes, Distribute moves at a time.
const (
	distributedRecords = 512
	distributedBytes   = 512 << 10
)

// Distribute moves the records of the single queue that an earlier version left to the queues that queueOf names, before
// any other record is appended. It may exceed max_bytes by a segment, and fails if the disk does: then the rest stays where
// it is. A crash in the middle leaves some records twice.
func (s *Spool) Distribute(queueOf func(record []byte) string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.report()
	for old := s.queues[""]; old != nil && old.waiting() > 0; {
		records, first := old.peek(distributedRecords, distributedBytes)
		old.held = first + uint64(len(records))
		for i, record := range records {
			if err := s.write(queueOf(record), record, s.config.MaxBytes+s.config.segmentBytes()); err != nil {
				return errors.Join(fmt.Errorf("spool %s: move the records of an earlier version: %w", s.config.Dir, err), old.saveCursor())
			}
			if i == len(records)-1 { // which may remove the file
				s.syncAll()
			}
			old.pass(first+uint64(i), record)
		}
		s.noteIOError(old.saveCursor())
	}
	return nil
}

func (s *Spool) syncAll() {
	for _, q := range s.queues {
		s.noteIOError(q.sync())
	}
}
