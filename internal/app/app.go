// Package app is a running giverny: it makes the parts that a role needs from the
// configuration, all inert, and starts and stops them in the order of the data.
// Commands call it; it parses no flags, prints nothing but logs and analyses
// nothing.
package app

import (
	"context"
	"log/slog"
	"os"

	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/store/engine"
)

// Step is some stages that start and stop side by side.
type Step = []lifecycle.Stage

// EngineCommand is the hidden subcommand by which the binary runs the embedded
// engine in a child process of its own.
const EngineCommand = "engine"

// ServeEngine is what that child does. Its supervisor reads JSON from standard
// error.
func ServeEngine(ctx context.Context, args []string) error {
	cfg, err := engine.ParseServeArgs(args)
	if err != nil {
		return err
	}
	return engine.Serve(ctx, cfg, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
}
