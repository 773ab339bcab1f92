package policy

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/internal/faults"
)

// Config of the policy.
type Config struct {
	// The nodes that may be changed, by the scheduler's names; patterns such as gpu-*. Empty: none.
	Allow []string `yaml:"allow"`
	// A node is marked at or above this score, 0 to 100.
	RaiseAt float64 `yaml:"raise_at"`
	// A marked node is relieved below this score.
	LowerAt float64 `yaml:"lower_at"`
	// How long a score must stay at or above raise_at before the node is marked.
	RaiseAfter time.Duration `yaml:"raise_after"`
	// How long a score must stay below lower_at before the node is relieved.
	LowerAfter time.Duration `yaml:"lower_after"`
	// How many nodes may be marked at once; the highest scores go first.
	MaxNodes int `yaml:"max_nodes"`
	// How many nodes may be changed per minute, relief included; a stop relieves all at once.
	PerMinute int `yaml:"per_minute"`
	// Marked nodes are relieved after their scores have been unknown for this long.
	RelieveUnknownAfter time.Duration `yaml:"relieve_unknown_after"`
}

// DefaultConfig allows no nodes.
func DefaultConfig() Config {
	return Config{RaiseAt: 60, LowerAt: 30, RaiseAfter: time.Minute, LowerAfter: 5 * time.Minute, MaxNodes: 16, PerMinute: 30,
		RelieveUnknownAfter: 10 * time.Minute}
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	for i, pattern := range c.Allow {
		_, err := path.Match(pattern, "")
		f.Check(err == nil && pattern != "", fmt.Sprintf("allow.%d", i), "%q: want a name or a pattern such as gpu-*", pattern)
	}
	f.Check(c.RaiseAt > 0 && c.RaiseAt <= 100, "raise_at", "%g: want above 0, up to 100", c.RaiseAt)
	f.Check(c.LowerAt > 0 && c.LowerAt < c.RaiseAt, "lower_at", "%g: want above 0, below raise_at", c.LowerAt)
	f.Check(c.RaiseAfter >= 0, "raise_after", "%v: want 0s or more", c.RaiseAfter)
	f.Check(c.LowerAfter >= 0, "lower_after", "%v: want 0s or more", c.LowerAfter)
	f.Check(c.MaxNodes >= 1, "max_nodes", "%d: want 1 or more", c.MaxNodes)
	f.Check(c.PerMinute >= 1, "per_minute", "%d: want 1 or more", c.PerMinute)
	f.Check(c.RelieveUnknownAfter > 0, "relieve_unknown_after", "%v: want a positive duration", c.RelieveUnknownAfter)
	return f.Err()
}

// Unmatched lists the patterns of an allow list that match none of the nodes.
func Unmatched(allow, nodes []string) []string {
	return slices.DeleteFunc(slices.Clone(allow), func(pattern string) bool {
		return slices.ContainsFunc(nodes, func(node string) bool { return safety.Matches([]string{pattern}, node) })
	})
}
