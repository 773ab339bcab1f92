package score

import "github.com/giverny/giverny/internal/faults"

// Config of the scores.
type Config struct {
	// How many switches beyond a host's own a region may be and still count.
	Hops int `yaml:"hops"`
	// What a region counts at a host of whose own links it has one, of 1 for a host whose links it has all.
	OwnLink float64 `yaml:"own_link"`
	// What a region counts at a host whose leaf switch it has links of, of 1; more distant ones count half as much for each switch.
	Leaf float64 `yaml:"leaf"`
}

// DefaultConfig counts regions up to one switch beyond the host's own.
func DefaultConfig() Config { return Config{Hops: 1, OwnLink: 0.5, Leaf: 0.7} }

// Validate joins all faults.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Hops >= 0 && c.Hops <= 8, "hops", "%d: want 0 to 8", c.Hops)
	f.Check(c.OwnLink >= 0 && c.OwnLink <= 1, "own_link", "%g: want 0 to 1", c.OwnLink)
	f.Check(c.Leaf >= 0 && c.Leaf <= 1, "leaf", "%g: want 0 to 1", c.Leaf)
	return f.Err()
}
