// Package config is the configuration of the giverny binary: its sections, their
// defaults, and what of them makes no sense. It reads the YAML text and the
// environment through package settings, and opens no file but the one named.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/giverny/giverny/internal/settings"
	"github.com/giverny/giverny/schema"
)

// Prefix of the environment variables that override keys.
const Prefix = "GIVERNY"

// FileVariable names the configuration file where no flag does, and
// LibraryVariable the embedded ClickHouse library; they are no keys.
const (
	FileVariable    = Prefix + "_CONFIG"
	LibraryVariable = Prefix + "_LIBCHDB"
)

// Config is all that can be configured.
type Config struct {
	// What is logged, and how.
	Log Log `yaml:"log"`
	// The HTTP server of every role: metrics, health, API and page.
	HTTP HTTP `yaml:"http"`
	// Where the embedded Kafka and ClickHouse, and the agent's spool, keep their files.
	DataDir string `yaml:"data_dir"`
	// How long each stage may take to hand on what it holds when the process stops.
	StopTimeout time.Duration `yaml:"stop_timeout"`
	// The fabrics (planes, rails) of the site; each is analysed alone.
	Fabrics []Fabric `yaml:"fabrics"`
	// The bus between collectors and analysers.
	Kafka Kafka `yaml:"kafka"`
	// Where results are kept.
	Store Store `yaml:"store"`
	// What this host reads.
	Collect Collect `yaml:"collect"`
	// The API and the page.
	Dashboards Dashboards `yaml:"dashboards"`
}

// Log says what is logged.
type Log struct {
	// debug, info, warn or error.
	Level string `yaml:"level"`
	// text or json.
	Format string `yaml:"format"`
}

// HTTP is the server.
type HTTP struct {
	// Address and port; port 0 takes a free one.
	Listen string `yaml:"listen"`
}

// Fabric is one plane or rail.
type Fabric struct {
	// Name of the fabric, as every batch of counters carries it.
	Name string `yaml:"name"`
	// A specification (torus:24x24x24, fattree:k=16, dragonfly:groups=9,routers=4,hosts=2) or a file: output of ibnetdiscover, Slurm's topology.conf, NetQ's JSON, or what "giverny topology import" writes.
	Topology string `yaml:"topology"`
	// The partition of the topics that carries this fabric alone; -1 takes its place in the list.
	Partition int `yaml:"partition"`
	// Length of an interval, from 1s.
	Interval time.Duration `yaml:"interval"`
	// How long after an interval its readings may still arrive; 0 is half an interval, at least 2s. It costs no time while all devices report.
	AllowedLateness time.Duration `yaml:"allowed_lateness"`
	// The longest gap between two readings of a counter that still gives a rate, in intervals.
	MaxGapIntervals int `yaml:"max_gap_intervals"`
	// Length of a tick of PortXmitWait where the port does not report it, in picoseconds; 0: such counters give no percentage.
	TickPicoseconds int64 `yaml:"tick_picoseconds"`
	// How regions are found.
	Segment Segment `yaml:"segment"`
	// How regions and hot links are followed through time.
	Tracking Tracking `yaml:"tracking"`
}

// Segment says how regions are found.
type Segment struct {
	// statistical, or paper: Monet's algorithm as published.
	Method string `yaml:"method"`
	// A link may belong to two regions where their stalls add up.
	Overlap bool `yaml:"overlap"`
	// The stall metrics to segment, one by one; empty: all that are measured.
	Metrics []schema.Metric `yaml:"metrics"`
	// The size under which a region does not count.
	MinLinks int `yaml:"min_links"`
}

// Kafka is the bus.
type Kafka struct {
	// Run a broker inside this process, on files under data_dir, instead of using brokers.
	Embedded bool `yaml:"embedded"`
	// Addresses, host:port.
	Brokers []string `yaml:"brokers"`
	// Prefix of the topics' names.
	TopicPrefix string `yaml:"topic_prefix"`
	// Replicas of topics that Giverny creates; -1 takes the broker's default.
	Replication int `yaml:"replication"`
	// How long the embedded broker keeps messages.
	Retention time.Duration `yaml:"retention"`
	// Encryption.
	TLS TLS `yaml:"tls"`
	// Authentication.
	SASL SASL `yaml:"sasl"`
}

