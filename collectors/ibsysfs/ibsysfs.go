// Package ibsysfs reads the counters of this host's RDMA adapters from
// /sys/class/infiniband: counters, hw_counters, state and rate of every port. It only
// opens files; an unreadable file loses its own counter, a hanging device its own rows.
package ibsysfs

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/internal/boot"
	"github.com/giverny/giverny/internal/faults"
)

// Identify is how an adapter is named in its rows, so that they match the ports of the
// fabric's graph.
type Identify string

// Ways to identify an adapter.
const (
	// Description is the node description that the subnet manager sees and
	// ibnetdiscover prints ("node7 mlx5_0"). Adapters of this host with the same
	// description, because it was never set, use their GUID.
	Description Identify = "description"
	// GUID is the node GUID as 16 hexadecimal digits.
	GUID Identify = "guid"
	// Hostname is the host's name; the port is the network interface of the adapter's
	// port, or "mlx5_0/1" if it has none.
	Hostname Identify = "hostname"
)

// Config says where to look for adapters and how to name them.
type Config struct {
	// The folder that holds a folder per adapter.
	Root string `yaml:"root"`
	// How adapters are named: description, guid or hostname.
	Identify Identify `yaml:"identify"`
	// Name of this host in the rows; empty: the agent's name.
	Hostname string `yaml:"hostname"`
	// Patterns of adapter names, such as mlx5_*; empty: all.
	Devices []string `yaml:"devices,flow"`
	// The file with the ID of the current boot; a change shows that counters were reset.
	BootIDPath string `yaml:"boot_id_path"`
}

// DefaultConfig reads all adapters of the host.
func DefaultConfig() Config {
	return Config{Root: "/sys/class/infiniband", Identify: Description, BootIDPath: boot.IDPath}
}

// Kind is the entry in the registry.
func Kind() collectors.Kind {
	return collectors.Kind{
		Name:        "ibsysfs",
		Description: "InfiniBand and RoCE adapters of this host, from /sys/class/infiniband.",
		Workers:     8,
		NewConfig:   func() collectors.SourceConfig { return new(DefaultConfig()) },
	}
}

// Open creates the collector; host is the default for Hostname.
func (c *Config) Open(host string) (collectors.Collector, error) {
	cfg := *c
	cfg.Hostname = cmp.Or(cfg.Hostname, host)
	return New(cfg)
}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Root != "", "root", "empty; want /sys/class/infiniband")
	f.Check(c.Identify == Description || c.Identify == GUID || c.Identify == Hostname, "identify", "%q: want %s, %s or %s", c.Identify, Description, GUID, Hostname)
	for _, p := range c.Devices {
		_, err := path.Match(p, "")
		f.Check(err == nil, "devices", "%q: %w", p, err)
	}
	return f.Err()
}

// Collector lists the adapters of a host.
type Collector struct {
	cfg   Config
	epoch uint64
	known map[string]*adapter // by folder name; kept between polls
}

// New returns a collector. It only reads the boot ID.
func New(cfg Config) (*Collector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Hostname == "" {
		return nil, errors.New("hostname: empty")
	}
	return &Collector{cfg: cfg, epoch: boot.ID(cfg.BootIDPath), known: map[string]*adapter{}}, nil
}

// Name returns "ibsysfs".
func (c *Collector) Name() string { return "ibsysfs" }

// Epoch identifies the current boot.
func (c *Collector) Epoch() uint64 { return c.epoch }

// Devices lists the current adapters. A missing folder means that there are none: this
// is no error, since the driver may not be loaded yet, and the number of devices is a
// metric. The kernel serves the files read here from memory, so a hung adapter does not
// block the listing.
func (c *Collector) Devices(context.Context) ([]collectors.Device, error) {
	visits, err := c.list(c.known)
	if err != nil {
		return nil, err
	}
	clear(c.known)
	devices := make([]collectors.Device, len(visits))
	for i, v := range visits {
		c.known[v.name], devices[i] = v.adapter, v
	}
	return devices, nil
}

// list lists the current adapters, with the known ones as they are.
func (c *Collector) list(known map[string]*adapter) (visits []*visit, err error) {
	entries, err := os.ReadDir(c.cfg.Root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	sharing := map[string]int{} // adapters by description
	for _, e := range entries {
		name := e.Name()
		if !c.wanted(name) {
			continue
		}
		a := known[name]
		if a == nil {
			a = newAdapter(filepath.Join(c.cfg.Root, name), name)
		}
		v := &visit{adapter: a, cfg: &c.cfg, description: text(filepath.Join(a.dir, "node_desc")),
			guid: strings.ReplaceAll(text(filepath.Join(a.dir, "node_guid")), ":", "")}
		sharing[v.description]++
		visits = append(visits, v)
	}
	for _, v := range visits {
		v.shared = sharing[v.description] > 1
	}
	return visits, nil
}

func (c *Collector) wanted(name string) bool {
	for _, p := range c.cfg.Devices {
		if ok, _ := path.Match(p, name); ok { // validated
			return true
		}
	}
	return len(c.cfg.Devices) == 0
}

// text is the content of a small file; empty if it cannot be read.
func text(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
