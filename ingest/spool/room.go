package spool

import (
	"fmt"
	"maps"
	"slices"
)

// makeRoom removes the oldest segments of all queues until enough bytes are free. It counts their records as lost.
func (s *Spool) makeRoom(bytes int64, reason string) {
	before, lost := s.bytes, uint64(0)
	for before-s.bytes < bytes {
		q := s.oldest()
		if q == nil {
			break
		}
		if end, first := q.segments[0].end(), max(q.first, q.held); end > first {
			lost += end - first
		}
		q.removeOldest()
	}
	if lost > 0 {
		s.countLost(reason, lost)
		s.log.Error("spool: full, oldest records dropped; bring Kafka back, or raise spool.max_bytes", "reason", reason, "records", lost, "max_bytes", s.config.MaxBytes)
	}
}

// oldest returns the queue with the oldest segment; nil if there is none.
func (s *Spool) oldest() (oldest *queue) {
	for _, q := range s.queues {
		if len(q.segments) > 0 && (oldest == nil || q.segments[0].age < oldest.segments[0].age) {
			oldest = q
		}
	}
	return oldest
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
	waiting := s.waiting()
	if waiting == 0 && len(s.lost) == 0 {
		return ""
	}
	text := fmt.Sprintf("records waiting: %d", waiting)
	for _, reason := range slices.Sorted(maps.Keys(s.lost)) {
		text += fmt.Sprintf(", lost as %s: %d", reason, s.lost[reason])
	}
	return text
}
