// Package ethtool reads the driver statistics of this host's network interfaces (those
// of `ethtool -S`), and dumps of them. It keeps the ones in the schema and the ones
// that the configuration adds.
package ethtool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	safchain "github.com/safchain/ethtool"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/internal/boot"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// Config selects interfaces and statistics. Patterns are those of path.Match.
type Config struct {
	// Name of this host in the rows; empty: the agent's name. The interface is the port.
	Hostname string `yaml:"hostname"`
	// Patterns of interface names; empty: all that have statistics.
	Interfaces []string `yaml:"interfaces,flow"`
	// Patterns of interface names to leave out.
	Exclude []string `yaml:"exclude,flow"`
	// Patterns of additional counters to keep raw, by canonical name: mlx5.rx_corrected_bits_phy, e1000e.*.
	Extra []string `yaml:"extra,flow"`
	// The file with the ID of the current boot; a change shows that counters were reset.
	BootIDPath string `yaml:"boot_id_path"`
}

// DefaultConfig reads all interfaces that have statistics, except loopback.
func DefaultConfig() Config {
	return Config{Exclude: []string{"lo"}, BootIDPath: boot.IDPath}
}

// Kind is the entry in the registry.
func Kind() collectors.Kind {
	return collectors.Kind{
		Name:        "ethtool",
		Description: "Network interfaces of this host, by the counters of ethtool -S.",
		Workers:     8,
		NewConfig:   func() collectors.SourceConfig { return new(DefaultConfig()) },
	}
}

// Open creates the collector on the running kernel; host is the default for Hostname.
func (c *Config) Open(host string) (collectors.Collector, error) {
	cfg := *c
	cfg.Hostname = cmp.Or(cfg.Hostname, host)
	kernel, err := OpenLinux()
	if err != nil {
		return nil, err
	}
	return New(cfg, kernel)
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"interfaces", c.Interfaces}, {"exclude", c.Exclude}, {"extra", c.Extra}} {
		for _, p := range list.patterns {
			_, err := path.Match(p, "")
			f.Check(err == nil, list.key, "%q: %w", p, err)
		}
	}
	return f.Err()
}

// Family is the first part of the canonical names of a driver's statistics: "mlx5" for
// mlx5_core, otherwise the driver's name.
func Family(driver string) string {
	switch driver {
	case "mlx5_core":
		return "mlx5"
	case "bnxt_en":
		return "bnxt"
	}
	return driver
}

// Kernel has the calls to the operating system; *safchain/ethtool.Ethtool implements
// the last two.
type Kernel interface {
	Interfaces() ([]net.Interface, error)
	DriverName(name string) (string, error)
	Stats(name string) (map[string]uint64, error)
}

// Linux is the running kernel, in the network namespace in which it was opened.
type Linux struct{ *safchain.Ethtool }

// OpenLinux opens the ethtool socket.
func OpenLinux() (Linux, error) {
	e, err := safchain.NewEthtool()
	if err != nil {
		return Linux{}, fmt.Errorf("open the socket for driver queries: %w", err)
	}
	return Linux{e}, nil
}

// Interfaces lists the interfaces.
func (Linux) Interfaces() ([]net.Interface, error) { return net.Interfaces() }

// Collector lists the interfaces of a host.
type Collector struct {
	cfg    Config
	kernel Kernel
	epoch  uint64
	known  map[int]*netdev // by interface index, because names can be reused
}

// New returns a collector. It only reads the boot ID.
func New(cfg Config, kernel Kernel) (*Collector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Hostname == "" {
		return nil, errors.New("hostname: empty")
	}
	return &Collector{cfg: cfg, kernel: kernel, epoch: boot.ID(cfg.BootIDPath), known: map[int]*netdev{}}, nil
}

// Name returns "ethtool".
func (c *Collector) Name() string { return "ethtool" }

// Epoch identifies the current boot.
func (c *Collector) Epoch() uint64 { return c.epoch }

// Devices lists the selected interfaces, without those whose driver has reported that
// it has no statistics.
func (c *Collector) Devices(context.Context) ([]collectors.Device, error) {
	interfaces, err := c.kernel.Interfaces()
	if err != nil {
		return nil, err
	}
	present := map[int]*netdev{}
	var devices []collectors.Device
	for _, i := range interfaces {
		if len(c.cfg.Interfaces) > 0 && !matches(c.cfg.Interfaces, i.Name) || matches(c.cfg.Exclude, i.Name) {
			continue
		}
		d := c.known[i.Index]
		if d == nil || d.name != i.Name {
			d = &netdev{name: i.Name, cfg: &c.cfg, kernel: c.kernel}
		}
		present[i.Index] = d
		if !d.noStatistics.Load() {
			devices = append(devices, d)
		}
	}
	c.known = present
	return devices, nil
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name) // validated
		return ok
	})
}

// netdev is one interface. Fields not set at creation, except noStatistics, are used by Read
// only.
type netdev struct {
	name         string
	cfg          *Config
	kernel       Kernel
	noStatistics atomic.Bool // the driver has no statistics

	family  string
	offered int         // statistics at the last successful read; 0: there was none
	kept    []statistic // the selected ones, ordered by name
}

type statistic struct{ vendor, canonical string }

// Name of the interface.
func (d *netdev) Name() string { return d.name }

// Read reads all statistics from the driver, as one row.
func (d *netdev) Read(_ context.Context, r *collectors.Reading) error {
	if d.family == "" {
		driver, err := d.kernel.DriverName(d.name)
		if err != nil {
			return d.noteMute(err)
		}
		d.family = Family(driver)
	}
	stats, err := d.kernel.Stats(d.name)
	if err != nil {
		return d.noteMute(err)
	}
	if len(stats) != d.offered {
		d.offered = len(stats)
		d.choose(stats)
	}
	r.Row(d.family, schema.PortName{Device: d.cfg.Hostname, Port: d.name})
	for _, s := range d.kept {
		if value, ok := stats[s.vendor]; ok {
			r.Put(s.canonical, value)
		}
	}
	return nil
}

// noteMute notes that the driver has no statistics, unless it has had some: a driver that is being reset may say so too.
func (d *netdev) noteMute(err error) error {
	if collectors.ReasonOf(err) == collectors.Unsupported && d.offered == 0 {
		d.noStatistics.Store(true)
	}
	return err
}

// choose selects the statistics to keep and fixes their order.
func (d *netdev) choose(stats map[string]uint64) {
	d.kept = d.kept[:0]
	for vendor := range stats {
		canonical := d.family + "." + vendor
		if _, known := schema.LookupCounter(canonical); known || matches(d.cfg.Extra, canonical) {
			d.kept = append(d.kept, statistic{vendor, canonical})
		}
	}
	slices.SortFunc(d.kept, func(a, b statistic) int { return strings.Compare(a.vendor, b.vendor) })
}
