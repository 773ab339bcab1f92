package spool

import (
	"fmt"
	"maps"
	"slices"
)

// makeRoom removes the oldest segments until enough bytes are free. It counts their records as lost.
func (s *Spool) makeRoom(bytes int64, reason string) {
	before, lost := s.bytes, uint64(0)
	for before-s.bytes < bytes && len(s.segments) > 0 {
		lost += s.segments[0].end() - s.first
		s.removeOldest()
	}
	if lost > 0 {
		s.countLost(reason, lost)
		s.log.Error("spool: full, oldest records dropped; bring Kafka back, or raise spool.max_bytes", "reason", reason, "records", lost, "max_bytes", s.config.MaxBytes)
	}
}

func (s *Spool) countLost(reason string, records uint64) {
	if records == 0 {
		return
	}
	s.metrics.dropped.WithLabelValues(reason).Add(float64(records))
	s.lost[reason] += records
}

// State describes how many records wait, and how many were lost since the spool was last empty, by reason; "" if
// there are none.
func (s *Spool) State() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == s.first && len(s.lost) == 0 {
		return ""
	}
	text := fmt.Sprintf("records waiting: %d", s.next-s.first)
	for _, reason := range slices.Sorted(maps.Keys(s.lost)) {
		text += fmt.Sprintf(", lost as %s: %d", reason, s.lost[reason])
	}
	return text
}
