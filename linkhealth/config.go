package linkhealth

import "github.com/giverny/giverny/internal/faults"

// Config says when links and devices count as failed, and links as bad.
type Config struct {
	// For how many intervals in a row a link or device must be down, or up again, before an event reports it (debounce).
	DebounceIntervals int `yaml:"debounce_intervals"`
	// How many errors an hour (symbol errors, receive errors, overruns, CRC) on one port are a link_errors event; 0: there is no such event. The InfiniBand specification allows a bit error ratio of 10^-12, which at 32 Gb/s (4x QDR) makes 115 an hour.
	ErrorsPerHour float64 `yaml:"errors_per_hour"`
	// The same of link error recoveries, each of which holds up the link's traffic.
	RecoveriesPerHour float64 `yaml:"recoveries_per_hour"`
	// How many times an hour a link may lose its training before that is a link_flapping event; 0: there is no such event.
	FlapsPerHour float64 `yaml:"flaps_per_hour"`
}

// DefaultConfig bridges one missed poll.
func DefaultConfig() Config {
	return Config{DebounceIntervals: 2, ErrorsPerHour: 120, RecoveriesPerHour: 10, FlapsPerHour: 3}
}

const maxDebounce = 1000

// Validate names every fault.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.DebounceIntervals >= 1 && c.DebounceIntervals <= maxDebounce, "debounce_intervals", "%d: want 1 to %d", c.DebounceIntervals, maxDebounce)
	rate := func(key string, v float64) { f.Check(v >= 0 && v <= 1e9, key, "%v: want 0 to 1e9", v) }
	rate("errors_per_hour", c.ErrorsPerHour)
	rate("recoveries_per_hour", c.RecoveriesPerHour)
	rate("flaps_per_hour", c.FlapsPerHour)
	return f.Err()
}
