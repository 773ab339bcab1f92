package config

import (
	"errors"
	"fmt"
	"time"
)

// Collect says what an agent reads on its host.
type Collect struct {
	// The fabric that this host's readings belong to; with one fabric, that one.
	Fabric string `yaml:"fabric"`
	// Name of this agent in batches; empty: the host name.
	Agent string `yaml:"agent"`
	// How often to read, aligned to the clock; 0: the fabric's interval.
	Interval time.Duration `yaml:"interval"`
	// How long one device may take.
	DeviceTimeout time.Duration `yaml:"device_timeout"`
	// Bytes of disk that the spool may hold while Kafka is away; then the oldest are dropped and counted.
	SpoolBytes int64 `yaml:"spool_bytes"`
	// InfiniBand and RoCE devices of the kernel.
	IBSysfs IBSysfs `yaml:"ibsysfs"`
	// Network interfaces by ethtool.
	Ethtool Ethtool `yaml:"ethtool"`
	// A whole InfiniBand subnet by perfquery; run it on one host per subnet.
	Perfquery Perfquery `yaml:"perfquery"`
}

// IBSysfs reads /sys/class/infiniband.
type IBSysfs struct {
	// Read it.
	Enabled bool `yaml:"enabled"`
	// Where the kernel shows the devices.
	Root string `yaml:"root"`
	// How devices are named: description, guid or hostname.
	Identify string `yaml:"identify"`
}

// Ethtool reads interfaces' statistics.
type Ethtool struct {
	// Read them.
	Enabled bool `yaml:"enabled"`
	// Patterns of interface names; empty: all whose driver is known.
	Interfaces []string `yaml:"interfaces"`
	// Patterns of further counters to keep raw.
	Extra []string `yaml:"extra"`
}

// Perfquery reads a subnet.
type Perfquery struct {
	// Read it.
	Enabled bool `yaml:"enabled"`
	// Local adapter to send from; empty: the first that is up.
	Adapter string `yaml:"adapter"`
	// Its port; 0: the first that is up.
	Port int `yaml:"port"`
	// How many queries run side by side.
	Workers int `yaml:"workers"`
	// How long one query may take.
	Timeout time.Duration `yaml:"timeout"`
}

func defaultCollect() Collect {
	return Collect{
		DeviceTimeout: 2 * time.Second,
		SpoolBytes:    1 << 30,
		IBSysfs:       IBSysfs{Root: "/sys/class/infiniband", Identify: "description"},
		Perfquery:     Perfquery{Workers: 4, Timeout: 2 * time.Second},
	}
}

func (c *Collect) validate() (errs []error) {
	if c.Interval != 0 && c.Interval < time.Second {
		errs = append(errs, fmt.Errorf("collect.interval: %v: want at least 1s, or 0", c.Interval))
	}
	if c.DeviceTimeout <= 0 {
		errs = append(errs, fmt.Errorf("collect.device_timeout: %v: want a positive duration", c.DeviceTimeout))
	}
	if c.SpoolBytes < 1<<20 {
		errs = append(errs, fmt.Errorf("collect.spool_bytes: %d: want at least 1 MiB", c.SpoolBytes))
	}
	if !oneOf(c.IBSysfs.Identify, "description", "guid", "hostname") {
		errs = append(errs, fmt.Errorf("collect.ibsysfs.identify: %q: want description, guid or hostname", c.IBSysfs.Identify))
	}
	if c.Perfquery.Workers < 1 || c.Perfquery.Workers > 64 {
		errs = append(errs, errors.New("collect.perfquery.workers: want 1 to 64"))
	}
	return errs
}
