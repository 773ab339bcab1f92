package collectors

import (
	"errors"
	"fmt"
	"time"
)

// Config says how one collector is polled.
type Config struct {
	Fabric   string        `yaml:"fabric"`   // plane or rail that the readings belong to
	Interval time.Duration `yaml:"interval"` // polls begin at its multiples, UTC; at least 100 ms
	// DeviceTimeout is the longest that one device may take; its rows up to
	// then stand. PollTimeout is the longest that a whole poll may take, the
	// listing of the devices included.
	DeviceTimeout time.Duration `yaml:"device_timeout"`
	PollTimeout   time.Duration `yaml:"poll_timeout"`
	Workers       int           `yaml:"workers"`   // devices read side by side
	MaxStuck      int           `yaml:"max_stuck"` // devices that may hang in the kernel before no further one is begun
	// DrainTimeout bounds, at the end, the last batches and the wait for
	// devices that hang.
	DrainTimeout time.Duration `yaml:"drain_timeout"`
}

// DefaultConfig polls every interval and leaves a tenth of it for what follows.
func DefaultConfig(fabric string, interval time.Duration) Config {
	return Config{
		Fabric:        fabric,
		Interval:      interval,
		DeviceTimeout: min(interval/2, 5*time.Second),
		PollTimeout:   interval * 9 / 10,
		Workers:       8,
		MaxStuck:      32,
		DrainTimeout:  5 * time.Second,
	}
}

// Validate names every fault.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Fabric != "", "fabric: empty; name the plane or rail")
	check(c.Interval >= 100*time.Millisecond, "interval %v: want 100ms or more", c.Interval)
	check(c.DeviceTimeout > 0, "device_timeout %v: want more than 0", c.DeviceTimeout)
	check(c.PollTimeout >= c.DeviceTimeout, "poll_timeout %v: want device_timeout (%v) or more", c.PollTimeout, c.DeviceTimeout)
	check(c.Workers >= 1 && c.Workers <= 1024, "workers %d: want 1 to 1024", c.Workers)
	check(c.MaxStuck >= 1, "max_stuck %d: want 1 or more", c.MaxStuck)
	check(c.DrainTimeout > 0, "drain_timeout %v: want more than 0", c.DrainTimeout)
	return errors.Join(errs...)
}
