package launch

import (
	"time"

	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/internal/faults"
)

// Config says on which hosts a search may be launched, and its parameters.
type Config struct {
	// Agents on whose hosts a search may always be launched, as patterns such as lab-*.
	AllowHosts []string `yaml:"allow_hosts,flow"`
	// Query Slurm, as configured in feedback.slurm, and also use hosts that are drained and idle.
	Slurm bool `yaml:"slurm"`
	// The engine, named as in the agents' search.offer.engines.
	Engine string `yaml:"engine"`
	// How many other hosts of the same NIC model a search uses.
	Peers int `yaml:"peers"`
	// Maximum number of experiments of a search.
	Budget int `yaml:"budget"`
	// How long a search may take.
	Duration time.Duration `yaml:"duration"`
	// When a search is launched automatically.
	Policy dispatch.PolicyConfig `yaml:"policy"`
}

// DefaultConfig launches nothing automatically.
func DefaultConfig() Config {
	return Config{Engine: "perftest", Peers: 1, Budget: 1800, Duration: 10 * time.Hour,
		Policy: dispatch.PolicyConfig{DryRun: true, Confidence: 0.8, AgainAfter: 7 * 24 * time.Hour, PerDay: 2}}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Engine != "", "engine", "empty")
	f.Check(c.Peers >= 0 && c.Peers <= 16, "peers", "%d: want 0 to 16", c.Peers)
	f.Check(c.Budget >= 1, "budget", "%d: want 1 or more", c.Budget)
	f.Check(c.Duration > 0, "duration", "%v: want a positive duration", c.Duration)
	c.Policy.Check(&f, c.AllowHosts, c.Slurm)
	return f.Err()
}
