package engine

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// ServeConfig is the configuration of the child process.
type ServeConfig struct {
	Library        string        // libchdb.so
	DataDir        string        // created if missing; used by one process at a time
	Socket         string        // unix socket; its directory must be private
	MaxMemoryBytes int64         // of the whole engine; a query may use two thirds
	MaxThreads     int           // of one query
	MaxQueries     int           // run concurrently; more wait
	StopTimeout    time.Duration // grace period for running statements on stop
	Supervised     bool          // stop when stdin is closed, not on signals
	TestKeeper     bool          // for tests of replicated tables; see Config
}

// maxStatementBytes limits a statement without its data, and INSERT ... VALUES.
const maxStatementBytes = 64 << 20

// flags defines the child's command line, for both parsing and formatting it.
func (c *ServeConfig) flags() *flag.FlagSet {
	set := flag.NewFlagSet("engine", flag.ContinueOnError)
	set.SetOutput(io.Discard) // the error contains the message
	set.StringVar(&c.Library, "library", c.Library, "path of libchdb.so")
	set.StringVar(&c.DataDir, "data", c.DataDir, "data directory")
	set.StringVar(&c.Socket, "socket", c.Socket, "unix socket to listen on")
	set.Int64Var(&c.MaxMemoryBytes, "max-memory-bytes", c.MaxMemoryBytes, "memory of the engine")
	set.IntVar(&c.MaxThreads, "max-threads", c.MaxThreads, "threads of one query")
	set.IntVar(&c.MaxQueries, "max-queries", c.MaxQueries, "queries that run at once")
	set.DurationVar(&c.StopTimeout, "stop-timeout", c.StopTimeout, "grace for running statements at a stop")
	set.BoolVar(&c.Supervised, "supervised", c.Supervised, "stop when stdin ends, not on signals")
	set.BoolVar(&c.TestKeeper, "test-keeper", c.TestKeeper, "a keeper and a cluster within the process, for tests of replicated tables")
	return set
}

// ParseServeArgs parses the arguments that a supervisor passes to its child,
// with the defaults for missing ones.
func ParseServeArgs(args []string) (ServeConfig, error) {
	c := DefaultConfig().serveConfig("")
	c.Supervised = false
	set := c.flags()
	if err := set.Parse(args); err != nil {
		return ServeConfig{}, fmt.Errorf("engine: %w", err)
	}
	if set.NArg() > 0 {
		return ServeConfig{}, fmt.Errorf("engine: unexpected argument %q", set.Arg(0))
	}
	return c, nil
}

// Args is the inverse of ParseServeArgs.
func (c ServeConfig) Args() []string {
	var args []string
	c.flags().VisitAll(func(f *flag.Flag) {
		args = append(args, "-"+f.Name+"="+f.Value.String())
	})
	return args
}

// Validate reports all faults of the configuration.
func (c ServeConfig) Validate() error {
	var faults []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("engine: "+format, args...))
		}
	}
	require(c.Library != "", "no library: pass -library")
	require(c.DataDir != "", "no data directory: pass -data")
	require(c.Socket != "", "no socket: pass -socket")
	require(len(c.Socket) < maxSocketPath, "socket path %q is longer than the %d bytes a unix socket allows: choose a shorter directory", c.Socket, maxSocketPath-1)
	require(c.MaxMemoryBytes >= minMemoryBytes, "max memory is %d bytes: the engine needs 268435456 (256 MiB) or more", c.MaxMemoryBytes)
	require(c.MaxThreads > 0, "max threads is %d: it must be positive", c.MaxThreads)
	require(c.MaxQueries > 0, "max queries is %d: it must be positive", c.MaxQueries)
	require(c.StopTimeout > 0, "stop timeout is %v: it must be positive", c.StopTimeout)
	return errors.Join(faults...)
}

// minMemoryBytes is the minimum with which the engine starts.
const minMemoryBytes = 256 << 20

// maxSocketPath is the size of sun_path on Linux, including the final zero byte.
const maxSocketPath = 108
