package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/test/chaos"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// The processes of a cluster under faults: `giverny analyze`, and an agent like `giverny collect` with another
// source of counters.
const (
	analyseCommand = "chaos-analyse" // CONFIG
	agentCommand   = "chaos-agent"   // CONFIG, see agentOrder
)

// runAnalyser runs `giverny analyze --config FILE`.
func runAnalyser(ctx context.Context, args []string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	cfg, err := config.Load(args[0], nil)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	fabrics, err := LoadFabrics(cfg.Fabrics, log)
	if err != nil {
		return err
	}
	return New(cfg, "test", log).RunRole(ctx, Role{Analyse: true}, fabrics)
}

// agentOrder is the configuration of an agent: a JSON file.
type agentOrder struct {
	Name       string
	Config     string // of giverny
	Topology   string // the specification of the fabric
	Share, All int    // it reads the devices whose number modulo All is Share
	Proxy      string // for all connections to Kafka
	Spool      string // folder
	Journal    string // file
	Control    string // file, see control
}

// control is the part of a running agent that faults change: a JSON file that is replaced. Without the file it is zero.
type control struct {
	ClockNanos int64 // how far its clock is ahead
	Load       int   // multiple of the usual readings; 0 is 1
}

func readControl(path string) (c control) {
	if text, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(text, &c) // it is replaced atomically
	}
	c.Load = max(c.Load, 1)
	return c
}

func writeControl(path string, c control) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// truthCounter is the counter that agents read.
const truthCounter = "gemini.credit_stall_ns"

// chaosTruth defines the counters: a part of the fabric is congested.
var chaosTruth = chaos.Truth{BasePercent: func(device, _ string) int {
	if strings.HasPrefix(device, "0,") {
		return 40
	}
	return 2
}}

// truthSource is a collector of one device, an agent's ports, whose counters are a function of time. It is used
// by one poller, whose polls do not overlap.
type truthSource struct {
	order *agentOrder
	ports []schema.PortName

	mu   sync.Mutex
	read chaos.Reading // guarded by mu; the last
}

func newTruthSource(order *agentOrder) (*truthSource, error) {
	g, err := topology.Parse("f", order.Topology)
	if err != nil {
		return nil, err
	}
	s := &truthSource{order: order}
	for id := range schema.LinkID(g.NumLinks()) {
		if l := g.Link(id); int(l.From)%order.All == order.Share {
			s.ports = append(s.ports, schema.PortName{Device: g.Device(l.From).Name, Port: l.FromPort})
		}
	}
	return s, nil
}

func (s *truthSource) Name() string  { return "truth" }
func (s *truthSource) Epoch() uint64 { return 1 }

func (s *truthSource) Devices(context.Context) ([]collectors.Device, error) {
	return []collectors.Device{s}, nil
}

