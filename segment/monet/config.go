package monet

import "github.com/giverny/giverny/internal/faults"

// Config has the thresholds of Monet's algorithm.
type Config struct {
	// Maximum distance of near links (delta): on a torus or mesh the L1 norm between half-way points, in switch spacings; elsewhere the number of switches between two links.
	Distance int `yaml:"distance"`
	// Maximum difference of the stalls of near links that are similar (theta_p).
	PointPercent float64 `yaml:"point_percent"`
	// The same for the means of near regions (theta_r).
	RegionPercent float64 `yaml:"region_percent"`
}

// colourScale converts percent to Monet's colour scale of 0-255, in which the paper
// states theta_p and theta_r (section 4.2, footnote 10).
const colourScale = 2.55

// DefaultConfig has the paper's production values: theta_p = theta_r = 4 on the colour scale, delta 2. (Its sigma,
// 20, is the minimum size of a region under every method.)
func DefaultConfig() Config {
	return Config{Distance: 2, PointPercent: 4 / colourScale, RegionPercent: 4 / colourScale}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Distance >= 1 && c.Distance <= maxDistance, "distance", "%d: want 1 to %d", c.Distance, maxDistance)
	f.Check(c.PointPercent >= 0 && c.PointPercent <= 100, "point_percent", "%v: want a percentage from 0 to 100", c.PointPercent)
	f.Check(c.RegionPercent >= 0 && c.RegionPercent <= 100, "region_percent", "%v: want a percentage from 0 to 100", c.RegionPercent)
	return f.Err()
}

// maxDistance bounds delta: beyond it "near" is meaningless.
const maxDistance = 8
