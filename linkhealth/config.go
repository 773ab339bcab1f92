package linkhealth

import "github.com/giverny/giverny/internal/faults"

// Config has the thresholds at which links and devices count as failed, and links as bad.
type Config struct {
	// Number of consecutive intervals for which a link or device must be down, or up again, before an event reports it (debounce).
	DebounceIntervals int `yaml:"debounce_intervals"`
	// Number of errors per hour (symbol errors, receive errors, overruns, CRC) on one port that trigger a link_errors event; 0: no such event. The InfiniBand specification allows a bit error ratio of 10^-12, which at 32 Gb/s (4x QDR) is 115 per hour.
	ErrorsPerHour float64 `yaml:"errors_per_hour"`
	// The same for link error recoveries, each of which stalls the link's traffic.
	RecoveriesPerHour float64 `yaml:"recoveries_per_hour"`
	// Number of times per hour that a link loses its training that trigger a link_flapping event; 0: no such event.
	FlapsPerHour float64 `yaml:"flaps_per_hour"`
}

// DefaultConfig tolerates one missed poll.
func DefaultConfig() Config {
	return Config{DebounceIntervals: 2, ErrorsPerHour: 120, RecoveriesPerHour: 10, FlapsPerHour: 3}
}

// maxDebounce bounds the configured intervals and those that frequent losses require; at 60s it is most of a day.
const maxDebounce = 1000

// Validate reports all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.DebounceIntervals >= 1 && c.DebounceIntervals <= maxDebounce, "debounce_intervals", "%d: want 1 to %d", c.DebounceIntervals, maxDebounce)
	rate := func(key string, v float64) { f.Check(v >= 0 && v <= 1e9, key, "%v: want 0 to 1e9", v) }
	rate("errors_per_hour", c.ErrorsPerHour)
	rate("recoveries_per_hour", c.RecoveriesPerHour)
	rate("flaps_per_hour", c.FlapsPerHour)
	return f.Err()
}
