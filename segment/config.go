package segment

import (
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/monet"
)

// Method names a segmentation method.
type Method string

// Methods.
const (
	// Paper is Monet's algorithm as its section 4.2 defines it.
	Paper Method = "paper"
	// Statistical is the default. On duplex links, which stand for both directions, it
	// fits a piecewise constant model of the stalls, whose segments are separated by
	// tests against the noise of the data; on directed links it finds congestion trees
	// along back pressure.
	Statistical Method = "statistical"
)

// Config is how regions are found.
type Config struct {
	// statistical, or paper: Monet's algorithm as published.
	Method Method `yaml:"method"`
	// A link may belong to two regions where their stalls add up; not with the paper's method, whose regions are disjoint.
	Overlap bool `yaml:"overlap"`
	// The stall metrics to segment, one by one, in this order; empty: all measured ones.
	Metrics []schema.Metric `yaml:"metrics,flow"`
	// Minimum number of links of a region. 0 derives it from the fabric and its noise: on duplex links, as on Gemini, 20 (sigma of Monet), or 4 to 19 that stall as much in total as 20 links at Medium, depending on the fabric and the other groups of hot links; on directed links 4 to 8 for a congestion tree with a root and 6 to 8 for others, depending on the fabric and the number of isolated hot links, and fewer for adjacent stalled links outside any tree, if so many are improbable by chance.
	MinLinks int `yaml:"min_links"`
	// Minimum mean stall of a region; by default the lower bound of Low.
	MinMeanPercent float64 `yaml:"min_mean_percent"`
	// Thresholds of the paper's method; the statistical method has none to set.
	Paper monet.Config `yaml:"paper"`
}

// DefaultConfig selects the statistical method; the paper's has its production thresholds.
func DefaultConfig() Config {
	return Config{
		Method:         Statistical,
		MinMeanPercent: 5,
		Paper:          monet.DefaultConfig(),
	}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Method == Paper || c.Method == Statistical, "method", "%q: want %s or %s", c.Method, Statistical, Paper)
	f.Check(!c.Overlap || c.Method != Paper, "overlap", "the paper's regions are disjoint; leave overlap off or choose method: %s", Statistical)
	seen := map[schema.Metric]bool{}
	for _, m := range c.Metrics {
		f.Check(m.IsStall(), "metrics", "%q is not a stall or pause ratio; regions are grown on those only", m)
		f.Check(!seen[m], "metrics", "%q is duplicated", m)
		seen[m] = true
	}
	f.Check(c.MinLinks >= 0, "min_links", "%d: want at least 1, or 0 to derive it", c.MinLinks)
	f.Check(c.MinMeanPercent >= 0 && c.MinMeanPercent <= 100, "min_mean_percent", "%v: want a percentage from 0 to 100", c.MinMeanPercent)
	f.Under("paper", c.Paper.Validate())
	return f.Err()
}
