package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/demo"
	"github.com/giverny/giverny/internal/logs"
	"github.com/giverny/giverny/pipeline"
	"github.com/giverny/giverny/simulate/playback"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/store"
)

type demoFlags struct {
	duration time.Duration
	json     bool
	keep     string
	listen   string
	story    string
	seed     uint64
	stay     bool
}

func newDemo(g *globals) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch congestion regions grow on a simulated fabric",
		Long: `Play a story on a simulated fabric and analyse it live: the simulator reports
counters as real devices do, through Kafka, and regions are found, stored and
shown on a page. No server is needed; everything runs in this process and one
child, on files that are removed at the end.

The story is played once, with --for in that time; with --stay it is repeated until
interrupted.

With --json the story goes to standard error, and standard output gets one line
at the end: the number of intervals, links and counter readings; regions by
severity, counted once per interval; what was dropped, by reason; and the time
from the reading of a counter until the region is stored.`,
		Example: "  giverny demo\n  giverny demo --for 60s --json\n  giverny demo --story story.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := g.load(cmd)
			if err != nil {
				return err
			}
			return runDemo(cmd, cfg, f)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.duration, "for", 0, "play the story in this time, its events in proportion; 0: in its own")
	flags.BoolVar(&f.json, "json", false, "print one line of JSON at the end")
	flags.StringVar(&f.keep, "keep", "", "directory to keep the data in (default: a temporary one)")
	flags.StringVar(&f.listen, "listen", "", "address of the page, such as 127.0.0.1:8080 (default: http.listen, or a free port if that is in use)")
	flags.StringVar(&f.story, "story", "demo", "which story to play: "+strings.Join(scenario.BuiltinNames(), ", ")+", or a file")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of all random choices in the story")
	flags.BoolVar(&f.stay, "stay", false, "repeat the story until interrupted")
	return cmd
}

func runDemo(cmd *cobra.Command, cfg config.Config, f demoFlags) (err error) {
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP) // it ends with its terminal, which the roles do not
		defer stop()
		cmd.SetContext(ctx)
	}
	if cfg.DataDir = f.keep; f.keep == "" {
		if cfg.DataDir, err = os.MkdirTemp("", "giverny-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(cfg.DataDir)
	}
	if err := demo.CheckRoom(cfg.DataDir); err != nil {
		return err
	}
	reading := endAtOnce(cmd)
	script, err := playback.Read(f.story)
	reading()
	if err != nil {
		return err
	}
	if err := stretch(script, f.duration); err != nil {
		return err
	}
	return f.play(cmd, cfg, script)
}

// play analyses the story while it is played.
func (f *demoFlags) play(cmd *cobra.Command, cfg config.Config, script *scenario.Script) error {
	prepareDemo(&cfg, script)
	log := logs.New(cfg.Log, cmd.ErrOrStderr())
	defer logs.Flush(log)
	fabrics, err := app.LoadFabrics(cfg.Fabrics, log)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if f.json {
		out = cmd.ErrOrStderr()
	}
	printer := demo.NewPrinter(out, fabrics[0].Graph.NumLinks())
	listen, err := f.listener(cmd, &cfg)
	if err != nil {
		return err
	}
	p := app.New(cfg, version, log)
	l, err := listen(p)
	if err != nil {
		return err
	}
	parts, err := p.Make(app.Role{Analyse: true, Serve: true, Sinks: []pipeline.Sink{printer}}, fabrics)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(out, "%s\nThe page: %s\n\n%s\n\n", script.About, l.URL(cfg.HTTP.TLS.Enabled()), demo.Signs)
	player := demo.Player{Graph: fabrics[0].Graph, Script: script, Printer: printer, Dir: cfg.DataDir, Seed: f.seed, Repeat: f.stay}
	story := func(ctx context.Context) error {
		if err := p.EnsureTopics(ctx); err != nil {
			return err
		}
		return player.Run(ctx)
	}
	err = p.Run(cmd.Context(), l, func(ctx context.Context) ([]app.Step, error) {
		steps, err := parts.Steps(ctx)
		player.Sink = p.Emitter()
		return append([]app.Step{{{Name: "story", Run: story}}}, steps...), err
	})
	if err != nil && cmd.Context().Err() == nil {
		return err
	}
	return printer.End(cmd.OutOrStdout(), f.json)
}

// prepareDemo sets what a story needs: its fabric, and an embedded Kafka and ClickHouse.
func prepareDemo(cfg *config.Config, script *scenario.Script) {
	cfg.Log.Level = quieter(cfg.Log.Level)
	entry := config.DefaultFabric()
	entry.Name, entry.Topology, entry.Partition, entry.Analysis.Window.Interval = script.Fabric.Name, script.Fabric.Topology, 0, script.Interval
	entry.Analysis.CompleteWithin = 0 // nothing is late in a story
	cfg.Fabrics = []config.Fabric{entry}
	cfg.Kafka.Embedded, cfg.Kafka.Client.Brokers = true, nil
	cfg.Store.Embedded, cfg.Store.Server = true, store.ServerConfig{}
}

// listener returns how to open the page's socket: on a free port if none is given and the default one is in use.
func (f *demoFlags) listener(cmd *cobra.Command, cfg *config.Config) (func(*app.Process) (*app.Listeners, error), error) {
	if f.listen == "" {
		return (*app.Process).ListenAnywhere, nil
	}
	cfg.HTTP.Listen = f.listen
	if err := cfg.HTTP.Validate(); err != nil {
		return nil, ofFlags(cmd, err)
	}
	return (*app.Process).ListenBeside, nil
}

// quieter raises the log level, so that the log does not interrupt the story.
func quieter(level string) string {
	if level == "info" {
		return "warn"
	}
	return level
}
