package window

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/giverny/giverny/schema"
)

// Config says how readings become snapshots.
type Config struct {
	// IntervalNanos is the length of an interval, from one second to one day.
	// It should be no shorter than the time between two polls.
	IntervalNanos int64
	// ClockLatenessNanos is how long after an interval's end its readings may
	// still come, in the time of Advance. 0 means half an interval.
	ClockLatenessNanos int64
	// EventTimeLatenessNanos is the same in the time of the readings: once more
	// than half of the devices have readings so much later than the interval's
	// end, it closes. 0 means an interval more than by the clock: when a whole
	// poll was missed, the first readings of the next one are late for all at
	// once, and the rest of that poll is on its way.
	EventTimeLatenessNanos int64
	// MaxGapIntervals is the longest time between two readings of a counter
	// over which their difference is still spread, and how long a port that
	// fell silent is waited for.
	MaxGapIntervals int
	// MaxAheadIntervals is how far readings may run ahead of the oldest open
	// interval; they are held. 0 means 8 beyond
	// the lateness in event time. It is never less than MaxGapIntervals + 1.
	MaxAheadIntervals int
	// MaxJumpIntervals is how many intervals without data are worth empty
	// snapshots. Where time jumps further, forth or back, the window
	// begins again at the other side.
	MaxJumpIntervals int
	// MinCoverOfInterval is the share of an interval, 0 to 1, that the readings
	// of a counter must cover for its value to be valid.
	MinCoverOfInterval float64
	// MaxSkewNanos is how far the clock of a device may be off the median of
	// all; beyond, its readings are dropped. 0 means two intervals.
	MaxSkewNanos int64
	// TickPicoseconds is the tick of xmit_wait counters where no TickColumn
	// says it; 0: without that column they give no value.
	TickPicoseconds int64
	// Metrics to make; nil makes all of which there are readings. A snapshot has
	// a series of those that were reported within MaxGapIntervals.
	Metrics []schema.Metric
}

// DefaultConfig makes a snapshot a minute.
func DefaultConfig() Config {
	return Config{IntervalNanos: int64(time.Minute), MaxGapIntervals: 3, MaxJumpIntervals: 1000, MinCoverOfInterval: 0.5}
}

const (
	defaultMaxAheadIntervals = 8
	// limitMaxAheadIntervals bounds the memory that open intervals take.
	limitMaxAheadIntervals = 128
)

// Validate names every fault.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	day := int64(24 * time.Hour)
	check(c.IntervalNanos >= int64(time.Second) && c.IntervalNanos <= day, "interval %v: want 1s to 24h", time.Duration(c.IntervalNanos))
	latest := c.IntervalNanos * (limitMaxAheadIntervals - defaultMaxAheadIntervals)
	check(c.ClockLatenessNanos >= 0 && c.ClockLatenessNanos <= latest, "lateness by the clock %v: want 0s to %d intervals", time.Duration(c.ClockLatenessNanos), latest/max(c.IntervalNanos, 1))
	check(c.EventTimeLatenessNanos >= 0 && c.EventTimeLatenessNanos <= latest, "lateness in event time %v: want 0s to %d intervals", time.Duration(c.EventTimeLatenessNanos), latest/max(c.IntervalNanos, 1))
	check(c.MaxGapIntervals >= 1 && c.MaxGapIntervals < limitMaxAheadIntervals, "max gap of %d intervals: want 1 to %d", c.MaxGapIntervals, limitMaxAheadIntervals-1)
	check(c.MaxAheadIntervals >= 0 && c.MaxAheadIntervals <= limitMaxAheadIntervals, "max ahead of %d intervals: want 0 to %d", c.MaxAheadIntervals, limitMaxAheadIntervals)
	check(c.MaxJumpIntervals >= 1 && c.MaxJumpIntervals <= 10_000, "max jump of %d intervals: want 1 to 10000", c.MaxJumpIntervals)
	check(c.MinCoverOfInterval >= 0 && c.MinCoverOfInterval <= 1, "min cover %v of an interval: want 0 to 1", c.MinCoverOfInterval)
	check(c.MaxSkewNanos >= 0 && c.MaxSkewNanos <= 365*day, "max skew %v: want 0s to a year", time.Duration(c.MaxSkewNanos))
	check(c.TickPicoseconds >= 0 && c.TickPicoseconds <= math.MaxUint32, "tick of %d ps: want 0 to %d", c.TickPicoseconds, math.MaxUint32)
	for _, m := range c.Metrics {
		check(m > schema.NoMetric && int(m) < schema.NumMetrics, "metric %d: unknown", m)
	}
	return errors.Join(errs...)
}

// withDefaults is the configuration with its zeros replaced by what they mean.
func (c Config) withDefaults() Config {
	if c.ClockLatenessNanos == 0 {
		c.ClockLatenessNanos = c.IntervalNanos / 2
	}
	if c.EventTimeLatenessNanos == 0 {
		c.EventTimeLatenessNanos = c.ClockLatenessNanos + c.IntervalNanos
	}
	if c.MaxAheadIntervals == 0 {
		lateness := max(c.ClockLatenessNanos, c.EventTimeLatenessNanos-c.IntervalNanos)
		c.MaxAheadIntervals = min(int(lateness/c.IntervalNanos)+defaultMaxAheadIntervals, limitMaxAheadIntervals)
	}
	c.MaxAheadIntervals = max(c.MaxAheadIntervals, c.MaxGapIntervals+1)
	if c.MaxSkewNanos == 0 {
		c.MaxSkewNanos = 2 * c.IntervalNanos
	}
	return c
}
