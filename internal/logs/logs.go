// Package logs creates the process's logger from its configuration section, and deduplicates: repeats of
// a warning or error are counted and summarised once a minute.
package logs

import (
	"io"
	"log/slog"

	"github.com/giverny/giverny/internal/faults"
)

// Config is what is logged.
type Config struct {
	// debug, info, warn or error.
	Level string `yaml:"level"`
	// text or json.
	Format string `yaml:"format"`
}

// DefaultConfig logs text at level info.
func DefaultConfig() Config { return Config{Level: "info", Format: "text"} }

// levels are the values of Level.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	_, known := levels[c.Level]
	f.Check(known, "level", "%q: want debug, info, warn or error", c.Level)
	f.Check(c.Format == "text" || c.Format == "json", "format", "%q: want text or json", c.Format)
	return f.Err()
}

// New returns a logger that writes to w and summarises repeated warnings and errors. Call Flush before
// the process exits.
func New(cfg Config, w io.Writer) *slog.Logger { return slog.New(newQuiet(handler(cfg, w))) }

// NewVerbose returns a logger that writes every record: for a short-lived command whose warnings are part
// of its output.
func NewVerbose(cfg Config, w io.Writer) *slog.Logger { return slog.New(handler(cfg, w)) }

func handler(cfg Config, w io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: levels[cfg.Level]}
	if cfg.Format == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// Flush writes the pending summaries of a logger returned by New. The logger remains usable and starts
// counting again.
func Flush(log *slog.Logger) {
	if q, ok := log.Handler().(*quiet); ok {
		q.repeat.flush()
	}
}
