package launch

import (
	"fmt"
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/internal/faults"
)

// Config says which hosts may be probed.
type Config struct {
	// Agents whose hosts may be probed while they are in use, patterns such as gpu-*: of them the RNIC at the root and its own endpoints.
	AllowHosts []string `yaml:"allow_hosts,flow"`
	// Ask Slurm, in the way that feedback.slurm says, and probe hosts that are drained and idle too, every pair.
	Slurm bool `yaml:"slurm"`
	// How long a run may take.
	Duration time.Duration `yaml:"duration"`
	// When a host is probed without a person.
	Policy PolicyConfig `yaml:"policy"`
}

// PolicyConfig of runs that a diagnosis launches.
type PolicyConfig struct {
	// Probe the host at the root when a diagnosis says slow_host.
	Enabled bool `yaml:"enabled"`
	// Log and audit what would be launched, and launch nothing.
	DryRun bool `yaml:"dry_run"`
	// The confidence of a diagnosis from which it counts, 0 to 1.
	Confidence float64 `yaml:"confidence"`
	// A host is probed again after this time.
	AgainAfter time.Duration `yaml:"again_after"`
	// How many runs the policy may launch in a fabric within a day.
	PerDay int `yaml:"per_day"`
}

// DefaultConfig launches nothing by itself.
func DefaultConfig() Config {
	return Config{Duration: 5 * time.Minute, Policy: PolicyConfig{DryRun: true, Confidence: 0.8, AgainAfter: time.Hour, PerDay: 48}}
}

// Validate joins all faults.
func (c *Config) Validate() error {
	var f faults.List
	for i, p := range c.AllowHosts {
		f.Check(safety.ValidPattern(p), fmt.Sprintf("allow_hosts.%d", i), "%q is not a pattern", p)
	}
	f.Check(c.Duration > 0, "duration", "%v: want a positive duration", c.Duration)
	p := &c.Policy
	f.Check(p.Confidence > 0 && p.Confidence <= 1, "policy.confidence", "%g: want above 0, up to 1", p.Confidence)
	f.Check(p.AgainAfter > 0, "policy.again_after", "%v: want a positive duration", p.AgainAfter)
	f.Check(p.PerDay >= 1, "policy.per_day", "%d: want 1 or more", p.PerDay)
	f.Check(!p.Enabled || c.Slurm || len(c.AllowHosts) > 0, "allow_hosts", "empty, and slurm is off: the policy could launch nowhere; list hosts, or set policy.enabled: false")
	return f.Err()
}
