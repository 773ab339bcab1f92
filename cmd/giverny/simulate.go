package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/simulate/scenario"
)

func newSimulate(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "simulate", Short: "Try things on a simulated fabric"}
	cmd.AddCommand(newSimulateRun(g), newSimulateStories(), newSimulatePattern(), newSimulateExplain())
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
	kafka    bool
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
		Long: `Play a story on a simulated fabric, built in or from a YAML file.

With --out it writes what a site would have kept, and the truth beside it: Blue
Waters day files (YYYYMMDD, on a torus), jobs.jsonl, failures.tsv and
truth.jsonl: for each interval the causes, and for each congested link who loads
it and who is to blame.

With --kafka the simulated devices report into Kafka, for analysers that run; the
fabric must be configured under the story's name of it.`,
		Example: "  giverny simulate run enzo --out enzo-day\n  giverny simulate run story.yaml --kafka --speed 10",
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
	flags.BoolVar(&f.kafka, "kafka", false, "report into Kafka")
	flags.Float64Var(&f.speed, "speed", 0, "simulated seconds per second; 0: as fast as possible")
	flags.Uint64Var(&f.seed, "seed", 1, "of everything random in the story")
	flags.StringVar(&f.start, "start", "2026-01-05T00:00:00Z", "when the story begins, RFC 3339; or now")
	flags.DurationVar(&f.duration, "for", 0, "how long the story takes; 0: its own length")
	return cmd
}

func simulateRun(cmd *cobra.Command, cfg config.Config, log *slog.Logger, f simulateFlags, name string) error {
	if f.out == "" && !f.kafka {
		return errors.New("nowhere to go: give --out DIR, or --kafka")
	}
	script, err := readStory(name)
	if err != nil {
		return err
	}
	if f.duration > 0 {
		script.Stretch(f.duration)
	}
	start := time.Now()
	if f.start != "now" {
		if start, err = time.Parse(time.RFC3339, f.start); err != nil {
			return fmt.Errorf("--start: %w", err)
		}
	}
	runner, err := scenario.New(nil, script, f.seed, start.UnixNano())
	if err != nil {
		return err
	}
	player := &player{runner: runner, speed: f.speed, progress: cmd.ErrOrStderr()}
	if f.out != "" {
		closeAll, err := player.recordTo(f.out, runner.Graph().Grid() != nil && script.Fabric.Kind == "gemini")
		if err != nil {
			return err
		}
		defer closeAll()
	}
	if !f.kafka {
		return player.play(cmd.Context())
	}
	p := newProcess(cfg, log)
	if err := p.useKafka(); err != nil {
		return err
	}
	if p.broker != nil {
		return errors.New("--kafka needs brokers: the embedded broker lives inside `giverny up`; set kafka.embedded: false and kafka.brokers")
	}
	return p.runSteps(cmd.Context(), []lifecycle.Stage{{Name: "simulation", Run: func(ctx context.Context) error {
		if err := p.client.EnsureTopics(ctx, partitionsOf(cfg.Fabrics)); err != nil {
			return err
		}
		player.sink = emitter.New(kafka.NewProducer(p.client), fabricPartitions(cfg.Fabrics))
		return player.play(ctx)
	}}})
}

// readStory reads a story from a file, or takes the built-in one of that name.
func readStory(name string) (*scenario.Script, error) {
	if !strings.ContainsAny(name, "./\\") {
		return scenario.Builtin(name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return scenario.Read(file, name)
}

// player plays a story to files, into Kafka, or both.
type player struct {
	runner   *scenario.Runner
	speed    float64
	recorder *scenario.Recorder // may be nil
	sink     *emitter.Emitter   // may be nil
	progress io.Writer
}

func (p *player) play(ctx context.Context) error {
	began, shown, intervals := time.Now(), time.Now(), 0
	fabric := p.runner.Graph().Fabric()
	var first int64
	for step, ok := p.runner.Step(); ok && ctx.Err() == nil; step, ok = p.runner.Step() {
		if first == 0 {
			first = step.Interval.StartNanos
		}
		if p.speed > 0 {
			passed := time.Duration(float64(step.Interval.EndNanos()-first) / p.speed)
			if !sleepUntil(ctx, began.Add(passed)) {
				break
			}
		}
		if err := p.hand(ctx, fabric, &step); err != nil {
			return err
		}
		if intervals++; time.Since(shown) > time.Second {
			shown = time.Now()
			fmt.Fprintf(p.progress, "simulate: %v simulated\n", time.Duration(step.Interval.EndNanos()-first))
		}
	}
	fmt.Fprintf(p.progress, "simulate: %d intervals in %.1f s\n", intervals, time.Since(began).Seconds())
	return nil
}

func (p *player) hand(ctx context.Context, fabric string, step *scenario.Step) error {
	if p.recorder != nil {
		if err := p.recorder.Record(p.runner, step); err != nil {
			return err
		}
	}
	if p.sink == nil {
		return nil
	}
	if err := p.sink.EmitEvents(ctx, fabric, step.Events); err != nil {
		return err
	}
	for _, b := range step.Batches {
		if err := p.sink.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// recordTo opens the files of a directory.
func (p *player) recordTo(dir string, days bool) (closeAll func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			f.Close()
		}
	}
	create := func(name string) (*os.File, error) {
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			files = append(files, f)
		}
		return f, err
	}
	r := &scenario.Recorder{}
	for name, into := range map[string]*io.Writer{"jobs.jsonl": &r.Jobs, "failures.tsv": &r.Failures, "truth.jsonl": &r.Truth} {
		f, err := create(name)
		if err != nil {
			closeAll()
			return nil, err
		}
		*into = f
	}
	if days {
		open := map[string]*os.File{}
		r.Day = func(date string) (io.Writer, error) {
			if open[date] == nil {
				f, err := create(date)
				if err != nil {
					return nil, err
				}
				open[date] = f
			}
			return open[date], nil
		}
	}
	p.recorder = r
	return closeAll, nil
}
