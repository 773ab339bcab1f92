package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/pipeline"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestMain lets the test binary be the processes started by the tests: the embedded
// engine's child, and a giverny under load.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	run := map[string]func(context.Context, []string) error{
		EngineCommand: ServeEngine, loadCommand: runLoad, analyseCommand: runAnalyser, agentCommand: runChaosAgent,
	}[os.Args[1]]
	if run == nil {
		os.Exit(m.Run())
	}
	if err := run(context.Background(), os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// load generates the counters of a whole torus, read at both ends of each link, with
// known values: link l always stalls percent(l) percent of the time.
type load struct {
	batch   schema.CounterBatch
	links   []schema.LinkID // by row
	percent func(schema.LinkID) float64
}

func loadPercent(l schema.LinkID) float64 { return float64(l%97) / 4 }

func newLoadSource(g *topology.Graph) *load {
	s := &load{percent: loadPercent, batch: schema.CounterBatch{Fabric: g.Fabric(), Source: "load", Agent: "load",
		Columns: []schema.CounterColumn{{Name: "gemini.credit_stall_ns"}, {Name: "gemini.inq_stall_ns"}, {Name: "gemini.traffic_bytes"}}}}
	b := &s.batch
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		for _, end := range [2]schema.PortName{{Device: g.Device(l.From).Name, Port: l.FromPort}, {Device: g.Device(l.To).Name, Port: l.ToPort}} {
			b.PortIndex = append(b.PortIndex, uint32(len(b.Ports)))
			b.Ports = append(b.Ports, end)
			s.links = append(s.links, id)
		}
	}
	b.TimeNanos = make([]int64, len(s.links))
	for i := range b.Columns {
		b.Columns[i].Values = make([]uint64, len(s.links))
	}
	return s
}

// read returns the values of all counters at an instant; they are 48 bits wide.
func (s *load) read(nanos int64) *schema.CounterBatch {
	for i, l := range s.links {
		stalled := uint64(float64(nanos/1e6) * 1e4 * s.percent(l)) // whole: nanos x percent / 100
		s.batch.TimeNanos[i] = nanos
		s.batch.Columns[0].Values[i] = stalled & (1<<48 - 1)
		s.batch.Columns[1].Values[i] = stalled / 2 & (1<<48 - 1)
		s.batch.Columns[2].Values[i] = uint64(nanos) & (1<<48 - 1) // 1 GB/s
	}
	return &s.batch
}

// underLoad is a process with everything embedded that analyses a load, one interval
// per second, until ctx is cancelled.
type underLoad struct {
	dir, topology string
	onAcked       func(nanos int64) // after Kafka has acknowledged a poll
	onStored      func(*schema.IntervalResult)
	hot           bool // half of the links stall for 40% of the time, with regions that outlive a restart
}

// hotPercent is a load with a High region.
func hotPercent(links int) func(schema.LinkID) float64 {
	return func(l schema.LinkID) float64 {
		if int(l) < links/2 {
			return 40
		}
		return 0
	}
}

func (u underLoad) run(ctx context.Context) error {
	cfg := config.Default()
	cfg.DataDir, cfg.HTTP.Listen, cfg.Store.Library = u.dir, "127.0.0.1:0", os.Getenv("GIVERNY_TEST_LIBRARY")
	entry := config.DefaultFabric()
	entry.Name, entry.Topology, entry.Partition, entry.Analysis.Window.Interval = "load", u.topology, 0, time.Second
	entry.Analysis.Window.ClockLateness = 15 * time.Second // for a busy machine
	if u.hot {
		entry.Analysis.Track.GapIntervals = 300
	}
	cfg.Fabrics = []config.Fabric{entry}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if path := os.Getenv("GIVERNY_TEST_LOG"); path != "" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		log = slog.New(slog.NewTextHandler(file, nil))
	}
	fabrics, err := LoadFabrics(cfg.Fabrics, log)
	if err != nil {
		return err
	}
	p := New(cfg, "test", log)
	parts, err := p.Make(Role{Analyse: true, Sinks: []pipeline.Sink{storedSink{u.onStored}}}, fabrics)
	if err != nil {
		return err
	}
	l, err := p.Listen()
	if err != nil {
		return err
	}
	return p.Run(ctx, l, func(ctx context.Context) ([]Step, error) {
		steps, err := parts.Steps(ctx)
		source := lifecycle.Stage{Name: "load", Run: func(ctx context.Context) error {
			source := newLoadSource(fabrics[0].Graph)
			if u.hot {
				source.percent = hotPercent(fabrics[0].Graph.NumLinks())
			}
			return u.poll(ctx, source, p.Emitter())
		}}
		return append([]Step{{source}}, steps...), err
	})
}

// storedSink calls back for every stored interval.
type storedSink struct {
	stored func(*schema.IntervalResult) // may be nil
}

func (s storedSink) Name() string { return "test" }

func (s storedSink) Put(_ context.Context, r *schema.IntervalResult) error {
	if s.stored != nil {
		s.stored(r)
	}
	return nil
}

func (u underLoad) poll(ctx context.Context, s *load, sink *emitter.Emitter) error {
	next := time.Now().Truncate(time.Second).Add(time.Second)
	for retry.Sleep(ctx, time.Until(next)) {
		if err := sink.Emit(ctx, s.read(next.UnixNano())); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if u.onAcked != nil {
			u.onAcked(next.UnixNano())
		}
		next = time.Now().Truncate(time.Second).Add(time.Second)
	}
	return nil
}
