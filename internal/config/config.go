// Package config is the configuration of the giverny binary. Its sections are the
// components' own Configs; this package combines them, fills in derived values, and
// reports each error with its key. It reads YAML and the environment through package
// settings, and opens no files except the configuration and the topologies it names.
package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/collective/watch"
	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/dashboards"
	"github.com/giverny/giverny/feedback"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/logs"
	"github.com/giverny/giverny/internal/ops"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/settings"
	"github.com/giverny/giverny/search/known"
	"github.com/giverny/giverny/search/launch"
	"github.com/giverny/giverny/search/ondemand"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/readonly"
	"github.com/giverny/giverny/topology"
)

// Prefix of the environment variables that override keys.
const Prefix = "GIVERNY"

// FileVariable names the configuration file if no flag does; it is not a key.
const FileVariable = Prefix + "_CONFIG"

// moved maps keys of earlier versions to their current names.
var moved = settings.Moved{
	"collect.jobs.kubernetes.ca_file":   "collect.jobs.kubernetes.ca",
	"collect.spool_bytes":               "spool.max_bytes",
	"fabrics.#.tracking.hold_intervals": "fabrics.#.tracking.debounce_intervals",
	"kafka.sasl.username":               "kafka.sasl.user",
	"store.replicated":                  "store.cluster", // tables are replicated if there is a cluster
}

// Config is the complete configuration.
type Config struct {
	// Logging.
	Log logs.Config `yaml:"log"`
	// The HTTP server of every role: metrics, health, API and page.
	HTTP ops.Config `yaml:"http"`
	// Where the embedded Kafka and ClickHouse, and the agent's spool, keep their files.
	DataDir string `yaml:"data_dir"`
	// How long each stage may take to hand on its data when the process stops.
	StopTimeout time.Duration `yaml:"stop_timeout"`
	// The fabrics (planes, rails) of the site; each is analysed separately.
	Fabrics []Fabric `yaml:"fabrics"`
	// The bus between collectors and analysers.
	Kafka Kafka `yaml:"kafka"`
	// Where an agent keeps its readings while Kafka is unreachable.
	Spool spool.Config `yaml:"spool"`
	// The store of results.
	Store Store `yaml:"store"`
	// What the agent on this host reads.
	Collect Collect `yaml:"collect"`
	// Commands to agents: who may send them, what is allowed, and the key with which this process signs its own.
	Command command.Config `yaml:"command"`
	// Actions on results: placement of jobs by schedulers, and notifications of regions. All of it is off by default.
	Feedback feedback.Config `yaml:"feedback"`
	// Searches for NIC anomalies: what this host offers, and what is launched.
	Search Search `yaml:"search"`
	// Probes inside hosts (Hostping): how this host is probed, and which hosts are probed because of diagnoses.
	Hostping Hostping `yaml:"hostping"`
	// The API and the page.
	Dashboards dashboards.Config `yaml:"dashboards"`

	file settings.Source // the file read by Load, for Located
}

// Search is the configuration of searches on demand.
type Search struct {
	// What this host's agent measures for others.
	Offer ondemand.Config `yaml:"offer"`
	// Launching, and the hosts to use.
	Launch launch.Config `yaml:"launch"`
	// Known properties of job workloads, to find the known anomalies that they trigger.
	Workloads []known.WorkloadConfig `yaml:"workloads"`
}

// Fabric is one plane or rail.
type Fabric struct {
	// Name of the fabric in every batch of counters: printable, without a slash.
	Name string `yaml:"name"`
	// A specification (torus:24x24x24, fattree:k=16, dragonfly:groups=9,routers=4,hosts=2) or a file: output of ibnetdiscover, ibdiagnet2.db_csv, Slurm's topology.conf, NetQ's JSON, or what "giverny topology import" writes.
	Topology string `yaml:"topology"`
	// The partition of the topics for this fabric alone; -1: its position in the list.
	Partition int `yaml:"partition"`

	Analysis analysis.Config `yaml:",inline"`
}

// byPlace means that a fabric's position in the list is its partition; maxPartitions bounds explicit ones, since the topics get
// as many partitions as the highest number requires.
const (
	byPlace       = -1
	maxPartitions = 10_000
)

// Interval is the length of the fabric's intervals.
func (f *Fabric) Interval() time.Duration { return f.Analysis.Window.Interval }

// Kafka is the configuration of the bus.
type Kafka struct {
	// Run a broker inside this process, on files under data_dir, instead of using brokers.
	Embedded bool `yaml:"embedded"`

	Client kafka.Config `yaml:",inline"`
	// The embedded broker.
	Broker embedded.Config `yaml:"embedded_broker"`
}

