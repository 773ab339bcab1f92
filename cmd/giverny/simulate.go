package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/simulate/playback"
	"github.com/giverny/giverny/simulate/scenario"
)

func newSimulate(g *globals) *cobra.Command {
	cmd := newFolder("simulate", "Simulate fabrics, incidents and communication patterns")
	cmd.AddCommand(newSimulateRun(g), newSimulateStories(), newSimulatePattern(), newSimulateExplain(), newSimulateCollective())
	return cmd
}

func newSimulateStories() *cobra.Command {
	return &cobra.Command{
		Use:   "stories",
		Short: "List the built-in stories",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range scenario.BuiltinNames() {
				script, err := scenario.Builtin(name)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-10s %s, %v at intervals of %v: %s\n", name, script.Fabric.Topology, script.Duration, script.Interval, script.About)
			}
			return nil
		},
	}
}

type simulateFlags struct {
	out      string
	links    string
	topology string
	fabric   string
	kafka    bool
	devices  bool
	speed    float64
	seed     uint64
	start    string
	duration time.Duration
}

func newSimulateRun(g *globals) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "run STORY|FILE",
		Short: "Play a story: into Kafka, or to files, faster than real time",
		Long: `Simulate a fabric with a story, built in or from a YAML file.

With --out it writes the files that a site would keep, and the ground truth:
links.csv (the links CSV of giverny segment with a leading column time, the start
of the interval), jobs.jsonl, failures.tsv, traffic.csv, on a Gemini torus Blue
Waters day files (YYYYMMDD), and truth.jsonl: for each interval the causes, and
for each congested link who loads it and who is to blame.

With --topology the story plays on another fabric, given by a specification or a
file. Jobs placed by numbers of hosts, and links, switches and hosts that fail, get
their counterparts: on a fabric with fewer hosts than the story's, host 64 of 128 is
host 8 of 16. Boxes of nodes need a torus or mesh. If the story does not fit, the
error says which ones do. NICs have the speed of their hosts' links, and traffic is
scaled with it, so that a story of full links is one on links of any speed. Traffic
that would fill a link of this fabric more than any of the story's own is reduced.

With --kafka the simulated devices send to Kafka, that of a giverny up with the same
data_dir too, for running analysers; the fabric must be configured under the name that
the story uses, or that --fabric gives, with intervals no shorter than the story's.`,
		Example: "  giverny simulate run enzo --out enzo-day\n  giverny simulate run incast --topology fabric.txt --out mine --links links.csv.gz\n  giverny simulate run story.yaml --kafka --speed 10",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, log, err := g.load(cmd)
			if err != nil {
				return err
			}
			return simulateRun(cmd, cfg, log, f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "directory to write to")
	flags.StringVar(&f.links, "links", "links.csv", "with --out: the links CSV's name; compressed if it ends in .gz; empty: none")
	flags.StringVar(&f.topology, "topology", "", "specification or topology file to use instead of the story's")
	flags.StringVar(&f.fabric, "fabric", "", "name of the fabric instead of the story's; with --kafka and without --topology, the topology configured for it")
	flags.BoolVar(&f.kafka, "kafka", false, "send to Kafka")
	flags.BoolVar(&f.devices, "devices-only", false, "with --kafka: leave out jobs, failures and traffic, so that feeds provide them")
	flags.Float64Var(&f.speed, "speed", 0, "simulated seconds per second; 0: as fast as possible")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of all random choices in the story")
	flags.StringVar(&f.start, "start", "2026-01-05T00:00:00Z", "when the story begins, RFC 3339; or now")
	flags.DurationVar(&f.duration, "for", 0, "play the story in this time, its events in proportion; 0: in its own")
	return cmd
}

func simulateRun(cmd *cobra.Command, cfg config.Config, log *slog.Logger, f simulateFlags, name string) error {
	switch {
	case f.out == "" && !f.kafka:
		return errors.New("no output given: use --out DIR or --kafka")
	case f.out == "" && cmd.Flags().Changed("links"):
		return errors.New("--links names a file in the directory of --out: give --out DIR")
	case f.devices && !f.kafka:
		return errors.New("--devices-only is of what is sent to Kafka: give --kafka")
	case !(f.speed >= 0):
		return fmt.Errorf("--speed %v: want simulated seconds per second, or 0 for as fast as possible", f.speed)
	}
	reading := endAtOnce(cmd)
	script, err := playback.Read(name)
	reading()
	if err != nil {
		return err
	}
	if err := stretch(script, f.duration); err != nil {
		return err
	}
	start := time.Now()
	if f.start != "now" {
		if start, err = time.Parse(time.RFC3339, f.start); err != nil {
			return fmt.Errorf("--start %q: want now, or RFC 3339, such as 2026-01-05T00:30:00Z", f.start)
		}
	}
	if err := f.chooseFabric(script, &cfg); err != nil {
		return err
	}
	graph, err := storyGraph(script, f.topology, log)
	if err != nil {
		return err
	}
	runner, err := scenario.New(graph, script, f.seed, start.UnixNano())
	if err != nil && f.topology != "" {
		return notPlayable(graph, f.topology, err)
	}
	if err != nil {
		return err
	}
	player := &playback.Player{Runner: runner, Speed: f.speed, Live: f.start == "now", DevicesOnly: f.devices, Progress: cmd.ErrOrStderr()}
	if f.out != "" {
		if player.Files, err = playback.NewFiles(f.out, f.links, runner); err != nil {
			return err
		}
	}
	if !f.kafka {
		err := player.Play(cmd.Context())
		if err == nil && f.out != "" && f.links != "" {
			fmt.Fprintf(player.Progress, "simulate: to find the cause, run: %s\n", diagnoseCommand(script, &f))
		}
		return err
	}
	return app.New(cfg, version, log).Produce(cmd.Context(), func(ctx context.Context, sink *emitter.Emitter) error {
		player.Sink = sink
		return player.Play(ctx)
	})
}

// chooseFabric gives the story the fabric of --fabric, with --kafka a configured one.
func (f *simulateFlags) chooseFabric(script *scenario.Script, cfg *config.Config) error {
	script.Fabric.Name = cmp.Or(f.fabric, script.Fabric.Name)
	if !f.kafka {
		return nil
	}
	at := slices.IndexFunc(cfg.Fabrics, func(known config.Fabric) bool { return known.Name == script.Fabric.Name })
	if at < 0 {
		var names []string
		for _, known := range cfg.Fabrics {
			names = append(names, known.Name)
		}
		return fmt.Errorf("the story simulates fabric %q, which is not configured: add it under fabrics, or give one that is with --fabric (%s)", script.Fabric.Name, cmp.Or(strings.Join(names, ", "), "none yet"))
	}
	known := &cfg.Fabrics[at]
	if f.fabric != "" && f.topology == "" {
		f.topology = known.Topology
	}
	if known.Interval() < script.Interval { // two readings make a value
		return fmt.Errorf("fabric %q is configured with intervals of %v, but the devices of the story report every %v: set interval: %v for the fabric", known.Name, known.Interval(), script.Interval, script.Interval)
	}
	return nil
}

// diagnoseCommand is the command line that diagnoses the files written.
func diagnoseCommand(script *scenario.Script, f *simulateFlags) string {
	of := func(name string) string { return filepath.Join(f.out, name) }
	return fmt.Sprintf("giverny diagnose --topology %s --interval %v --links %s --jobs %s --traffic %s --failures %s",
		cmp.Or(f.topology, script.Fabric.Topology), script.Interval, of(f.links), of("jobs.jsonl"), of("traffic.csv"), of("failures.tsv"))
}
