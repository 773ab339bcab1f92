package tracking

import (
	"time"

	"github.com/giverny/giverny/internal/faults"
)

// Config says how regions are followed.
type Config struct {
	// For how many intervals a region may be unseen and come back as itself.
	GapIntervals int `yaml:"gap_intervals"`
	// The share of the smaller of two regions that both must have in common, strictly exceeded, to be one region in successive intervals.
	MinOverlap float64 `yaml:"min_overlap"`
	// For how many intervals in a row a region must be more, or less, severe than was reported before an event reports it (debounce); 1: at once. Births and ends are reported at once in any case.
	HoldIntervals int `yaml:"hold_intervals"`
	// Intervals with a High region that lie no farther apart are one regions congestion event (Monet, section 6).
	EventWindow time.Duration `yaml:"congestion_window"`
}

// DefaultConfig follows the authors' released program, which asks for more than
// half of the smaller region, bridges two intervals, and joins congestion over
// the paper's five minutes. A change of severity must last two intervals, the
// shortest that tells it from a crossing.
func DefaultConfig() Config {
	return Config{GapIntervals: 2, MinOverlap: .5, HoldIntervals: 2, EventWindow: 5 * time.Minute}
}

// Validate reports all that is wrong with the configuration.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.GapIntervals >= 0 && c.GapIntervals <= 1000, "gap_intervals", "%d: want 0 to 1000", c.GapIntervals)
	f.Check(c.MinOverlap >= 0 && c.MinOverlap < 1, "min_overlap", "%v: want a share from 0 to less than 1", c.MinOverlap)
	f.Check(c.HoldIntervals >= 1 && c.HoldIntervals <= 1000, "hold_intervals", "%d: want 1 to 1000", c.HoldIntervals)
	f.Check(c.EventWindow >= 0, "congestion_window", "%v: want 0 or more", c.EventWindow)
	return f.Err()
}
