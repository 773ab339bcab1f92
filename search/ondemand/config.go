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

// Config is what this host's agent measures for others. Without engines it takes no search; who may ask, and at
// which hours, says command.allow.
type Config struct {
	// The engines that a search may name; none: this host takes no searches.
	Engines []EngineConfig `yaml:"engines"`
	// The adapters that may be searched, patterns such as mlx5_*.
	Adapters []string `yaml:"adapters,flow"`
	// The hosts that may be the other end, patterns such as gpu-*. Empty: none.
	Peers []string `yaml:"peers,flow"`
	// The most experiments of a search.
	MaxExperiments int `yaml:"max_experiments"`
	// The longest that a search may take; command.allow and command.limits bound it too.
	MaxDuration time.Duration `yaml:"max_duration"`
	// The most traffic of a search, in gigabytes, by the rates that the engine reports.
	MaxGigabytes float64 `yaml:"max_gigabytes"`
	// A search ends when others move more than this over the adapter while no experiment runs; 0: others are not looked for.
	OthersGbps float64 `yaml:"others_gbps"`
	// For how long the adapter is watched, with no experiment running.
	WatchFor time.Duration `yaml:"watch_for"`
	// How often it is.
	WatchEvery time.Duration `yaml:"watch_every"`
	// How often a search says how far it is.
	ReportEvery time.Duration `yaml:"report_every"`
}

// EngineConfig is one engine.
type EngineConfig struct {
	// Name by which a search names it.
	Name string `yaml:"name"`
	// simulated, exec, perftest or collie-engine.
	Kind string `yaml:"kind"`
	// Of exec: the program and its arguments, no shell; {peer} and {adapter} are filled in.
	Command []string `yaml:"command,flow"`
	// Of simulated: F or H.
	Subsystem string `yaml:"subsystem"`
	// Of perftest and collie-engine: the rig, a YAML file. Its first pair is the one of each peer: a is this host, with the adapter that is searched as device, and {peer} is filled in for b.
	Rig string `yaml:"rig"`
}

// Kinds of engines.
const (
	kindSimulated = "simulated"
	kindExec      = "exec"
	kindPerftest  = "perftest"
	kindCollie    = "collie-engine"
)

// Places in the arguments of a program.
const (
	peerPlace    = "{peer}"
	adapterPlace = "{adapter}"
)

// DefaultConfig takes no searches.
func DefaultConfig() Config {
	return Config{Adapters: []string{"*"}, MaxExperiments: 2000, MaxDuration: 12 * time.Hour, MaxGigabytes: 5_000_000, OthersGbps: 0.1,
		WatchFor: 500 * time.Millisecond, WatchEvery: 30 * time.Second, ReportEvery: 10 * time.Second}
}

// Enabled says whether searches are taken at all.
func (c *Config) Enabled() bool { return len(c.Engines) > 0 }

// Validate joins all faults.
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

// Rigs reads those of the engines that have one, by the engine's name.
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

// Validate joins all faults.
func (c *EngineConfig) Validate() error {
	var f faults.List
	f.Check(c.Name != "", "name", "empty")
	f.Check(slices.Contains([]string{kindSimulated, kindExec, kindPerftest, kindCollie}, c.Kind), "kind", "%q: want simulated, exec, perftest or collie-engine", c.Kind)
	f.Check(!c.onRig() || c.Rig != "", "rig", "empty; want a YAML file with a pair of hosts")
	f.Check(c.Kind != kindExec || len(c.Command) > 0 && c.Command[0] != "", "command", "empty; want a program and its arguments")
	f.Check(c.Kind != kindSimulated || c.Subsystem == "F" || c.Subsystem == "H", "subsystem", "%q: want F or H", c.Subsystem)
	return f.Err()
}

// onRig says whether it measures on hosts that a rig lists.
func (c *EngineConfig) onRig() bool { return c.Kind == kindPerftest || c.Kind == kindCollie }

// wantsPeer says whether the other end is to be named.
func (c *EngineConfig) wantsPeer() bool {
	return c.onRig() || slices.ContainsFunc(c.Command, func(arg string) bool { return strings.Contains(arg, peerPlace) })
}
