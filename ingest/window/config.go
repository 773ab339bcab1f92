package window

import (
	"math"
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// Config is the configuration of a Window.
type Config struct {
	// Length of an interval, in whole seconds, up to a day; no shorter than the time between two polls.
	Interval time.Duration `yaml:"interval"`
	// How long after the end of an interval its readings may still arrive, by the wall clock; 0 is half an interval, and in the analysis of a fabric at least 2s. There is no delay while all devices report.
	ClockLateness time.Duration `yaml:"allowed_lateness"`
	// The same in event time: an interval closes once more than half of the devices have readings that much later than its end. 0: an interval more than allowed_lateness, since after a poll that was missed as a whole the first readings of the next one are late for all at once.
	EventTimeLateness time.Duration `yaml:"event_time_lateness"`
	// The longest gap between two readings of a counter that still gives a rate, in intervals; the analysis also waits that long for a port that stopped reporting.
	MaxGapIntervals int `yaml:"max_gap_intervals"`
	// How many intervals readings may be ahead of the oldest open one; they are held. 0: 8 beyond the lateness in event time; never less than max_gap_intervals + 1.
	MaxAheadIntervals int `yaml:"max_ahead_intervals"`
	// For up to how many intervals without data empty snapshots are made; after a longer jump in time, forward or back, the window restarts at the new time.
	MaxJumpIntervals int `yaml:"max_jump_intervals"`
	// The share of an interval, 0 to 1, that the readings of a counter must cover for its value to be valid.
	MinCoverOfInterval float64 `yaml:"min_cover"`
	// How far the clock of a device may deviate from the median of all; beyond that, its readings are dropped. 0: two intervals.
	MaxSkew time.Duration `yaml:"max_skew"`
	// Length of a tick of PortXmitWait for ports that do not report it, in picoseconds; 0: such counters give no percentage.
	TickPicoseconds int64 `yaml:"tick_picoseconds"`
	// The same as the bytes that the link carries in a tick, so that links of different rates need one value: 8 for NVIDIA Quantum switches. 0: unknown. tick_picoseconds has precedence.
	TickBytes int `yaml:"tick_bytes"`
	// The metrics to compute; empty: all for which there are readings.
	Metrics []schema.Metric `yaml:"metrics,flow"`
}

// DefaultConfig makes one snapshot per minute.
func DefaultConfig() Config {
	return Config{Interval: time.Minute, MaxGapIntervals: 3, MaxJumpIntervals: 1000, MinCoverOfInterval: 0.5}
}

const (
	// defaultMaxAheadIntervals may be open in addition to those that wait for late readings: some clocks are ahead.
	defaultMaxAheadIntervals = 8
	// limitMaxAheadIntervals limits the memory of open intervals.
	limitMaxAheadIntervals = 128
)

// Validate reports all faults.
func (c *Config) Validate() error {
	var f faults.List
	const day = 24 * time.Hour
	const most = limitMaxAheadIntervals - defaultMaxAheadIntervals
	f.Check(c.Interval >= time.Second && c.Interval <= day && c.Interval%time.Second == 0, "interval", "%v: want whole seconds, 1s to 24h", c.Interval)
	lateness := func(key string, d time.Duration) {
		f.Check(d >= 0 && (c.Interval <= 0 || d <= most*c.Interval), key, "%v: want 0s to %d intervals, %v", d, most, most*c.Interval)
	}
	lateness("allowed_lateness", c.ClockLateness)
	lateness("event_time_lateness", c.EventTimeLateness)
	f.Check(c.MaxGapIntervals >= 1 && c.MaxGapIntervals < limitMaxAheadIntervals, "max_gap_intervals", "%d: want 1 to %d", c.MaxGapIntervals, limitMaxAheadIntervals-1)
	f.Check(c.MaxAheadIntervals >= 0 && c.MaxAheadIntervals <= limitMaxAheadIntervals, "max_ahead_intervals", "%d: want 0 to %d", c.MaxAheadIntervals, limitMaxAheadIntervals)
	f.Check(c.MaxJumpIntervals >= 1 && c.MaxJumpIntervals <= 10_000, "max_jump_intervals", "%d: want 1 to 10000", c.MaxJumpIntervals)
	f.Check(c.MinCoverOfInterval >= 0 && c.MinCoverOfInterval <= 1, "min_cover", "%v: want 0 to 1", c.MinCoverOfInterval)
	f.Check(c.MaxSkew >= 0 && c.MaxSkew <= 365*day, "max_skew", "%v: want 0s to a year", c.MaxSkew)
	f.Check(c.TickPicoseconds >= 0 && c.TickPicoseconds <= math.MaxUint32, "tick_picoseconds", "%d: want 0 to %d", c.TickPicoseconds, math.MaxUint32)
	f.Check(c.TickBytes >= 0 && c.TickBytes <= 4096, "tick_bytes", "%d: want 0 to 4096", c.TickBytes)
	for _, m := range c.Metrics {
		f.Check(m > schema.NoMetric && int(m) < schema.NumMetrics, "metrics", "%d: unknown", m)
	}
	return f.Err()
}

// settled is a configuration in nanoseconds, with zeros replaced by their
// defaults.
type settled struct {
	IntervalNanos, ClockLatenessNanos, EventTimeLatenessNanos, MaxSkewNanos int64
	MaxGapIntervals, MaxAheadIntervals, MaxJumpIntervals                    int
	MinCoverOfInterval                                                      float64
	TickPicoseconds                                                         int64
	TickBytes                                                               int
	Metrics                                                                 []schema.Metric
}

func (c *Config) settled() settled {
	s := settled{IntervalNanos: int64(c.Interval), ClockLatenessNanos: int64(c.ClockLateness), EventTimeLatenessNanos: int64(c.EventTimeLateness), MaxSkewNanos: int64(c.MaxSkew),
		MaxGapIntervals: c.MaxGapIntervals, MaxAheadIntervals: c.MaxAheadIntervals, MaxJumpIntervals: c.MaxJumpIntervals,
		MinCoverOfInterval: c.MinCoverOfInterval, TickPicoseconds: c.TickPicoseconds, TickBytes: c.TickBytes, Metrics: c.Metrics}
	if s.ClockLatenessNanos == 0 {
		s.ClockLatenessNanos = s.IntervalNanos / 2
	}
	if s.EventTimeLatenessNanos == 0 {
		s.EventTimeLatenessNanos = s.ClockLatenessNanos + s.IntervalNanos
	}
	if s.MaxAheadIntervals == 0 {
		lateness := max(s.ClockLatenessNanos, s.EventTimeLatenessNanos-s.IntervalNanos)
		s.MaxAheadIntervals = min(int(lateness/s.IntervalNanos)+defaultMaxAheadIntervals, limitMaxAheadIntervals)
	}
	s.MaxAheadIntervals = max(s.MaxAheadIntervals, s.MaxGapIntervals+1)
	if s.MaxSkewNanos == 0 {
		s.MaxSkewNanos = 2 * s.IntervalNanos
	}
	return s
}