// TLS of a connection.
type TLS struct {
	// Speak TLS to the brokers.
	Enabled bool `yaml:"enabled"`
	// PEM file of the authorities to trust; empty: the system's.
	CA string `yaml:"ca"`
	// PEM file of this client's certificate, for mutual TLS.
	Cert string `yaml:"cert"`
	// PEM file of its key.
	Key string `yaml:"key"`
	// The name that the server's certificate must hold; empty: the host name.
	ServerName string `yaml:"server_name"`
}

// SASL says who this client is.
type SASL struct {
	// none, PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string `yaml:"mechanism"`
	// The user.
	Username string `yaml:"username"`
	// The password; better given by the environment or password_file.
	Password string `yaml:"password"`
	// A file that holds the password alone, instead of password.
	PasswordFile string `yaml:"password_file"`
}

// Store is where results are kept.
type Store struct {
	// Run the ClickHouse engine in a child process, on files under data_dir, instead of using url.
	Embedded bool `yaml:"embedded"`
	// https://user@host:8443/giverny, or http://; clickhouse:// for the native protocol is accepted and untested.
	URL string `yaml:"url"`
	// Replaces the password of the url.
	Password string `yaml:"password"`
	// PEM file of the authorities to trust; empty: the system's.
	CA string `yaml:"ca"`
	// PEM file of this client's certificate.
	Cert string `yaml:"cert"`
	// PEM file of its key.
	Key string `yaml:"key"`
	// Name of the ClickHouse cluster, if the servers of the url are one: tables are replicated, and distributed over its shards.
	Cluster string `yaml:"cluster"`
	// Implied by cluster, and refused without it.
	Replicated bool `yaml:"replicated"`
	// How long values of links are kept; 0: for ever.
	KeepSamples time.Duration `yaml:"keep_samples"`
	// How long readings that became no metric are kept; 0: for ever.
	KeepRaw time.Duration `yaml:"keep_raw"`
	// How long regions, network states and events are kept; 0: for ever.
	KeepRegions time.Duration `yaml:"keep_regions"`
	// The embedded engine's library; empty: looked for beside the binary and in the project's .deps.
	Library string `yaml:"library"`
}

// Dashboards is the API and the page.
type Dashboards struct {
	// How often the store is asked for intervals that other processes store.
	Poll time.Duration `yaml:"poll"`
	// How many intervals the timeline and the events reach back.
	History int `yaml:"history"`
	// The longest span that one question to the API may be about.
	MaxSpan time.Duration `yaml:"max_span"`
}

// Default is what holds where nothing is configured: one process with the
// embedded broker and store.
func Default() Config {
	return Config{
		Log:         Log{Level: "info", Format: "text"},
		HTTP:        HTTP{Listen: "127.0.0.1:9401"},
		DataDir:     "giverny-data",
		StopTimeout: 15 * time.Second,
		Kafka:       Kafka{Embedded: true, TopicPrefix: "giverny.", Replication: -1, Retention: 24 * time.Hour, SASL: SASL{Mechanism: "none"}},
		Store:       Store{Embedded: true, KeepSamples: 180 * 24 * time.Hour, KeepRaw: 14 * 24 * time.Hour, KeepRegions: 730 * 24 * time.Hour},
		Collect:     defaultCollect(),
		Dashboards:  Dashboards{Poll: time.Second, History: 240, MaxSpan: 184 * 24 * time.Hour},
	}
}

// DefaultFabric is what holds for a fabric where its entry says nothing.
func DefaultFabric() Fabric {
	return Fabric{Partition: -1, Interval: time.Minute, MaxGapIntervals: 3, Segment: Segment{Method: "statistical", MinLinks: 20}, Tracking: defaultTracking()}
}

// UnmarshalYAML lays an entry over DefaultFabric.
func (f *Fabric) UnmarshalYAML(decode func(any) error) error {
	type plain Fabric
	p := plain(DefaultFabric())
	if err := decode(&p); err != nil {
		return err
	}
	*f = Fabric(p)
	return nil
}