// Read reads all ports at the last full second of true time, and under load at as many earlier times.
func (s *truthSource) Read(_ context.Context, r *collectors.Reading) error {
	c := readControl(s.order.Control)
	at := time.Now().Truncate(time.Second).UnixNano()
	for n := c.Load - 1; n >= 0; n-- {
		nanos := at - int64(n)*int64(time.Second)/int64(c.Load)
		for _, p := range s.ports {
			r.RowAt("truth", p, nanos+c.ClockNanos)
			r.Put(truthCounter, chaosTruth.Counter(p.Device, p.Port, nanos))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = chaos.Reading{Agent: s.order.Name, TrueNanos: at, StatedNanos: at + c.ClockNanos}
	return nil
}

// witnessed is an agent's sink that records what the system has acknowledged.
type witnessed struct {
	sink    emitter.Sink
	source  *truthSource
	journal *chaos.Journal
	queue   *spool.Spool
	decoder envelope.Decoder
	batch   schema.CounterBatch

	taken, safe int64 // true times of the last acknowledged reading, and of the last one known to have left the spool
}

// Produce records the readings of a record, in parts of a second if there are any. A partial poll could not be
// recorded, but does not occur: a poll is much smaller than the limit of a record.
func (w *witnessed) Produce(ctx context.Context, r kafka.Record) error {
	if err := w.decoder.Counters(r.Payload, &w.batch); err != nil {
		return err
	}
	w.source.mu.Lock()
	last := w.source.read
	w.source.mu.Unlock()
	var readings []chaos.Reading
	for row := 0; row < w.batch.Rows(); row += len(w.source.ports) {
		stated := w.batch.TimeNanos[row]
		readings = append(readings, chaos.Reading{Agent: last.Agent, TrueNanos: stated - last.StatedNanos + last.TrueNanos, StatedNanos: stated})
	}
	if w.batch.Rows()%len(w.source.ports) != 0 {
		return fmt.Errorf("a record of %d rows, of an agent with %d ports", w.batch.Rows(), len(w.source.ports))
	}
	for _, one := range readings {
		if err := w.journal.Begun(one); err != nil {
			return err
		}
	}
	if w.queue.Len() == 0 {
		w.safe = w.taken
	}
	err := w.sink.Produce(ctx, r)
	if err == nil {
		for _, one := range readings {
			w.taken = one.TrueNanos
			if err := w.journal.Acked(one); err != nil {
				return err
			}
		}
	}
	// If a full disk rejects a record, earlier ones may be lost, too.
	if strings.Contains(w.queue.State(), spool.DropDisk) {
		err = errors.Join(err, w.journal.Lost(last.Agent, w.safe+1, w.taken))
	}
	return err
}

// runChaosAgent runs the stages of agent.stages with a truthSource, an adjustable clock and its own connection to
// Kafka.
func runChaosAgent(ctx context.Context, args []string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	var order agentOrder
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &order); err != nil {
		return err
	}
	cfg, err := config.Load(order.Config, nil)
	if err != nil {
		return err
	}
	source, err := newTruthSource(&order)
	if err != nil {
		return err
	}
	journal, err := chaos.OpenJournal(order.Journal)
	if err != nil {
		return err
	}
	defer journal.Close()
	log, reg := slog.New(slog.NewTextHandler(os.Stderr, nil)), prometheus.NewRegistry()
	metrics, err := kafka.NewMetrics(reg)
	if err != nil {
		return err
	}
	client, err := kafka.NewClient(cfg.Kafka.Client, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, order.Proxy)
	}, metrics, log)
	if err != nil {
		return err
	}
	defer client.Close()
	spooling := spool.DefaultConfig()
	spooling.Dir, spooling.MaxBytes = filepath.Join(order.Spool, "spool"), chaosSpoolBytes
	queue, err := spool.Open(spooling, reg, log)
	if err != nil {
		return err
	}
	producer := kafka.NewProducer(client)
	producer.SetClock(func() time.Time {
		return time.Now().Add(time.Duration(readControl(order.Control).ClockNanos))
	})
	interval := cfg.Fabrics[0].Interval()
	sink, err := kafka.NewSpoolingProducer(producer, queue, interval/2)
	if err != nil {
		return err
	}
	agent, err := collectors.NewAgent(order.Name, emitter.New(&witnessed{sink: sink, source: source, journal: journal, queue: queue}, config.PartitionOf(cfg.Fabrics)), log, reg)
	if err != nil {
		return err
	}
	polling := collectors.DefaultConfig()
	polling.Fabric, polling.Interval = cfg.Fabrics[0].Name, interval
	poller, err := collectors.New(polling, source, agent)
	if err != nil {
		return err
	}
	group := lifecycle.New(log, cfg.StopTimeout)
	group.Add(lifecycle.Stage{Name: "poller", Run: poller.Run})
	group.Add(lifecycle.Stage{Name: "spool", Run: func(ctx context.Context) error {
		defer queue.Close()
		return sink.Run(ctx)
	}})
	return group.Run(ctx)
}

// chaosSpoolBytes is more than an agent spools in any fault of the walk, because the history would count drops of
// a full spool as losses of the system.
const chaosSpoolBytes = 64 << 20
