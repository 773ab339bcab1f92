package launch

import (
	"time"

	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/internal/faults"
)

// Config says on which hosts a search may be launched, and what it is to be.
type Config struct {
	// Agents on whose hosts a search may always be launched, patterns such as lab-*.
	AllowHosts []string `yaml:"allow_hosts,flow"`
	// Ask Slurm, in the way that feedback.slurm says, and take hosts that are drained and idle too.
	Slurm bool `yaml:"slurm"`
	// The engine, by its name in search.offer.engines of the agents.
	Engine string `yaml:"engine"`
	// How many other hosts of the same NIC model a search uses.
	Peers int `yaml:"peers"`
	// Experiments of a search.
	Budget int `yaml:"budget"`
	// How long a search may take.
	Duration time.Duration `yaml:"duration"`
	// When a search is launched without a person.
	Policy dispatch.PolicyConfig `yaml:"policy"`
}

// DefaultConfig launches nothing by itself.
func DefaultConfig() Config {
	return Config{Engine: "perftest", Peers: 1, Budget: 1800, Duration: 10 * time.Hour,
		Policy: dispatch.PolicyConfig{DryRun: true, Confidence: 0.8, AgainAfter: 7 * 24 * time.Hour, PerDay: 2}}
}

// Validate joins all faults.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Engine != "", "engine", "empty")
	f.Check(c.Peers >= 0 && c.Peers <= 16, "peers", "%d: want 0 to 16", c.Peers)
	f.Check(c.Budget >= 1, "budget", "%d: want 1 or more", c.Budget)
	f.Check(c.Duration > 0, "duration", "%v: want a positive duration", c.Duration)
	c.Policy.Check(&f, c.AllowHosts, c.Slurm)
	return f.Err()
}
