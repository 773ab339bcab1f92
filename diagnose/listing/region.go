package listing

import (
	"maps"
	"slices"

	"github.com/giverny/giverny/schema"
)

type regionKey struct {
	id     uint64
	metric schema.Metric
}

// regionStory is the history of a region.
type regionStory struct {
	key       regionKey
	name      string
	from, to  schema.Instant
	intervals int
	worst     schema.Diagnosis
	last      string
	verdicts  map[string]*verdictCount // in the intervals with the worst severity
}

// verdictCount is how often a verdict occurred, and its diagnosis with the highest confidence.
type verdictCount struct {
	times int
	best  schema.Diagnosis
}

// add adds the diagnosis of an interval.
func (s *regionStory) add(d *schema.Diagnosis) {
	s.to = d.Time
	s.intervals++
	switch {
	case s.intervals == 1 || d.Severity > s.worst.Severity:
		s.worst = *d
		clear(s.verdicts)
	case d.Severity < s.worst.Severity:
		return
	case d.Mean > s.worst.Mean:
		s.worst = *d
	}
	v := s.verdicts[verdictKey(d)]
	if v == nil {
		v = &verdictCount{best: *d}
		s.verdicts[verdictKey(d)] = v
	}
	if v.times++; d.Cause.Confidence > v.best.Cause.Confidence {
		v.best = *d
	}
}

// usual returns the most frequent verdict.
func (s *regionStory) usual() *schema.Diagnosis {
	var most *verdictCount
	for _, name := range slices.Sorted(maps.Keys(s.verdicts)) {
		if v := s.verdicts[name]; most == nil || v.times > most.times {
			most = v
		}
	}
	return &most.best
}