// Store is the configuration of the results store.
type Store struct {
	// Run the ClickHouse engine in a child process, on files under data_dir, instead of using url.
	Embedded bool `yaml:"embedded"`

	Server store.ServerConfig `yaml:",inline"`
	Tables store.Config       `yaml:",inline"`
	// The embedded engine's library; empty: searched for next to the binary and in the project's .deps.
	Library string `yaml:"library"`
	// The embedded engine.
	Engine engine.Config `yaml:"engine"`
	// Where analysts can read the embedded store with ClickHouse HTTP clients. Off by default.
	Analyst readonly.Config `yaml:"analyst"`
}

// Collect is what an agent reads on its host.
type Collect struct {
	// Name of this agent in batches; empty: the host name.
	Agent string `yaml:"agent"`

	Polling collectors.Config `yaml:",inline"`
	Sources registry.Sources  `yaml:",inline"`

	// Jobs, from schedulers: one agent of a fabric is enough.
	Jobs registry.Feeds `yaml:"jobs"`
	// Failures and congestion protection, from logs.
	Failures registry.Feeds `yaml:"failures"`
	// Traffic of jobs, from file systems and tables.
	Traffic registry.Feeds `yaml:"traffic"`

	// Records of jobs' collectives, from folders, to be diagnosed and published.
	Collectives watch.Config `yaml:"collectives"`
}

// FeedGroup is the feeds of a section under collect.
type FeedGroup struct {
	Name  string
	Feeds *registry.Feeds
}

// FeedGroups are the sections of feeds.
func (c *Collect) FeedGroups() []FeedGroup {
	return []FeedGroup{{"jobs", &c.Jobs}, {"failures", &c.Failures}, {"traffic", &c.Traffic}}
}

// FeedsEnabled reports whether any feed is enabled.
func (c *Collect) FeedsEnabled() bool {
	return slices.ContainsFunc(c.FeedGroups(), func(g FeedGroup) bool { return len(g.Feeds.Enabled()) > 0 })
}

// Enabled reports whether there is anything to read.
func (c *Collect) Enabled() bool {
	return c.Sources.Enabled() || c.FeedsEnabled() || c.Collectives.Enabled()
}

// AgentName is the configured name, or this host's name.
func (c *Collect) AgentName() (string, error) {
	if c.Agent != "" {
		return c.Agent, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this host: %w; set collect.agent", err)
	}
	return name, nil
}

// Default is the default configuration: one process with the embedded broker and store.
func Default() Config {
	c := Config{
		Log:         logs.DefaultConfig(),
		HTTP:        ops.DefaultConfig(),
		DataDir:     "giverny-data",
		StopTimeout: 15 * time.Second,
		Kafka:       Kafka{Embedded: true, Client: kafka.DefaultConfig(), Broker: embedded.DefaultConfig()},
		Spool:       spool.DefaultConfig(),
		Store:       Store{Embedded: true, Tables: store.DefaultConfig(), Engine: engine.DefaultConfig(), Analyst: readonly.DefaultConfig()},
		Collect: Collect{Polling: collectors.DefaultConfig(), Sources: registry.DefaultConfig(), Jobs: registry.DefaultFeeds(registry.JobKinds()),
			Failures: registry.DefaultFeeds(registry.FailureKinds()), Traffic: registry.DefaultFeeds(registry.TrafficKinds()), Collectives: watch.DefaultConfig()},
		Command:    command.DefaultConfig(),
		Feedback:   feedback.DefaultConfig(),
		Search:     Search{Offer: ondemand.DefaultConfig(), Launch: launch.DefaultConfig()},
		Hostping:   defaultHostping(),
		Dashboards: dashboards.DefaultConfig(),
	}
	c.Kafka.Client.Brokers = nil
	return c
}

// DefaultFabric is the default configuration of a fabric.
func DefaultFabric() Fabric { return Fabric{Partition: byPlace, Analysis: analysis.DefaultConfig()} }

// SetDefaults sets f to DefaultFabric.
func (f *Fabric) SetDefaults() { *f = DefaultFabric() }

// Load reads the file at path, if path is not empty, overlays the environment and
// validates the result.
func Load(path string, environ []string) (Config, error) {
	cfg := Default()
	cfg.file.Name = path
	if err := cfg.readFile(); err != nil {
		return cfg, err
	}
	if err := settings.Environment(&cfg, Prefix, environ, []string{FileVariable, engine.LibraryVariable}, moved); err != nil {
		return cfg, err
	}
	cfg.resolve(filepath.Dir(path))
	return cfg, cfg.Located(cfg.Validate(), environ)
}

