package tracking

import (
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// Config is how regions are followed.
type Config struct {
	// For how many intervals a region may be unseen and come back as itself.
	GapIntervals int `yaml:"gap_intervals"`
	// The share of the smaller of two regions that both must have in common, strictly exceeded, to be one region in successive intervals.
	MinOverlap float64 `yaml:"min_overlap"`
	// For how many intervals in a row a region must be there, merged, apart again, or more or less severe than was reported, before an event reports it (debounce); 1: at once. An end is reported when gap_intervals have passed, and only of a region that was reported.
	DebounceIntervals int `yaml:"debounce_intervals"`
	// What the segmenter gives at least; see Limits.
	Limits Limits `yaml:"-"`
	// Intervals with a High region that lie no farther apart are one regions congestion event (Monet, section 6).
	EventWindow time.Duration `yaml:"congestion_window"`
}

// Limits are the minimum size and mean of regions. Noise moves a borderline region back and forth across
// them, so a Low region near a limit must last five times DebounceIntervals before an event reports it. The
// zero value means no limits.
type Limits struct {
	Links       int
	MeanPercent float64
}

// near is the factor above a limit up to which a region is near it.
const near = 1.25

// hovers reports whether a region may exist through noise alone.
func (l Limits) hovers(r *schema.Region) bool {
	return r.Severity <= schema.Low && (float64(len(r.Links)) < near*float64(l.Links) || r.Mean < near*l.MeanPercent)
}

// DefaultConfig follows the authors' released program, which requires more than half of
// the smaller region, bridges two intervals, and joins congestion over the paper's five
// minutes. Events require two intervals, the minimum that distinguishes a change from a
// momentary crossing.
func DefaultConfig() Config {
	return Config{GapIntervals: 2, MinOverlap: .5, DebounceIntervals: 2, EventWindow: 5 * time.Minute}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.GapIntervals >= 0 && c.GapIntervals <= 1000, "gap_intervals", "%d: want 0 to 1000", c.GapIntervals)
	f.Check(c.MinOverlap >= 0 && c.MinOverlap < 1, "min_overlap", "%v: want a share from 0 to less than 1", c.MinOverlap)
	f.Check(c.DebounceIntervals >= 1 && c.DebounceIntervals <= 1000, "debounce_intervals", "%d: want 1 to 1000", c.DebounceIntervals)
	f.Check(c.EventWindow >= 0, "congestion_window", "%v: want 0 or more", c.EventWindow)
	return f.Err()
}
