package safety

import (
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/giverny/giverny/internal/faults"
)

// Config is what an agent allows on its host. Without rules nothing is allowed.
type Config struct {
	// Which principals may run which commands on which hosts; a command that no rule covers is refused.
	Allow []Rule `yaml:"allow"`
	// Limits for all commands on this host.
	Limits Limits `yaml:"limits"`
}

// Rule allows the combinations of its lists of patterns: * is any.
type Rule struct {
	// Names of principals, as patterns.
	Principals []string `yaml:"principals"`
	// Kinds of commands that act, as patterns: hostping, search.
	Kinds []string `yaml:"kinds"`
	// Names of agents, as patterns, on whose hosts it may run. Empty: on any host with this rule.
	Hosts []string `yaml:"hosts"`
	// Only while the host is drained or idle.
	RequireDrained bool `yaml:"require_drained"`
	// Times of day, UTC, in which it may run, such as 22:00-06:00; at their end it is stopped. Empty: always.
	Hours []string `yaml:"hours,flow"`
	// Maximum run time of a command of this rule; 0s: limits.run_time.
	RunTime time.Duration `yaml:"run_time"`
}

// Limits bound what runs on one host.
type Limits struct {
	// Maximum number of commands running at a time.
	AtATime int `yaml:"at_a_time"`
	// Maximum number of commands begun within an hour, across restarts.
	PerHour int `yaml:"per_hour"`
	// Maximum run time of a command, after which it is stopped.
	RunTime time.Duration `yaml:"run_time"`
}

// DefaultConfig allows nothing.
func DefaultConfig() Config {
	return Config{Limits: Limits{AtATime: 1, PerHour: 60, RunTime: 10 * time.Minute}}
}

// Upper bounds of the limits.
const (
	maxAtATime = 64
	maxPerHour = 3600
	maxRunTime = 24 * time.Hour
)

// Validate joins all errors; each begins with the key.
func (c *Config) Validate() error {
	var f faults.List
	for i := range c.Allow {
		f.Under(fmt.Sprintf("allow.%d", i), c.Allow[i].validate())
	}
	l := c.Limits
	f.Check(l.AtATime >= 1 && l.AtATime <= maxAtATime, "limits.at_a_time", "%d: want 1 to %d", l.AtATime, maxAtATime)
	f.Check(l.PerHour >= 1 && l.PerHour <= maxPerHour, "limits.per_hour", "%d: want 1 to %d", l.PerHour, maxPerHour)
	f.Check(l.RunTime >= time.Second && l.RunTime <= maxRunTime, "limits.run_time", "%v: want 1s to %v", l.RunTime, maxRunTime)
	return f.Err()
}

func (r *Rule) validate() error {
	var f faults.List
	f.Check(len(r.Principals) > 0, "principals", "empty; name at least one")
	f.Check(len(r.Kinds) > 0, "kinds", "empty; name at least one")
	for i, text := range r.Hours {
		if _, err := parseHours(text); err != nil {
			f.Add(fmt.Sprintf("hours.%d", i), "%w", err)
		}
	}
	f.Check(r.RunTime == 0 || r.RunTime >= time.Second && r.RunTime <= maxRunTime, "run_time", "%v: want 1s to %v, or 0s for limits.run_time", r.RunTime, maxRunTime)
	f.Under("principals", checkPatterns(r.Principals))
	f.Under("kinds", checkPatterns(r.Kinds))
	f.Under("hosts", checkPatterns(r.Hosts))
	return f.Err()
}

// checkPatterns reports invalid patterns with their index.
func checkPatterns(patterns []string) error {
	var f faults.List
	for i, p := range patterns {
		f.Check(ValidPattern(p), strconv.Itoa(i), "%q is not a pattern; * is any text, ? any letter, [a-c] one of a range", p)
	}
	return f.Err()
}

// ValidPattern reports whether package path accepts the pattern.
func ValidPattern(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && pattern != ""
}

func (r *Rule) covers(o Order) bool {
	return Matches(r.Principals, o.Principal) && Matches(r.Kinds, o.Kind) && (len(r.Hosts) == 0 || Matches(r.Hosts, o.Agent))
}
