package command_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// bus is a Kafka in memory: a log per kind.
type bus struct {
	mu      sync.Mutex
	logs    map[envelope.Kind][]kafka.Message // guarded by mu
	changed chan struct{}                     // guarded by mu; closed when a log grows
}

func newBus() *bus {
	return &bus{logs: map[envelope.Kind][]kafka.Message{}, changed: make(chan struct{})}
}

func (b *bus) Produce(_ context.Context, r kafka.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.logs[r.Kind] = append(b.logs[r.Kind], kafka.Message{Fabric: r.Fabric, Partition: r.Partition, Payload: r.Payload, Offset: int64(len(b.logs[r.Kind])), Time: time.Now()})
	close(b.changed)
	b.changed = make(chan struct{})
	return nil
}

// tail reads a log from its start or its end.
type tail struct {
	bus  *bus
	kind envelope.Kind
	next int
	read atomic.Int64
}

func (b *bus) fromStart(kind envelope.Kind) *tail { return &tail{bus: b, kind: kind} }

func (b *bus) fromEnd(kind envelope.Kind) *tail {
	b.mu.Lock()
	defer b.mu.Unlock()
	return &tail{bus: b, kind: kind, next: len(b.logs[kind])}
}

func (t *tail) ReadUpTo() time.Time { return time.Unix(0, t.read.Load()) }

func (t *tail) Run(ctx context.Context, handle func(context.Context, kafka.Message) error) error {
	for ctx.Err() == nil {
		t.bus.mu.Lock()
		rest, changed := t.bus.logs[t.kind][t.next:], t.bus.changed
		t.bus.mu.Unlock()
		for _, m := range rest {
			t.next++
			if err := handle(ctx, m); err != nil {
				return err
			}
		}
		if len(rest) > 0 {
			continue
		}
		t.read.Store(time.Now().UnixNano())
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// results returns all answers of agents.
func (b *bus) results(t *testing.T) (list []schema.CommandResult) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var decoder envelope.Decoder
	for _, m := range b.logs[envelope.Results] {
		var err error
		if list, err = decoder.Results(m.Payload, list); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// statuses of a command, in the order of the answers.
func (b *bus) statuses(t *testing.T, id string) (list []schema.CommandStatus) {
	t.Helper()
	for _, r := range b.results(t) {
		if r.CommandID == id {
			list = append(list, r.Status)
		}
	}
	return list
}

// testKey is a principal's key, the same for the same name.
func testKey(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

func public(name string) string {
	return base64.StdEncoding.EncodeToString(testKey(name).Public().(ed25519.PublicKey))
}

func testConfig() command.Config {
	cfg := command.DefaultConfig()
	cfg.Principals = []command.Principal{{Name: "operator", Keys: []string{public("operator"), public("operator-next")}}, {Name: "guest", Keys: []string{public("guest")}}}
	cfg.Allow = []safety.Rule{
		{Principals: []string{"operator"}, Kinds: []string{"test.*"}},
		{Principals: []string{"operator"}, Kinds: []string{"drained.*"}, RequireDrained: true},
	}
	return cfg
}

// clientThatTrusts returns a client that uses the given verifier.
func clientThatTrusts(b *bus, principal string, results *command.Verifier, log *slog.Logger) *command.Client {
	return command.NewClient(command.NewSigner(principal, testKey(principal)), "f", 0, command.ClientDeps{Sink: b,
		Results: func() command.TailSource { return b.fromEnd(envelope.Results) }, Verifier: results, Log: log, Now: time.Now})
}

func clientOf(b *bus, principal string) *command.Client {
	return clientThatTrusts(b, principal, verifier(command.ResultsConfig{}), quiet)
}

// handler is a configurable handler.
type handler struct {
	kind string
	dry  func() (json.RawMessage, error)
	run  func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)
	runs atomic.Int32
}

func (h *handler) Kind() string { return h.kind }
func (h *handler) DryRun(context.Context, json.RawMessage) (json.RawMessage, error) {
	return h.dry()
}
func (h *handler) Run(ctx context.Context, c command.Call) (json.RawMessage, error) {
	h.runs.Add(1)
	return h.run(ctx, c.Arguments)
}

func instantly(kind string) *handler {
	return &handler{kind: kind, run: func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) { return arguments, nil }}
}

// untilStopped runs until its context ends.
func untilStopped(kind string) *handler {
	return &handler{kind: kind, run: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
}

// life is one process of an agent.
type life struct {
	registry *prometheus.Registry
	stop     func() // and wait
}

type agentOptions struct {
	name     string
	state    string // path; empty: a new one
	cfg      command.Config
	handlers []command.Handler
	host     command.Host
	now      func() time.Time
	sink     command.Sink   // of the answers; nil: the bus
	source   command.Source // of the commands; nil: the bus from its start
	signer   *command.Signer
}

func startAgent(t *testing.T, b *bus, o agentOptions) life {
	t.Helper()
	agent, registry := newAgent(t, b, o)
	l := life{registry, background(t, agent.Run)}
	t.Cleanup(l.stop)
	return l
}

func newAgent(t *testing.T, b *bus, o agentOptions) (*command.Agent, *prometheus.Registry) {
	t.Helper()
	if o.sink == nil {
		o.sink = b
	}
	if o.source == nil {
		o.source = b.fromStart(envelope.Commands)
	}
	if o.name == "" {
		o.name = "n1"
	}
	if o.state == "" {
		o.state = filepath.Join(t.TempDir(), "commands.json")
	}
	if o.now == nil {
		o.now = time.Now
	}
	if len(o.cfg.Principals) == 0 {
		o.cfg = testConfig()
	}
	registry := prometheus.NewPedanticRegistry()
	agent, err := command.NewAgent(o.cfg, command.Identity{Name: o.name, Fabric: "f"}, command.Deps{Source: o.source, Results: command.Publisher{Sink: o.sink, Signer: o.signer},
		Handlers: o.handlers, Host: o.host, StatePath: o.state, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})), Registerer: registry, Now: o.now})
	if err != nil {
		t.Fatal(err)
	}
	return agent, registry
}

// send makes, signs and sends an order.
func send(t *testing.T, b *bus, principal string, o command.Order) schema.Command {
	t.Helper()
	if o.Targets == nil {
		o.Targets = []string{"*"}
	}
	if o.ValidFor == 0 {
		o.ValidFor = time.Minute
	}
	client := clientOf(b, principal)
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Send(context.Background(), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// deafSink never acknowledges.
type deafSink struct{}

func (deafSink) Produce(ctx context.Context, _ kafka.Record) error {
	<-ctx.Done()
	return ctx.Err()
}

func record(payload []byte) kafka.Record {
	return kafka.Record{Fabric: "f", Kind: envelope.Commands, Payload: payload}
}

var quiet = slog.New(slog.DiscardHandler)

// background runs a component until stop, which waits and reports its error.
func background(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
