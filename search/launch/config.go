package launch

import (
	"fmt"
	"time"

	"github.com/giverny/giverny/command/safety"
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
	Policy PolicyConfig `yaml:"policy"`
}

// PolicyConfig of searches that a diagnosis launches.
type PolicyConfig struct {
	// Launch a search when a diagnosis says slow_host.
	Enabled bool `yaml:"enabled"`
	// Log and audit what would be launched, and launch nothing.
	DryRun bool `yaml:"dry_run"`
	// The confidence of a diagnosis from which it counts, 0 to 1.
	Confidence float64 `yaml:"confidence"`
	// A subsystem (NIC model, board, firmware) is searched again after this time.
	AgainAfter time.Duration `yaml:"again_after"`
	// How many searches the policy may launch in a fabric within a day.
	PerDay int `yaml:"per_day"`
}

// DefaultConfig launches nothing by itself.
func DefaultConfig() Config {
	return Config{Engine: "perftest", Peers: 1, Budget: 1800, Duration: 10 * time.Hour,
		Policy: PolicyConfig{DryRun: true, Confidence: 0.8, AgainAfter: 7 * 24 * time.Hour, PerDay: 2}}
}

// Validate joins all faults.
func (c *Config) Validate() error {
	var f faults.List
	for i, p := range c.AllowHosts {
		f.Check(safety.ValidPattern(p), fmt.Sprintf("allow_hosts.%d", i), "%q is not a pattern", p)
	}
	f.Check(c.Engine != "", "engine", "empty")
	f.Check(c.Peers >= 0 && c.Peers <= 16, "peers", "%d: want 0 to 16", c.Peers)
	f.Check(c.Budget >= 1, "budget", "%d: want 1 or more", c.Budget)
	f.Check(c.Duration > 0, "duration", "%v: want a positive duration", c.Duration)
	p := &c.Policy
	f.Check(p.Confidence > 0 && p.Confidence <= 1, "policy.confidence", "%g: want above 0, up to 1", p.Confidence)
	f.Check(p.AgainAfter > 0, "policy.again_after", "%v: want a positive duration", p.AgainAfter)
	f.Check(p.PerDay >= 1, "policy.per_day", "%d: want 1 or more", p.PerDay)
	f.Check(!p.Enabled || c.Slurm || len(c.AllowHosts) > 0, "allow_hosts", "empty, and slurm is off: the policy could launch nowhere; list hosts, or set policy.enabled: false")
	return f.Err()
}