// Load reads the file at path, or none if path is empty, lays the environment
// over it and validates the whole.
func Load(path string, environ []string) (Config, error) {
	cfg := Default()
	source := settings.Source{Name: path}
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return cfg, fmt.Errorf("configuration: %w", err)
		}
		source.Text = text
	}
	if err := settings.Load(&cfg, source, Prefix, environ, FileVariable, LibraryVariable); err != nil {
		return cfg, err
	}
	cfg.resolve(filepath.Dir(path))
	return cfg, cfg.Validate()
}

// resolve fills in what follows from the rest: partitions by place in the list,
// and topology files relative to the configuration file.
func (c *Config) resolve(dir string) {
	for i := range c.Fabrics {
		f := &c.Fabrics[i]
		if f.Partition < 0 {
			f.Partition = i
		}
		if f.Topology != "" && !IsTopologySpec(f.Topology) && !filepath.IsAbs(f.Topology) {
			f.Topology = filepath.Join(dir, f.Topology)
		}
	}
	if c.Collect.Fabric == "" && len(c.Fabrics) == 1 {
		c.Collect.Fabric = c.Fabrics[0].Name
	}
}

// Validate joins all faults.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !oneOf(c.Log.Level, "debug", "info", "warn", "error") {
		bad("log.level: %q: want debug, info, warn or error", c.Log.Level)
	}
	if !oneOf(c.Log.Format, "text", "json") {
		bad("log.format: %q: want text or json", c.Log.Format)
	}
	if c.DataDir == "" {
		bad("data_dir: is empty")
	}
	if c.StopTimeout <= 0 {
		bad("stop_timeout: %v: want a positive duration", c.StopTimeout)
	}
	if !c.Kafka.Embedded && len(c.Kafka.Brokers) == 0 {
		bad("kafka: no brokers; set kafka.brokers, or kafka.embedded: true")
	}
	if c.Kafka.Embedded && len(c.Kafka.Brokers) > 0 {
		bad("kafka: both embedded and brokers; set kafka.embedded: false to use the brokers")
	}
	if !c.Store.Embedded && c.Store.URL == "" {
		bad("store: no url; set store.url, or store.embedded: true")
	}
	if c.Store.Embedded && c.Store.URL != "" {
		bad("store: both embedded and url; set store.embedded: false to use the url")
	}
	if c.Store.Replicated && c.Store.Cluster == "" {
		bad("store: replicated without cluster; set store.cluster to the name of the ClickHouse cluster")
	}
	if c.Store.Embedded && c.Store.Cluster != "" {
		bad("store: both embedded and cluster; set store.embedded: false and store.url to use the cluster")
	}
	errs = append(errs, c.validateFabrics()...)
	errs = append(errs, c.Collect.validate()...)
	return errors.Join(errs...)
}

func (c *Config) validateFabrics() (errs []error) {
	names, partitions := map[string]bool{}, map[int]string{}
	for i, f := range c.Fabrics {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("fabrics.%d (%s): %w", i, f.Name, fmt.Errorf(format, args...)))
		}
		if f.Name == "" {
			bad("name: is empty")
		}
		if names[f.Name] {
			bad("name: stands twice")
		}
		names[f.Name] = true
		if other, taken := partitions[f.Partition]; taken {
			bad("partition: %d is %s's; each fabric needs its own", f.Partition, other)
		}
		partitions[f.Partition] = f.Name
		if f.Topology == "" {
			bad("topology: is empty; give a specification such as torus:8x8x8, or a file")
		}
		if f.Interval < time.Second || f.Interval%time.Second != 0 {
			bad("interval: %v: want whole seconds, from 1s", f.Interval)
		}
		if f.AllowedLateness < 0 || f.MaxGapIntervals < 1 || f.TickPicoseconds < 0 {
			bad("allowed_lateness and tick_picoseconds must not be negative, max_gap_intervals at least 1")
		}
		f.Tracking.validate(bad)
	}
	return errs
}

func oneOf(s string, words ...string) bool {
	for _, w := range words {
		if s == w {
			return true
		}
	}
	return false
}
