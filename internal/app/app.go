// Package app is a running giverny: it creates the parts of a role from the
// configuration, and starts and stops them in the order of the data. Commands call it;
// it parses no flags, prints only logs and does no analysis.
package app

import (
	"context"
	"log/slog"
	"os"

	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/store/engine"
)

// Step is a set of stages that start and stop together.
type Step = []lifecycle.Stage

// EngineCommand is the hidden subcommand with which the binary runs the embedded engine
// in a child process.
const EngineCommand = "engine"

// ServeEngine is the main function of that child. Its supervisor reads JSON from
// standard error.
func ServeEngine(ctx context.Context, args []string) error {
	cfg, err := engine.ParseServeArgs(args)
	if err != nil {
		return err
	}
	return engine.Serve(ctx, cfg, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
}
