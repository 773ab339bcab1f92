package diagnose

import "github.com/giverny/giverny/internal/faults"

// Config sets the search bounds and thresholds of a diagnosis.
type Config struct {
	// How many switches away from a region's links a job's node or a failure still counts as near (Monet, section 7:
	// N_hops).
	Hops int `yaml:"hops"`
	// How many intervals maxima, correlations and failures look back.
	Window int `yaml:"window"`
	// How many intervals before the stall a job's traffic may rise and still be its cause; 0: none.
	MaxLag int `yaml:"max_lag"`
	// How many median absolute deviations above the jobs' median make a job's traffic an outlier.
	Deviations float64 `yaml:"deviations"`
	// The minimum probability of a verdict, 0 to 1; below it the cause is unknown.
	MinConfidence float64 `yaml:"min_confidence"`
	// How many running or recently ended jobs are kept; those that ended first are dropped first.
	MaxJobs int `yaml:"max_jobs"`
	// How many victims, and how many failures, a diagnosis lists; of accused jobs it lists at most four.
	MaxListed int `yaml:"max_listed"`
}

// DefaultConfig searches 3 hops and 30 intervals around a region.
func DefaultConfig() Config {
	return Config{Hops: 3, Window: 30, MaxLag: 25, Deviations: 3, MinConfidence: 0.5, MaxJobs: 20000, MaxListed: 10}
}

const (
	maxHops   = 16
	maxWindow = 240
)

// Validate returns all faults, joined.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Hops >= 0 && c.Hops <= maxHops, "hops", "%d: want 0 to %d", c.Hops, maxHops)
	f.Check(c.Window >= 2 && c.Window <= maxWindow, "window", "%d: want 2 to %d", c.Window, maxWindow)
	f.Check(c.MaxLag >= 0 && c.MaxLag <= c.Window, "max_lag", "%d: want 0 to the window, %d", c.MaxLag, c.Window)
	f.Check(c.Deviations > 0 && c.Deviations <= 1e6, "deviations", "%v: want more than 0, up to 1e6", c.Deviations)
	f.Check(c.MinConfidence >= 0 && c.MinConfidence <= 1, "min_confidence", "%v: want 0 to 1", c.MinConfidence)
	f.Check(c.MaxJobs >= 1 && c.MaxJobs <= 1e6, "max_jobs", "%d: want 1 to 1e6", c.MaxJobs)
	f.Check(c.MaxListed >= 1 && c.MaxListed <= 1000, "max_listed", "%d: want 1 to 1000", c.MaxListed)
	return f.Err()
}
