package score

import "github.com/giverny/giverny/internal/faults"

// Config of the scores.
type Config struct {
	// How many switches beyond a host's own a region may be away and still affect its score.
	Hops int `yaml:"hops"`
	// The weight of a region at a host with almost none of its own links in the region; it grows to 1 for a host with all of them.
	OwnLink float64 `yaml:"own_link"`
	// The weight of a region at a host whose leaf switch has all its links to other switches in it; own_link of that for almost none. It halves with each further switch.
	Leaf float64 `yaml:"leaf"`
}

// DefaultConfig includes regions up to one switch beyond the host's own.
func DefaultConfig() Config { return Config{Hops: 1, OwnLink: 0.5, Leaf: 0.7} }

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Hops >= 0 && c.Hops <= 8, "hops", "%d: want 0 to 8", c.Hops)
	f.Check(c.OwnLink >= 0 && c.OwnLink <= 1, "own_link", "%g: want 0 to 1", c.OwnLink)
	f.Check(c.Leaf >= 0 && c.Leaf <= 1, "leaf", "%g: want 0 to 1", c.Leaf)
	return f.Err()
}
