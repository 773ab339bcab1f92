package schema

import "time"

// Interval is the half-open span [Start, Start+Duration) of event time, in
// nanoseconds UTC. Start is a multiple of Duration.
type Interval struct {
	StartNanos    int64
	DurationNanos int64
}

// IntervalAt returns the aligned interval of the given duration that contains nanos.
func IntervalAt(nanos, durationNanos int64) Interval {
	start := nanos - nanos%durationNanos
	if start > nanos { // nanos before 1970
		start -= durationNanos
	}
	return Interval{StartNanos: start, DurationNanos: durationNanos}
}

// EndNanos is the first instant after the interval.
func (i Interval) EndNanos() int64 { return i.StartNanos + i.DurationNanos }

// Next returns the following interval.
func (i Interval) Next() Interval { return Interval{i.EndNanos(), i.DurationNanos} }

// Contains reports whether nanos is in the interval.
func (i Interval) Contains(nanos int64) bool { return nanos >= i.StartNanos && nanos < i.EndNanos() }

func (i Interval) String() string {
	return time.Unix(0, i.StartNanos).UTC().Format("2006-01-02T15:04:05.999Z") + "+" + time.Duration(i.DurationNanos).String()
}
