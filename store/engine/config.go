package engine

import (
	"cmp"
	"errors"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/faults"
)

// Config says where the embedded engine keeps its data and what it may use.
type Config struct {
	LibraryPath string   `yaml:"-"` // libchdb.so; see FindLibrary
	DataDir     string   `yaml:"-"` // created if missing; used by one process at a time
	Command     []string `yaml:"-"` // a program that calls Serve with the following arguments, parsed by ParseServeArgs

	// A folder for the private folder of the engine's socket; empty: the system's temporary folder.
	RuntimeDir string `yaml:"runtime_dir"`
	// Memory of the whole engine, in bytes; a query may use two thirds of it.
	MaxMemoryBytes int64 `yaml:"max_memory_bytes"`
	// Threads of one query; 0: the number of processors.
	MaxThreads int `yaml:"max_threads"`
	// Maximum number of concurrent queries; further ones wait. One in four, at least one, is for writes.
	MaxQueries int `yaml:"max_queries"`
	// From the start of the engine to its first answer; also how long a client waits for a restart.
	StartTimeout time.Duration `yaml:"start_timeout"`
	// How long running statements may take to finish when the process stops; the rest of the shutdown may take the same time again.
	StopTimeout time.Duration `yaml:"stop_timeout"`
	// Pause between two health checks.
	HealthInterval time.Duration `yaml:"health_interval"`
	// An engine that does not answer for this long is restarted.
	HealthTimeout time.Duration `yaml:"health_timeout"`
	// Pause before the first restart; it doubles (back-off).
	MinBackoff time.Duration `yaml:"min_backoff"`
	// The longest pause before a restart.
	MaxBackoff time.Duration `yaml:"max_backoff"`

	// TestKeeper gives the engine an in-memory Keeper and a cluster "giverny"
	// that consists of itself, so that tests can create replicated and
	// distributed tables.
	TestKeeper bool `yaml:"-"`
}

// DefaultConfig is a Config without LibraryPath, DataDir and Command.
func DefaultConfig() Config {
	return Config{
		MaxMemoryBytes: 1536 << 20,
		MaxQueries:     8,
		StartTimeout:   time.Minute,
		StopTimeout:    10 * time.Second,
		HealthInterval: 10 * time.Second,
		HealthTimeout:  time.Minute,
		MinBackoff:     100 * time.Millisecond,
		MaxBackoff:     30 * time.Second,
	}
}

// Validate reports all faults of what users configure; New checks the rest.
func (c Config) Validate() error {
	var f faults.List
	positive := func(key string, d time.Duration) { f.Check(d > 0, key, "%v: want more than 0", d) }
	f.Check(c.MaxMemoryBytes >= minMemoryBytes, "max_memory_bytes", "%d: want %d (256 MiB) or more", c.MaxMemoryBytes, minMemoryBytes)
	f.Check(c.MaxThreads >= 0, "max_threads", "%d: want 0 or more", c.MaxThreads)
	f.Check(c.MaxQueries > 0, "max_queries", "%d: want 1 or more", c.MaxQueries)
	positive("start_timeout", c.StartTimeout)
	positive("stop_timeout", c.StopTimeout)
	positive("health_interval", c.HealthInterval)
	positive("health_timeout", c.HealthTimeout)
	positive("min_backoff", c.MinBackoff)
	f.Check(c.MaxBackoff >= c.MinBackoff, "max_backoff", "%v: want min_backoff (%v) or more", c.MaxBackoff, c.MinBackoff)
	return f.Err()
}

// complete reports the faults of what the process sets.
func (c Config) complete() error {
	if len(c.Command) == 0 {
		return errors.Join(c.serveConfig("socket").Validate(), errors.New("engine: no command to start the child with"))
	}
	return c.serveConfig("socket").Validate()
}

// serveConfig is the child's part of the configuration.
func (c Config) serveConfig(socket string) ServeConfig {
	return ServeConfig{
		Library:        c.LibraryPath,
		DataDir:        c.DataDir,
		Socket:         socket,
		MaxMemoryBytes: c.MaxMemoryBytes,
		MaxThreads:     cmp.Or(c.MaxThreads, runtime.NumCPU()),
		MaxQueries:     c.MaxQueries,
		StopTimeout:    c.StopTimeout,
		Supervised:     true,
		TestKeeper:     c.TestKeeper,
	}
}

// Deps are the dependencies of an Engine.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}
