package ondemand

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/search/engine"
)

// Config is what this host's agent measures on request. Without engines it accepts no searches; command.allow says
// who may request one, and on which hosts.
type Config struct {
	// The engines that a search may use; none: this host accepts no searches.
	Engines []EngineConfig `yaml:"engines"`
	// The adapters that may be searched, as patterns such as mlx5_*.
	Adapters []string `yaml:"adapters,flow"`
	// The hosts that may be the peer, as patterns such as gpu-*. Empty: none.
	Peers []string `yaml:"peers,flow"`
	// Maximum number of experiments of a search.
	MaxExperiments int `yaml:"max_experiments"`
	// Maximum duration of a search; command.allow and command.limits bound it too.
	MaxDuration time.Duration `yaml:"max_duration"`
	// Maximum traffic of a search, in gigabytes, by the rates that the engine reports.
	MaxGigabytes float64 `yaml:"max_gigabytes"`
	// A search ends when other traffic on the adapter exceeds this while no experiment runs; 0: no check.
	OthersGbps float64 `yaml:"others_gbps"`
	// How long the adapter is watched for other traffic, with no experiment running.
	WatchFor time.Duration `yaml:"watch_for"`
	// Interval between such checks.
	WatchEvery time.Duration `yaml:"watch_every"`
	// Interval between progress reports of a search.
	ReportEvery time.Duration `yaml:"report_every"`
}

// EngineConfig is one engine.
type EngineConfig struct {
	// Name of the engine in search requests.
	Name string `yaml:"name"`
	// simulated, exec, perftest or collie-engine.
	Kind string `yaml:"kind"`
	// For exec: the program and its arguments, without a shell; {peer} and {adapter} are filled in.
	Command []string `yaml:"command,flow"`
	// For simulated: F or H.
	Subsystem string `yaml:"subsystem"`
	// For perftest and collie-engine: the rig, a YAML file. Its first pair is the template for each peer: a is this host, with the searched adapter as device, and {peer} is filled in for b.
	Rig string `yaml:"rig"`
}

// Kinds of engines.
const (
	kindSimulated = "simulated"
	kindExec      = "exec"
	kindPerftest  = "perftest"
	kindCollie    = "collie-engine"
)

// Placeholders in a program's arguments.
const (
	peerPlace    = "{peer}"
	adapterPlace = "{adapter}"
)

// DefaultConfig accepts no searches.
func DefaultConfig() Config {
	return Config{Adapters: []string{"*"}, MaxExperiments: 2000, MaxDuration: 12 * time.Hour, MaxGigabytes: 5_000_000, OthersGbps: 0.1,
		WatchFor: 500 * time.Millisecond, WatchEvery: 30 * time.Second, ReportEvery: 10 * time.Second}
}

// Enabled reports whether searches are accepted.
func (c *Config) Enabled() bool { return len(c.Engines) > 0 }

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	names := map[string]bool{}
	for i := range c.Engines {
		e := &c.Engines[i]
		key := fmt.Sprintf("engines.%d", i)
		f.Under(key, e.Validate())
		f.Check(!names[e.Name], key+".name", "%q is duplicated", e.Name)
		names[e.Name] = true
	}
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"adapters", c.Adapters}, {"peers", c.Peers}} {
		for i, p := range list.patterns {
			f.Check(safety.ValidPattern(p), fmt.Sprintf("%s.%d", list.key, i), "%q is not a pattern", p)
		}
	}
	f.Check(c.MaxExperiments >= 1, "max_experiments", "%d: want 1 or more", c.MaxExperiments)
	f.Check(c.MaxDuration > 0, "max_duration", "%v: want a positive duration", c.MaxDuration)
	f.Check(c.MaxGigabytes > 0, "max_gigabytes", "%g: want more than 0", c.MaxGigabytes)
	f.Check(c.OthersGbps >= 0, "others_gbps", "%g: want 0 or more", c.OthersGbps)
	f.Check(c.WatchFor > 0, "watch_for", "%v: want a positive duration", c.WatchFor)
	f.Check(c.WatchEvery >= c.WatchFor, "watch_every", "%v: want watch_for or more", c.WatchEvery)
	f.Check(c.ReportEvery > 0, "report_every", "%v: want a positive duration", c.ReportEvery)
	return f.Err()
}

// Rigs reads the rigs of the engines that have one, by the engine's name.
func (c *Config) Rigs() (map[string]engine.Rig, error) {
	rigs := map[string]engine.Rig{}
	for i := range c.Engines {
		if e := &c.Engines[i]; e.onRig() {
			rig, err := engine.ReadRig(e.Rig)
			if err != nil {
				return nil, faults.At("search.offer", fmt.Errorf("engines.%d.rig: %w", i, err))
			}
			rigs[e.Name] = rig
		}
	}
	return rigs, nil
}

// Validate joins all errors.
func (c *EngineConfig) Validate() error {
	var f faults.List
	f.Check(c.Name != "", "name", "empty")
	f.Check(slices.Contains([]string{kindSimulated, kindExec, kindPerftest, kindCollie}, c.Kind), "kind", "%q: want simulated, exec, perftest or collie-engine", c.Kind)
	f.Check(!c.onRig() || c.Rig != "", "rig", "empty; want a YAML file with a pair of hosts")
	f.Check(c.Kind != kindExec || len(c.Command) > 0 && c.Command[0] != "", "command", "empty; want a program and its arguments")
	f.Check(c.Kind != kindSimulated || c.Subsystem == "F" || c.Subsystem == "H", "subsystem", "%q: want F or H", c.Subsystem)
	return f.Err()
}

// onRig reports whether it measures on the hosts of a rig.
func (c *EngineConfig) onRig() bool { return c.Kind == kindPerftest || c.Kind == kindCollie }

// wantsPeer reports whether a search must name a peer.
func (c *EngineConfig) wantsPeer() bool {
	return c.onRig() || slices.ContainsFunc(c.Command, func(arg string) bool { return strings.Contains(arg, peerPlace) })
}
