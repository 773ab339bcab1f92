// Package logs makes the process's logger from its section of the configuration.
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

// New makes a logger that writes to w.
func New(cfg Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: levels[cfg.Level]}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
