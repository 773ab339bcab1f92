package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config says where the embedded engine lives and what it may use.
type Config struct {
	LibraryPath string   // libchdb.so; see FindLibrary
	DataDir     string   // made if missing; one process at a time
	Command     []string // starts a program that calls Serve with ParseServeArgs of the arguments that follow
	RuntimeDir  string   // a private directory for the socket is made in it; empty means the system's temporary directory

	MaxMemoryBytes int64 // of the whole engine; a query may take two thirds
	MaxThreads     int   // of one query
	MaxQueries     int   // that run at once; more wait

	StartTimeout   time.Duration // from the start of the process to its first answer; also how long a client waits for a restart
	StopTimeout    time.Duration // for running statements to finish; after that again as long for the rest
	HealthInterval time.Duration // between two health checks
	HealthTimeout  time.Duration // an engine that is silent for so long is restarted
	MinBackoff     time.Duration // before the first restart; doubles up to MaxBackoff
	MaxBackoff     time.Duration

	// TestKeeper gives the engine a keeper that forgets everything when the
	// process ends, and the cluster "giverny" of itself alone, so that tests can
	// make replicated and distributed tables.
	TestKeeper bool
}

// DefaultConfig is a Config without LibraryPath, DataDir and Command.
func DefaultConfig() Config {
	return Config{
		MaxMemoryBytes: 1536 << 20,
		MaxThreads:     runtime.NumCPU(),
		MaxQueries:     8,
		StartTimeout:   time.Minute,
		StopTimeout:    10 * time.Second,
		HealthInterval: 10 * time.Second,
		HealthTimeout:  time.Minute,
		MinBackoff:     100 * time.Millisecond,
		MaxBackoff:     30 * time.Second,
	}
}

// Validate joins all faults of the configuration.
func (c Config) Validate() error {
	faults := []error{c.serveConfig("socket").Validate()}
	if len(c.Command) == 0 {
		faults = append(faults, errors.New("engine: no command to start the child with"))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"start timeout", c.StartTimeout},
		{"health interval", c.HealthInterval},
		{"health timeout", c.HealthTimeout},
		{"min backoff", c.MinBackoff},
	} {
		if d.value <= 0 {
			faults = append(faults, fmt.Errorf("engine: %s is %v: it must be positive", d.name, d.value))
		}
	}
	if c.MaxBackoff < c.MinBackoff {
		faults = append(faults, fmt.Errorf("engine: max backoff %v is less than min backoff %v", c.MaxBackoff, c.MinBackoff))
	}
	return errors.Join(faults...)
}

// serveConfig is the child's part of the configuration.
func (c Config) serveConfig(socket string) ServeConfig {
	return ServeConfig{
		Library:        c.LibraryPath,
		DataDir:        c.DataDir,
		Socket:         socket,
		MaxMemoryBytes: c.MaxMemoryBytes,
		MaxThreads:     c.MaxThreads,
		MaxQueries:     c.MaxQueries,
		StopTimeout:    c.StopTimeout,
		Supervised:     true,
		TestKeeper:     c.TestKeeper,
	}
}

// Deps is what an Engine works with.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}
