package tracking

import (
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// Config is how regions are followed.
type Config struct {
	// How many intervals a region may be unseen and still keep its identity.
	GapIntervals int `yaml:"gap_intervals"`
	// Two regions of successive intervals can be the same only if they share more than this part of the smaller one.
	MinOverlap float64 `yaml:"min_overlap"`
	// For how many consecutive intervals a region must exist, be merged, be separate again, or differ in severity from what was reported, before an event reports it (debounce); 1: immediately. An end is reported after gap_intervals, and only if the region was reported.
	DebounceIntervals int `yaml:"debounce_intervals"`
	// The minimum size and mean that the segmenter uses; see Limits.
	Limits Limits `yaml:"-"`
	// Maximum distance in time of intervals with a High region that belong to one regions congestion event (Monet, section 6).
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
