// Package ethtool reads the statistics that the drivers of this host's network
// interfaces give (what `ethtool -S` prints), and dumps of them. It keeps those
// that the schema knows and those that the configuration asks for.
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

// Config says which interfaces and which statistics are wanted. Patterns are
// those of path.Match.
type Config struct {
	// Name of this host in the rows; empty: the agent's name. The interface is the port.
	Hostname string `yaml:"hostname"`
	// Patterns of interface names; empty: all that offer statistics.
	Interfaces []string `yaml:"interfaces,flow"`
	// Patterns of interface names to leave out.
	Exclude []string `yaml:"exclude,flow"`
	// Patterns of further counters to keep raw, by canonical name: mlx5.rx_corrected_bits_phy, e1000e.*.
	Extra []string `yaml:"extra,flow"`
	// The file with the id of the current boot, which shows that counters have been reset.
	BootIDPath string `yaml:"boot_id_path"`
}

// DefaultConfig reads all interfaces that offer statistics, but loopback.
func DefaultConfig() Config {
	return Config{Exclude: []string{"lo"}, BootIDPath: boot.IDPath}
}

// Kind is what the registry lists.
func Kind() collectors.Kind {
	return collectors.Kind{
		Name:        "ethtool",
		Description: "Network interfaces of this host, by what ethtool -S prints.",
		Workers:     8,
		NewConfig: func() collectors.SourceConfig {
			cfg := DefaultConfig()
			return &cfg
		},
	}
}

// Open makes the collector on the running kernel; host stands in where no
// hostname is configured.
func (c *Config) Open(host string) (collectors.Collector, error) {
	cfg := *c
	cfg.Hostname = cmp.Or(cfg.Hostname, host)
	kernel, err := OpenLinux()
	if err != nil {
		return nil, err
	}
	return New(cfg, kernel)
}

// Validate names every fault.
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

// Family is the first part of the canonical names of a driver's statistics:
// "mlx5" for mlx5_core, else the driver's own name.
func Family(driver string) string {
	switch driver {
	case "mlx5_core":
		return "mlx5"
	case "bnxt_en":
		return "bnxt"
	}
	return driver
}

// Kernel is what is asked of the operating system; *safchain/ethtool.Ethtool
// has the last two.
type Kernel interface {
	Interfaces() ([]net.Interface, error)
	DriverName(name string) (string, error)
	Stats(name string) (map[string]uint64, error)
}

// Linux is the running kernel, as the network namespace sees it in which it was
// opened.
type Linux struct{ *safchain.Ethtool }

// OpenLinux opens the socket through which drivers are asked.
func OpenLinux() (Linux, error) {
	e, err := safchain.NewEthtool()
	if err != nil {
		return Linux{}, fmt.Errorf("open the socket to ask drivers by: %w", err)
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
	known  map[int]*netdev // by interface index: a name can be reused
}

// New makes a collector. It reads nothing yet but the current boot's name.
func New(cfg Config, kernel Kernel) (*Collector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Hostname == "" {
		return nil, errors.New("hostname: empty")
	}
	return &Collector{cfg: cfg, kernel: kernel, epoch: boot.ID(cfg.BootIDPath), known: map[int]*netdev{}}, nil
}

// Name of the source.
func (c *Collector) Name() string { return "ethtool" }

// Epoch names the current boot.
func (c *Collector) Epoch() uint64 { return c.epoch }

// Devices lists the interfaces that the configuration selects. One whose driver
// has said that it offers no statistics is not listed again.
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
		if !d.mute.Load() {
			devices = append(devices, d)
		}
	}
	c.known = present
	return devices, nil
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name) // the patterns were checked
		return ok
	})
}

// netdev is one interface. Only Read touches what is not set at its making, but
// for mute.
type netdev struct {
	name   string
	cfg    *Config
	kernel Kernel
	mute   atomic.Bool // the driver offers no statistics

	family  string
	offered int         // statistics at the last read
	kept    []statistic // those of them that are wanted, ordered by name
}

type statistic struct{ vendor, canonical string }

// Name of the interface.
func (d *netdev) Name() string { return d.name }

// Read asks the driver for all statistics, one row.
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

func (d *netdev) noteMute(err error) error {
	if collectors.ReasonOf(err) == collectors.Unsupported {
		d.mute.Store(true)
	}
	return err
}

// choose fixes which statistics are kept and their order, which a map has not.
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
