package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/logs"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/pipeline"
	"github.com/giverny/giverny/schema"
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

// demoSigns says what stands before each line.
const demoSigns = "~ story   + new region   > change of its severity   - its end   ! the whole network   ? why, and what to do"

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
		Example: "  giverny demo\n  giverny demo --for 60s --json",
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
	flags.DurationVar(&f.duration, "for", 0, "how long the story takes; 0: its own length")
	flags.BoolVar(&f.json, "json", false, "end with one line of JSON")
	flags.StringVar(&f.keep, "keep", "", "directory to keep the data in (default: a temporary one)")
	flags.StringVar(&f.listen, "listen", "", "address of the page, as 127.0.0.1:8080 (default: http.listen, or a free port where that is in use)")
	flags.StringVar(&f.story, "story", "demo", "which story to play: "+fmt.Sprint(scenario.BuiltinNames()))
	flags.Uint64Var(&f.seed, "seed", 1, "seed of all random choices in the story")
	flags.BoolVar(&f.stay, "stay", false, "repeat it until interrupted")
	return cmd
}

func runDemo(cmd *cobra.Command, cfg config.Config, f demoFlags) (err error) {
	if cfg.DataDir = f.keep; f.keep == "" {
		if cfg.DataDir, err = os.MkdirTemp("", "giverny-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(cfg.DataDir)
	}
	if err := checkRoom(cfg.DataDir, demoBytes, freeBytes); err != nil {
		return err
	}
	script, err := scenario.Builtin(f.story)
	if err != nil {
		return err
	}
	if err := stretch(script, f.duration); err != nil {
		return err
	}
	cfg.Log.Level = quieter(cfg.Log.Level)
	log := logs.New(cfg.Log, cmd.ErrOrStderr())
	defer logs.Flush(log)
	entry := config.DefaultFabric()
	entry.Name, entry.Topology, entry.Partition, entry.Analysis.Window.Interval = script.Fabric.Name, script.Fabric.Topology, 0, script.Interval
	cfg.Fabrics = []config.Fabric{entry}
	cfg.Kafka.Embedded, cfg.Kafka.Client.Brokers = true, nil
	cfg.Store.Embedded, cfg.Store.Server = true, store.ServerConfig{}
	fabrics, err := app.LoadFabrics(cfg.Fabrics, log)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if f.json {
		out = cmd.ErrOrStderr()
	}
	printer := newDemoPrinter(out, fabrics[0].Graph.NumLinks())
	listen, err := f.listener(&cfg)
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
	fmt.Fprintf(out, "%s\nThe page: %s\n\n%s\n\n", script.About, l.URL(cfg.HTTP.TLS.Enabled()), demoSigns)
	player := storyPlayer{fabric: fabrics[0], script: script, printer: printer, seed: f.seed, again: f.stay,
		room: func() error { return checkRoom(cfg.DataDir, demoReserve, freeBytes) }}
	err = p.Run(cmd.Context(), l, func(ctx context.Context) ([]app.Step, error) {
		steps, err := parts.Steps(ctx)
		player.sink = p.Emitter()
		return append([]app.Step{{{Name: "story", Run: player.run}}}, steps...), err
	})
	if err != nil && cmd.Context().Err() == nil {
		return err
	}
	return printer.end(cmd.OutOrStdout(), f.json)
}

// listener is how the page's address is taken: a free port where none is given and the usual one is in use.
func (f *demoFlags) listener(cfg *config.Config) (func(*app.Process) (*app.Listeners, error), error) {
	if f.listen == "" {
		return (*app.Process).ListenAnywhere, nil
	}
	cfg.HTTP.Listen = f.listen
	if err := cfg.HTTP.Validate(); err != nil {
		return nil, fmt.Errorf("--%w", err) // it begins with the key, listen
	}
	return (*app.Process).ListenBeside, nil
}

// quieter keeps the log from talking into the story.
func quieter(level string) string {
	if level == "info" {
		return "warn"
	}
	return level
}

// storyPlayer plays a script in real time, once or again and again, and sends what
// its devices report.
type storyPlayer struct {
	fabric  app.Fabric
	script  *scenario.Script
	sink    *emitter.Emitter
	printer *demoPrinter
	seed    uint64
	again   bool
	room    func() error // fails where the disk is full
}

func (s *storyPlayer) run(ctx context.Context) error {
	for seed := s.seed; ; seed++ {
		if err := s.play(ctx, seed); err != nil || ctx.Err() != nil || !s.again {
			return err
		}
		s.printer.repeats()
	}
}

// settle is how many intervals the analysis gets after the story's end.
const settle = 2

func (s *storyPlayer) play(ctx context.Context, seed uint64) error {
	interval := s.script.Interval
	start := time.Now().Truncate(interval).Add(interval)
	runner, err := scenario.New(s.fabric.Graph, s.script, seed, start.UnixNano())
	if err != nil {
		return err
	}
	s.printer.begin(start)
	for {
		step, ok := runner.Step()
		if !ok {
			sleepUntil(ctx, time.Now().Add(settle*interval))
			return nil
		}
		if !sleepUntil(ctx, time.Unix(0, step.Interval.EndNanos())) {
			return nil
		}
		s.printer.happened(step.Events)
		if err := s.room(); err != nil {
			return err
		}
		if err := sendStep(ctx, s.sink, s.fabric.Name, &step); err != nil {
			return err
		}
	}
}

// sleepUntil returns false if ctx ends first.
func sleepUntil(ctx context.Context, t time.Time) bool {
	return retry.Sleep(ctx, time.Until(t))
}

// demoPrinter prints the story and the regions as they are found, and sums up.
type demoPrinter struct {
	mu        sync.Mutex // guards what follows
	out       io.Writer
	start     time.Time
	summary   demoSummary
	seconds   []float64 // from counter to store, by interval
	regions   map[uint64]*demoVerdict
	announced map[uint64]bool   // regions whose beginning was printed, and their end not
	names     map[string]string // of jobs, by id
}

type demoSummary struct {
	Intervals int               `json:"intervals"`
	Links     int               `json:"links"`
	Samples   int               `json:"samples"`
	Regions   map[string]int    `json:"regions"`
	Dropped   map[string]uint64 `json:"dropped"`
	Latency   struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	} `json:"latency_seconds"`
}

