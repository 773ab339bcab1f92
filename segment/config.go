package segment

import (
	"errors"
	"fmt"
	"math"

	"github.com/giverny/giverny/schema"
)

// Method names a way to find regions.
type Method string

// Methods.
const (
	// Paper is Monet's algorithm as its section 4.2 defines it.
	Paper Method = "paper"
	// Statistical is the default: a piecewise constant model of the stalls,
	// whose segments are separated by tests against the noise of the data.
	Statistical Method = "statistical"
)

// Config says how regions are found.
type Config struct {
	Method Method
	// Overlap lets a link belong to two regions where their stalls add up.
	// Statistical only: the paper's regions are disjoint.
	Overlap bool
	// Metrics are segmented one by one, in this order. Empty: every stall
	// metric that the snapshot has, in the snapshot's order.
	Metrics []schema.Metric
	// MinLinks is the size under which a region does not count (sigma of
	// Monet).
	MinLinks int
	// MinMeanPercent is the mean stall under which a region does not count.
	// The default is the lower bound of Low.
	MinMeanPercent float64
	Paper          PaperConfig
}

// PaperConfig holds the thresholds of Monet's algorithm. They are not used by
// the statistical method, which has none of its own to set.
type PaperConfig struct {
	// Distance is delta: how far apart near links may be. On a torus or mesh
	// it is the L1 norm between half-way points, in switch spacings; elsewhere
	// the number of switches between two links.
	Distance int
	// PointPercent is theta_p: the difference of stall at which near links are
	// still similar.
	PointPercent float64
	// RegionPercent is theta_r: the same for the means of near regions.
	RegionPercent float64
}

// ColourScale turns percent into Monet's 0-255 colour scale, on which the paper
// states theta_p and theta_r (section 4.2, footnote 10).
const ColourScale = 2.55

// DefaultConfig is the statistical method, with the paper's production values
// for the paper's method: theta_p = theta_r = 4 on the colour scale, sigma 20,
// delta 2.
func DefaultConfig() Config {
	return Config{
		Method:         Statistical,
		MinLinks:       20,
		MinMeanPercent: 5,
		Paper:          PaperConfig{Distance: 2, PointPercent: 4 / ColourScale, RegionPercent: 4 / ColourScale},
	}
}

// Validate reports all that is wrong with the configuration.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("segment: "+format, args...)) }
	if c.Method != Paper && c.Method != Statistical {
		bad("method %q: want %q or %q", c.Method, Statistical, Paper)
	}
	if c.Overlap && c.Method == Paper {
		bad("overlap: the paper's regions are disjoint; leave overlap off or choose method %q", Statistical)
	}
	seen := map[schema.Metric]bool{}
	for _, m := range c.Metrics {
		if !m.IsStall() {
			bad("metric %q is not a stall or pause ratio; regions are grown on those only", m)
		}
		if seen[m] {
			bad("metric %q stands twice", m)
		}
		seen[m] = true
	}
	if c.MinLinks < 1 {
		bad("min links %d: want at least 1", c.MinLinks)
	}
	percent := func(name string, v float64) {
		if math.IsNaN(v) || v < 0 || v > 100 {
			bad("%s %v: want a percentage from 0 to 100", name, v)
		}
	}
	percent("min mean", c.MinMeanPercent)
	percent("paper point threshold", c.Paper.PointPercent)
	percent("paper region threshold", c.Paper.RegionPercent)
	if c.Paper.Distance < 1 || c.Paper.Distance > maxDistance {
		bad("paper distance %d: want 1 to %d", c.Paper.Distance, maxDistance)
	}
	return errors.Join(errs...)
}

// maxDistance bounds delta: beyond it "near" has lost its meaning.
const maxDistance = 8
