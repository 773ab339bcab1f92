package collectors

import (
	"errors"
	"time"

	"github.com/giverny/giverny/internal/faults"
)

// Config is how collectors are polled.
type Config struct {
	// The fabric (plane or rail) that the readings belong to; empty: the only one under fabrics.
	Fabric string `yaml:"fabric"`
	// How often to read, aligned to the clock; 0: the fabric's interval.
	Interval time.Duration `yaml:"interval"`
	// Time limit for reading one device; rows read until then are kept. Never longer than poll_timeout.
	DeviceTimeout time.Duration `yaml:"device_timeout"`
	// Time limit of a whole poll, including the listing of devices; 0: nine tenths of the interval.
	PollTimeout time.Duration `yaml:"poll_timeout"`
	// When this many devices hang in the kernel, no further device is read.
	MaxStuck int `yaml:"max_stuck"`
	// Time limit for emitting the batches of a poll, also at shutdown.
	DrainTimeout time.Duration `yaml:"drain_timeout"`
	// Devices read in parallel; set for each source.
	Workers int `yaml:"-"`
}

// DefaultConfig is for devices that answer within two seconds. The fabric and the
// interval are left unset.
func DefaultConfig() Config {
	return Config{DeviceTimeout: 2 * time.Second, MaxStuck: 32, DrainTimeout: 5 * time.Second, Workers: 8}
}

// MaxWorkers is the maximum number of devices read in parallel.
const MaxWorkers = 1024

// Validate joins all errors. The fabric and the interval may be unset.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Interval == 0 || c.Interval >= 100*time.Millisecond, "interval", "%v: want 100ms or more, or 0 for the fabric's", c.Interval)
	f.Check(c.DeviceTimeout > 0, "device_timeout", "%v: want more than 0", c.DeviceTimeout)
	f.Check(c.PollTimeout >= 0, "poll_timeout", "%v: want 0 or more", c.PollTimeout)
	f.Check(c.MaxStuck >= 1, "max_stuck", "%d: want 1 or more", c.MaxStuck)
	f.Check(c.DrainTimeout > 0, "drain_timeout", "%v: want more than 0", c.DrainTimeout)
	f.Check(c.Workers >= 1 && c.Workers <= MaxWorkers, "workers", "%d: want 1 to %d", c.Workers, MaxWorkers)
	return f.Err()
}

// settled returns the configuration with zeros replaced by their defaults.
func (c Config) settled() (Config, error) {
	var open []error
	if c.Fabric == "" {
		open = append(open, errors.New("fabric: empty; name the plane or rail"))
	}
	if c.Interval == 0 {
		open = append(open, errors.New("interval: empty; name one"))
	}
	if c.PollTimeout == 0 {
		c.PollTimeout = c.Interval * 9 / 10
	}
	c.DeviceTimeout = min(c.DeviceTimeout, c.PollTimeout)
	return c, errors.Join(open...)
}