func newDemoPrinter(out io.Writer, links int) *demoPrinter {
	return &demoPrinter{out: out, regions: map[uint64]*demoVerdict{}, announced: map[uint64]bool{}, names: map[string]string{}, summary: demoSummary{Links: links,
		Regions: map[string]int{"Low": 0, "Medium": 0, "High": 0}, Dropped: map[string]uint64{}}}
}

func (t *demoPrinter) begin(start time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.start = start
}

func (t *demoPrinter) repeats() {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprint(t.out, "\nThe story begins again; Ctrl-C ends it.\n\n")
}

func (t *demoPrinter) line(nanos int64, mark, format string, args ...any) {
	at := time.Duration(nanos - t.start.UnixNano()).Round(time.Second)
	fmt.Fprintf(t.out, "%02d:%02d %s %s\n", int(at.Minutes()), int(at.Seconds())%60, mark, schema.OneLine(fmt.Sprintf(format, args...)))
}

func (t *demoPrinter) happened(events []schema.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range events {
		if e.Kind == schema.Story {
			t.line(e.TimeNanos, "~", "%s", e.Detail)
		}
	}
}

// markOf is the mark before an event of a region or of the network; empty for
// what the story itself tells.
func markOf(kind schema.EventKind) string {
	switch kind {
	case schema.RegionBorn, schema.RegionSplit:
		return "+"
	case schema.RegionEnded, schema.RegionMerged:
		return "-"
	case schema.RegionSeverity:
		return ">"
	case schema.CongestionBegan, schema.CongestionEnded:
		return "!"
	}
	return ""
}

// Name of the sink.
func (t *demoPrinter) Name() string { return "demo" }

// Put prints what has happened to an interval's regions.
func (t *demoPrinter) Put(_ context.Context, r *schema.IntervalResult) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := r.Snapshot
	if s.LastReadNanos > 0 {
		t.seconds = append(t.seconds, time.Since(time.Unix(0, s.LastReadNanos)).Seconds())
	}
	t.summary.Intervals++
	t.summary.Samples += s.Samples
	for reason, n := range r.Dropped {
		t.summary.Dropped[reason] += n
	}
	for i := range r.Regions {
		t.summary.Regions[r.Regions[i].Severity.String()]++
	}
	for _, e := range r.Events {
		switch mark := markOf(e.Kind); {
		case mark != "" && e.RegionID != 0:
			t.line(s.Interval.EndNanos(), mark, "%s [%d]", e.Detail, e.RegionID)
		case mark != "":
			t.line(s.Interval.EndNanos(), mark, "%s", e.Detail)
		}
	}
	t.verdicts(r)
	return nil
}

// end prints the summary.
func (t *demoPrinter) end(w io.Writer, asJSON bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.Sort(t.seconds)
	if n := len(t.seconds); n > 0 {
		t.summary.Latency.P50, t.summary.Latency.P99 = t.seconds[n/2], t.seconds[min(n-1, n*99/100)]
	}
	if asJSON {
		return json.NewEncoder(w).Encode(t.summary)
	}
	s := t.summary
	_, err := fmt.Fprintf(w, "\n%d intervals of %d links analysed, %d counter readings; regions, counted once per interval: %d Low, %d Medium, %d High; counter to store %.2f s (p99 %.2f s)\n",
		s.Intervals, s.Links, s.Samples, s.Regions["Low"], s.Regions["Medium"], s.Regions["High"], s.Latency.P50, s.Latency.P99)
	return err
}
