package command_test

import (
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// attacker writes to the command topic with its own Kafka client, bypassing all checks of a Client.
type attacker struct {
	t      *testing.T
	writer kafkago.Writer
}

func newAttacker(t *testing.T, cfg kafka.Config, dial kafka.Dial) *attacker {
	transport := &kafkago.Transport{Dial: dial}
	a := &attacker{t, kafkago.Writer{Addr: kafkago.TCP(cfg.Brokers...), Topic: cfg.Topic(envelope.Commands), Transport: transport, BatchSize: 1, RequiredAcks: kafkago.RequireAll}}
	t.Cleanup(func() {
		if err := a.writer.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	return a
}

func (a *attacker) write(payload []byte) {
	a.t.Helper()
	if err := a.writer.WriteMessages(a.t.Context(), kafkago.Message{Key: []byte("f"), Value: payload}); err != nil {
		a.t.Fatal(err)
	}
}

// send writes a command unchecked.
func (a *attacker) send(c schema.Command) {
	a.t.Helper()
	var encoder envelope.Encoder
	payload, err := encoder.Commands(nil, []schema.Command{c})
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(payload)
}

// rawOrder is a command to n1 that is valid for a minute, after an edit and a signature.
func rawOrder(t *testing.T, id string, signer *command.Signer, edit func(*schema.Command)) schema.Command {
	t.Helper()
	now := schema.InstantOf(time.Now())
	c := schema.Command{ID: id, Fabric: "f", Kind: "test.act", Principal: "operator", Targets: []string{"n1"}, Issued: now, Expires: now + schema.Instant(time.Minute), Arguments: json.RawMessage(`{}`)}
	if edit != nil {
		edit(&c)
	}
	if err := signer.Sign(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// Over a broker: an agent executes the one valid command, and refuses, counts and answers each of the others; the
// audit has all that are commands of the fabric.
func TestHostileCommandsOverKafka(t *testing.T) { synctest.Test(t, hostileCommands) }

func hostileCommands(t *testing.T) {
	noLeaks(t)
	brokers, dial := startEmbedded(t)
	process := newProcess(t, brokers, dial)
	if err := process.client.EnsureTopics(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	b, h, kept, state := newBus(), instantly("test.act"), &archive{}, filepath.Join(t.TempDir(), "commands.json")
	cfg := testConfig()
	cfg.Limits.PerHour, cfg.ClockTolerance = 1, time.Second
	agent := startAgent(t, b, agentOptions{cfg: cfg, state: state, handlers: []command.Handler{h}, source: process.tail(envelope.Commands, cfg.Lookback())})
	waitUntil(t, "the agent's memory", func() bool {
		_, err := os.Stat(state)
		return err == nil
	})
	startAuditor(t, process, b, kept)

	raw, operator := newAttacker(t, brokers, dial), command.NewSigner("operator", testKey("operator"))
	right := rawOrder(t, "right", operator, nil)
	raw.send(right)
	waitUntil(t, "the right command", func() bool { return len(b.statuses(t, "right")) == 2 })
	changed := right // a genuine signature of other arguments
	changed.ID, changed.Arguments = "changed", json.RawMessage(`{"more":1}`)
	for _, c := range []schema.Command{right, changed,
		rawOrder(t, "forged", command.NewSigner("operator", ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))), nil),
		rawOrder(t, "stranger", command.NewSigner("mallory", testKey("mallory")), func(c *schema.Command) { c.Principal = "mallory" }),
		rawOrder(t, "stale", operator, func(c *schema.Command) { c.Issued, c.Expires = right.Issued, right.Issued+1 }),
		rawOrder(t, "elsewhere", operator, func(c *schema.Command) { c.Targets = []string{"n9"} }),
		rawOrder(t, "abroad", operator, func(c *schema.Command) { c.Fabric = "g" }),
		rawOrder(t, "denied", command.NewSigner("guest", testKey("guest")), func(c *schema.Command) { c.Principal = "guest" }),
		rawOrder(t, "over", operator, nil)} {
		if c.ID == "stale" {
			time.Sleep(time.Until((c.Expires + schema.Instant(cfg.ClockTolerance)).Time().Add(100 * time.Millisecond)))
		}
		raw.send(c)
	}
	raw.write([]byte("no envelope"))

	waitUntil(t, "the refusals", func() bool { return metric.Sum(t, agent.registry, "giverny_command_refused_total") >= 10 })
	for reason, want := range map[safety.Reason]float64{command.Duplicate: 1, command.BadSignature: 2, command.UnknownPrincipal: 1, command.Expired: 1,
		command.NotForThis: 1, command.WrongFabric: 1, safety.NotAllowed: 1, safety.TooOften: 1, command.Malformed: 1} {
		if n := metric.Sum(t, agent.registry, "giverny_command_refused_total", string(reason)); n != want {
			t.Errorf("%v refused as %s, want %v", n, reason, want)
		}
	}
	if h.runs.Load() != 1 {
		t.Errorf("carried out %d commands, want the right one alone", h.runs.Load())
	}
	wantAnswersAndAudit(t, b, kept)
}

func wantAnswersAndAudit(t *testing.T, b *bus, kept *archive) {
	t.Helper()
	refused := []schema.CommandStatus{schema.CommandRefused}
	for id, want := range map[string][]schema.CommandStatus{"right": {schema.CommandAccepted, schema.CommandDone}, "changed": refused, "forged": refused, "stranger": refused,
		"stale": {schema.CommandExpired}, "elsewhere": nil, "abroad": nil, "denied": refused, "over": refused} {
		waitUntil(t, "the answers to "+id, func() bool { return len(b.statuses(t, id)) >= len(want) })
		wantStatuses(t, b, id, want...)
	}
	bad := string(command.BadSignature)
	want := []string{"changed " + bad, "denied valid", "elsewhere valid", "forged " + bad, "over valid", "right valid", "right valid", "stale valid", "stranger " + string(command.UnknownPrincipal)}
	waitUntil(t, "the audit", func() bool { return len(kept.seen()) >= len(want) })
	if got := kept.seen(); !slices.Equal(got, want) {
		t.Errorf("audit of commands: %s; want %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

// startAuditor audits the commands of the broker and the answers of the bus.
func startAuditor(t *testing.T, p process, b *bus, kept *archive) {
	t.Helper()
	metrics, err := command.NewAuditMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	commands := kafka.NewConsumer(p.client, p.producer, kafka.Assignment{Kind: envelope.Commands, Fabric: "f"})
	t.Cleanup(background(t, command.NewAuditor("f", command.AuditDeps{Commands: commands, Results: &committedTail{tail: b.fromStart(envelope.Results)}, Records: kept,
		Keys: ring(t), Verifier: verifier(command.ResultsConfig{}), Log: quiet, Metrics: metrics}).Run))
}

// seen lists the audited commands with the state of their signatures, sorted.
func (a *archive) seen() (list []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.commands {
		list = append(list, c.ID+" "+c.Verified)
	}
	slices.Sort(list)
	return list
}

func waitUntil(t *testing.T, what string, there func() bool) {
	t.Helper()
	await.Until(t, what, patience, 10*time.Millisecond, there)
}
