package launch

import (
	"time"

	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/internal/faults"
)

// Config says which hosts may be probed.
type Config struct {
	// Agents whose hosts may be probed while in use, as patterns such as gpu-*; only the RNIC at the root and its own endpoints.
	AllowHosts []string `yaml:"allow_hosts,flow"`
	// Query Slurm, as configured in feedback.slurm, and also probe hosts that are drained and idle, with every pair.
	Slurm bool `yaml:"slurm"`
	// Maximum duration of a run.
	Duration time.Duration `yaml:"duration"`
	// Automatic launch of probes.
	Policy dispatch.PolicyConfig `yaml:"policy"`
}

// DefaultConfig launches nothing automatically.
func DefaultConfig() Config {
	return Config{Duration: 5 * time.Minute, Policy: dispatch.PolicyConfig{DryRun: true, Confidence: 0.8, AgainAfter: time.Hour, PerDay: 48}}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Duration > 0, "duration", "%v: want a positive duration", c.Duration)
	c.Policy.Check(&f, c.AllowHosts, c.Slurm)
	return f.Err()
}
