// Package logs makes the process's logger from its section of the configuration, and keeps it quiet: the
// repeats of a warning or error are counted and summed up once a minute. It decides nothing about what is
// worth a warning.
package logs

import (
	"io"
	"log/slog"

	"github.com/giverny/giverny/internal/faults"
)

// Config says what is logged.
type Config struct {
	// debug, info, warn or error.
	Level string `yaml:"level"`
	// text or json.
	Format string `yaml:"format"`
}

// DefaultConfig logs text from info on.
func DefaultConfig() Config { return Config{Level: "info", Format: "text"} }

// levels are the words for Level.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// Validate names every fault.
func (c *Config) Validate() error {
	var f faults.List
	_, known := levels[c.Level]
	f.Check(known, "level", "%q: want debug, info, warn or error", c.Level)
	f.Check(c.Format == "text" || c.Format == "json", "format", "%q: want text or json", c.Format)
	return f.Err()
}

// New makes a logger that writes to w, and sums up the repeats of a warning or error. Call Flush before
// the process ends.
func New(cfg Config, w io.Writer) *slog.Logger { return slog.New(newQuiet(handler(cfg, w))) }

// NewVerbose makes a logger that writes each record: for a command that ends soon, and whose warnings are
// part of its answer.
func NewVerbose(cfg Config, w io.Writer) *slog.Logger { return slog.New(handler(cfg, w)) }

func handler(cfg Config, w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: levels[cfg.Level]}
	if cfg.Format == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// Flush writes the repeats that a logger of New has counted and not yet written. The logger can still be
// used, and counts from the beginning.
func Flush(log *slog.Logger) {
	if q, ok := log.Handler().(*quiet); ok {
		q.repeat.flush()
	}
}