// Located prefixes each error about a loaded configuration with the source of the value.
func (c *Config) Located(err error, environ []string) error {
	return settings.Located(err, c.file, Prefix, environ)
}

// readFile reads the file once, since it may be a pipe.
func (c *Config) readFile() (err error) {
	if c.file.Name == "" {
		return nil
	}
	if c.file.Text, err = plainfile.ReadOnce(c.file.Name); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	return settings.File(c, c.file, moved)
}

// resolve fills in derived values: partitions by position in the list, topologies and
// its own files relative to the configuration file, and the agent's settings that default to
// its fabric's.
func (c *Config) resolve(dir string) {
	for i := range c.Fabrics {
		f := &c.Fabrics[i]
		if f.Partition == byPlace {
			f.Partition = i
		}
		if f.Topology != "" && !topology.IsSpec(f.Topology) && !filepath.IsAbs(f.Topology) {
			f.Topology = filepath.Join(dir, f.Topology)
		}
	}
	settings.Walk(reflect.ValueOf(c).Elem(), func(_ string, f settings.Field) {
		if needs[f.Key] == ownFile && f.Value.Kind() == reflect.String && f.Value.String() != "" && !filepath.IsAbs(f.Value.String()) {
			f.Value.SetString(filepath.Join(dir, f.Value.String()))
		}
	})
	c.resolveCollectives(dir)
	polling := &c.Collect.Polling
	if polling.Fabric == "" && len(c.Fabrics) == 1 {
		polling.Fabric = c.Fabrics[0].Name
	}
	if f := c.fabric(polling.Fabric); f != nil && polling.Interval == 0 {
		polling.Interval = f.Interval()
	}
}

// resolveCollectives makes watched folders relative to the configuration file.
func (c *Config) resolveCollectives(dir string) {
	for i := range c.Collect.Collectives.Folders {
		if path := &c.Collect.Collectives.Folders[i].Dir; *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}

func (c *Config) fabric(name string) *Fabric {
	for i := range c.Fabrics {
		if c.Fabrics[i].Name == name {
			return &c.Fabrics[i]
		}
	}
	return nil
}

// FeedDir is the folder of the feeds' positions.
func (c *Config) FeedDir() string { return filepath.Join(c.DataDir, "feeds") }

// EmbeddedBroker is the configuration of the embedded broker; its folder defaults to
// one under data_dir.
func (c *Config) EmbeddedBroker() embedded.Config {
	b := c.Kafka.Broker
	b.Dir = cmp.Or(b.Dir, filepath.Join(c.DataDir, "kafka"))
	return b
}

// AgentSpool is the configuration of the agent's spool; its folder defaults to one
// under data_dir.
func (c *Config) AgentSpool() spool.Config {
	s := c.Spool
	s.Dir = cmp.Or(s.Dir, filepath.Join(c.DataDir, "spool"))
	return s
}

// Acting is the configuration of feedback; its folder defaults to one under data_dir.
func (c *Config) Acting() feedback.Config {
	f := c.Feedback
	f.Dir = cmp.Or(f.Dir, filepath.Join(c.DataDir, "feedback"))
	return f
}

// PartitionOf maps fabric names to partitions.
func PartitionOf(fabrics []Fabric) map[string]int {
	of := make(map[string]int, len(fabrics))
	for _, f := range fabrics {
		of[f.Name] = f.Partition
	}
	return of
}

// NumPartitions is the number of partitions the topics need: the highest of any fabric
// plus one.
func NumPartitions(fabrics []Fabric) int {
	n := 1
	for _, f := range fabrics {
		n = max(n, f.Partition+1)
	}
	return n
}

// Exposed lists the keys of secrets in the loaded file, if it is readable by all users
// of this host.
func (c *Config) Exposed() []string {
	info, err := os.Stat(c.file.Name)
	if err != nil || info.Mode().Perm()&0o004 == 0 {
		return nil
	}
	cfg := Default() // without secrets from the environment
	if err := settings.File(&cfg, c.file, moved); err != nil {
		return nil // Load reports the error
	}
	var keys []string
	settings.Walk(reflect.ValueOf(&cfg).Elem(), func(path string, f settings.Field) {
		if s, ok := f.Value.Interface().(interface{ IsSet() bool }); ok && s.IsSet() {
			keys = append(keys, path)
		}
	})
	return keys
}
