package tracking

import (
	"errors"
	"fmt"
	"time"
)

// Config says how regions are followed.
type Config struct {
	// GapIntervals is for how many intervals a region may be unseen and come
	// back as itself.
	GapIntervals int
	// MinOverlap is the share of the smaller of two regions that both must have
	// in common, strictly exceeded, to be one region in successive intervals.
	MinOverlap float64
	// HoldIntervals is for how many intervals in a row a region must be above, or
	// below, the severity last told before a change is told. A mean that hovers at
	// a threshold would otherwise raise an event at every crossing.
	HoldIntervals int
	// EventWindow joins the intervals with a High region that lie no farther
	// apart to one regions congestion event (Monet, section 6).
	EventWindow time.Duration
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
	var errs []error
	if c.GapIntervals < 0 || c.GapIntervals > 1000 {
		errs = append(errs, fmt.Errorf("tracking: gap of %d intervals: want 0 to 1000", c.GapIntervals))
	}
	if !(c.MinOverlap >= 0 && c.MinOverlap < 1) {
		errs = append(errs, fmt.Errorf("tracking: min overlap %v: want a share from 0 to less than 1", c.MinOverlap))
	}
	if c.HoldIntervals < 1 || c.HoldIntervals > 1000 {
		errs = append(errs, fmt.Errorf("tracking: hold of %d intervals: want 1 to 1000", c.HoldIntervals))
	}
	if c.EventWindow < 0 {
		errs = append(errs, fmt.Errorf("tracking: event window %s: want 0 or more", c.EventWindow))
	}
	return errors.Join(errs...)
}
