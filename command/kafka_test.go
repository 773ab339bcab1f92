package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/schema"
)

// process is one process connected to a broker.
type process struct {
	client   *kafka.Client
	producer *kafka.Producer
}

func newProcess(t *testing.T, cfg kafka.Config, dial kafka.Dial) process {
	t.Helper()
	metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kafka.NewClient(cfg, dial, metrics, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return process{client, kafka.NewProducer(client)}
}

func (p process) tail(kind envelope.Kind, lookback time.Duration) *kafka.Consumer {
	return kafka.NewConsumer(p.client, nil, kafka.Assignment{Kind: kind, Fabric: "f", Tail: true, Lookback: lookback})
}

func (p process) clientOf(principal string) *command.Client {
	results := verifier(command.ResultsConfig{Agents: []command.AgentKeys{{Name: "*", Keys: []string{public("agents")}}}})
	return command.NewClient(command.NewSigner(principal, testKey(principal)), "f", 0, command.ClientDeps{Sink: p.producer,
		Results: func() command.TailSource { return p.tail(envelope.Results, 0) }, Verifier: results, Log: quiet, Now: time.Now})
}

// startAgents runs an agent per name until the test ends. It returns once all memories have begun.
func (p process) startAgents(t *testing.T, cfg command.Config, names ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	var states []string
	for _, name := range names {
		states = append(states, filepath.Join(t.TempDir(), "commands.json"))
		agent, err := command.NewAgent(cfg, command.Identity{Name: name, Fabric: "f"}, command.Deps{Source: p.tail(envelope.Commands, cfg.Lookback()), Results: command.Publisher{Sink: p.producer, Signer: command.NewSigner(name, testKey("agents"))},
			Handlers: append(command.AgentHandlers(collecting{}), untilStopped("test.wait")), StatePath: states[len(states)-1],
			Log: quiet, Registerer: prometheus.NewRegistry(), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := agent.Run(ctx); err != nil {
				t.Errorf("agent %s: %v", name, err)
			}
		})
	}
	for _, state := range states {
		await.Until(t, state, patience, 5*time.Millisecond, func() bool {
			_, err := os.Stat(state)
			return err == nil
		})
	}
}

func fastConfig() kafka.Config {
	cfg := kafka.DefaultConfig()
	cfg.RetryMin, cfg.RetryMax, cfg.Consumer.MaxWait = 20*time.Millisecond, 300*time.Millisecond, 50*time.Millisecond
	return cfg
}

// startEmbedded starts an in-memory broker reached over pipes: in a synctest bubble, all waits use the bubble's clock.
func startEmbedded(t *testing.T) (kafka.Config, kafka.Dial) {
	t.Helper()
	cfg := fastConfig()
	broker, err := embedded.New(embedded.DefaultConfig(), cfg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return broker.Client(cfg), broker.Dial
}

// patience is for a busy machine.
const patience = 4 * time.Minute

// ask sends an order and collects n answers.
func ask(t *testing.T, client *command.Client, o command.Order, n int) []command.Answer {
	t.Helper()
	if o.ValidFor == 0 {
		o.ValidFor = patience
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	answers, err := client.Ask(ctx, &c, patience, n)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// 200 agents read one partition in parallel, and all answer within seconds.
func TestTwoHundredAgents(t *testing.T) { synctest.Test(t, twoHundredAgents) }

func twoHundredAgents(t *testing.T) {
	noLeaks(t)
	cfg, dial := startEmbedded(t)
	cfg.Consumer.MaxWait = time.Second // an answer comes with the record; 200 that ask often keep a small machine busy
	admin := newProcess(t, cfg, dial)
	if err := admin.client.EnsureTopics(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	const agents, perProcess = 200, 20
	for first := 0; first < agents; first += perProcess {
		var names []string
		for i := range perProcess {
			names = append(names, fmt.Sprintf("n%03d", first+i))
		}
		newProcess(t, cfg, dial).startAgents(t, testConfig(), names...)
	}
	client := admin.clientOf("guest")
	began := time.Now()
	answers := ask(t, client, command.Order{Kind: command.KindList, Targets: []string{"*"}}, agents)
	if len(answers) != agents {
		t.Fatalf("%d of %d agents answered", len(answers), agents)
	}
	t.Logf("%d agents answered within %v", agents, time.Since(began))
	for i, a := range answers {
		var status command.AgentStatus
		if err := json.Unmarshal(a.Output, &status); err != nil || a.Status != schema.CommandDone || a.Agent != fmt.Sprintf("n%03d", i) || status.Version != "test" {
			t.Errorf("answer %d: %+v, %v", i, a, err)
		}
	}
	if answers := ask(t, client, command.Order{Kind: command.KindList, Targets: []string{"n00?", "n1*5"}}, 20); len(answers) != 20 {
		t.Errorf("%d answers of the targets, want 20", len(answers))
	}
}

func noLeaks(t *testing.T, but ...goleak.Option) {
	but = append(but, goleak.IgnoreCurrent())
	t.Cleanup(func() { goleak.VerifyNone(t, but...) })
}
