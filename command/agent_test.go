package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

func wantStatuses(t *testing.T, b *bus, id string, want ...schema.CommandStatus) {
	t.Helper()
	if got := b.statuses(t, id); !slices.Equal(got, want) {
		t.Errorf("answers to %s: %v, want %v; all: %+v", id, got, want, b.results(t))
	}
}

// answerWith is the answer with a status.
func answerWith(t *testing.T, b *bus, id string, status schema.CommandStatus) schema.CommandResult {
	t.Helper()
	for _, r := range b.results(t) {
		if r.CommandID == id && r.Status == status {
			return r
		}
	}
	t.Fatalf("no answer %s to %s in %+v", status, id, b.results(t))
	return schema.CommandResult{}
}

func TestStopEndsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		l := startAgent(t, b, agentOptions{handlers: []command.Handler{untilStopped("test.act")}})
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		l.stop()
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandFailed)
		if r := answerWith(t, b, c.ID, schema.CommandFailed); !strings.Contains(r.Reason, "agent was stopped") {
			t.Errorf("reason %q", r.Reason)
		}
	})
}

// breaking is a source whose first run fails.
type breaking struct {
	command.Source
	runs int
}

func (s *breaking) Run(ctx context.Context, handle func(context.Context, kafka.Message) error) error {
	if s.runs++; s.runs == 1 {
		return errors.New("broken")
	}
	return s.Source.Run(ctx, handle)
}

// An agent whose source fails can run again, and answers.
func TestAnAgentRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		agent, _ := newAgent(t, b, agentOptions{handlers: []command.Handler{untilStopped("test.act")}, source: &breaking{Source: b.fromStart(envelope.Commands)}})
		if err := agent.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") {
			t.Fatal(err)
		}
		stop := background(t, agent.Run)
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		stop()
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandFailed)
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		l := startAgent(t, b, agentOptions{handlers: []command.Handler{untilStopped("test.act")}})
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		arguments, _ := json.Marshal(command.CancelArguments{ID: c.ID})
		dry := send(t, b, "guest", command.Order{Kind: command.KindCancel, Arguments: arguments, DryRun: true})
		synctest.Wait()
		if n := metric.Sum(t, l.registry, "giverny_command_running"); n != 1 {
			t.Errorf("%v run after a dry run of cancel, want 1", n)
		}
		stop := send(t, b, "guest", command.Order{Kind: command.KindCancel, Arguments: arguments})
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandCancelled)
		if r := answerWith(t, b, c.ID, schema.CommandCancelled); r.Reason != "cancelled by guest" {
			t.Errorf("reason %q", r.Reason)
		}
		late := send(t, b, "guest", command.Order{Kind: command.KindCancel, Arguments: arguments})
		bad := send(t, b, "guest", command.Order{Kind: command.KindCancel})
		synctest.Wait()
		for id, want := range map[string]string{dry.ID: `{"running":true}`, stop.ID: `{"running":true}`, late.ID: `{"running":false}`} {
			if r := answerWith(t, b, id, schema.CommandDone); string(r.Output) != want {
				t.Errorf("output %s, want %s", r.Output, want)
			}
		}
		answerWith(t, b, bad.ID, schema.CommandFailed)
	})
}

func TestDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := newBus(), instantly("test.act")
		h.dry = func() (json.RawMessage, error) { return json.RawMessage(`{"would":"probe 3 adapters"}`), nil }
		cfg := testConfig()
		cfg.Limits.PerHour = 1
		startAgent(t, b, agentOptions{cfg: cfg, handlers: []command.Handler{h}})
		synctest.Wait()
		dry := send(t, b, "operator", command.Order{Kind: "test.act", DryRun: true})
		denied := send(t, b, "guest", command.Order{Kind: "test.act", DryRun: true})
		synctest.Wait()
		if h.runs.Load() != 0 || string(answerWith(t, b, dry.ID, schema.CommandDone).Output) != `{"would":"probe 3 adapters"}` {
			t.Errorf("%d runs; %+v", h.runs.Load(), b.results(t))
		}
		wantStatuses(t, b, denied.ID, schema.CommandRefused)
		real := send(t, b, "operator", command.Order{Kind: "test.act"}) // a dry run does not count towards the limit,
		synctest.Wait()
		over := send(t, b, "operator", command.Order{Kind: "test.act", DryRun: true}) // but reports what would happen now
		synctest.Wait()
		wantStatuses(t, b, real.ID, schema.CommandAccepted, schema.CommandDone)
		wantStatuses(t, b, over.ID, schema.CommandRefused)
	})
}

func TestLimitsHoldOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, state := newBus(), filepath.Join(t.TempDir(), "commands.json")
		cfg := testConfig()
		cfg.Limits.PerHour = 2
		o := agentOptions{cfg: cfg, state: state, handlers: []command.Handler{instantly("test.act")}}
		l := startAgent(t, b, o)
		synctest.Wait()
		for range 2 {
			send(t, b, "operator", command.Order{Kind: "test.act"})
			synctest.Wait()
		}
		l.stop()
		l = startAgent(t, b, o)
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandRefused)
		if n := metric.Sum(t, l.registry, "giverny_command_refused_total", string(safety.TooOften)); n != 1 {
			t.Errorf("%v counted as too often, want 1", n)
		}
		time.Sleep(time.Hour)
		c = send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandDone)
	})
}

// A handler that panics, fails, returns invalid output, runs for too long or hangs
// costs one command.
func TestBadHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, release := newBus(), make(chan struct{})
		of := func(kind string, run func() (json.RawMessage, error)) *handler {
			return &handler{kind: kind, run: func(context.Context, json.RawMessage) (json.RawMessage, error) { return run() }}
		}
		cfg := testConfig()
		cfg.Limits.AtATime = 2
		l := startAgent(t, b, agentOptions{cfg: cfg, handlers: []command.Handler{
			of("test.panic", func() (json.RawMessage, error) { panic("index out of range") }),
			of("test.fail", func() (json.RawMessage, error) { return nil, errors.New("no adapter mlx5_7") }),
			of("test.rubbish", func() (json.RawMessage, error) { return json.RawMessage("{"), nil }),
			of("test.flood", func() (json.RawMessage, error) {
				return json.RawMessage(`"` + strings.Repeat("x", command.MaxOutputBytes) + `"`), nil
			}),
			of("test.hang", func() (json.RawMessage, error) { <-release; return nil, nil }),
			untilStopped("test.slow"), instantly("test.act")}})
		synctest.Wait()
		for kind, want := range map[string]string{"test.panic": "index out of range", "test.fail": "no adapter mlx5_7", "test.rubbish": "not JSON", "test.flood": "196610 bytes"} {
			c := send(t, b, "operator", command.Order{Kind: kind})
			synctest.Wait()
			if r := answerWith(t, b, c.ID, schema.CommandFailed); !strings.Contains(r.Reason, want) {
				t.Errorf("%s: reason %q, want %q in it", kind, r.Reason, want)
			}
		}
		slow := send(t, b, "operator", command.Order{Kind: "test.slow"})
		hang := send(t, b, "operator", command.Order{Kind: "test.hang"})
		synctest.Wait()
		over := send(t, b, "operator", command.Order{Kind: "test.act"})
		time.Sleep(cfg.Limits.RunTime + 10*time.Second)
		wantStatuses(t, b, over.ID, schema.CommandRefused)
		for id, want := range map[string]string{slow.ID: "run time limit, 10m0s", hang.ID: "abandoned"} {
			if r := answerWith(t, b, id, schema.CommandFailed); !strings.Contains(r.Reason, want) {
				t.Errorf("reason %q, want %q in it", r.Reason, want)
			}
		}
		if metric.Sum(t, l.registry, "giverny_command_stuck") != 1 || metric.Sum(t, l.registry, "giverny_command_panics_total") != 1 {
			t.Error("the stuck handler or the panic is not counted")
		}
		send(t, b, "operator", command.Order{Kind: "test.slow"}) // takes the slot next to the stuck one
		synctest.Wait()
		over = send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		wantStatuses(t, b, over.ID, schema.CommandRefused) // the stuck one may still act
		close(release)
		synctest.Wait()
		free := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		wantStatuses(t, b, free.ID, schema.CommandAccepted, schema.CommandDone)
		if n := metric.Sum(t, l.registry, "giverny_command_stuck"); n != 0 {
			t.Errorf("%v stuck at the end", n)
		}
	})
}

type host struct {
	drained bool
	err     error
}

func (h host) Drained(context.Context) (bool, string, error) { return h.drained, "job 4711", h.err }

func TestDrainedHosts(t *testing.T) {
	for _, c := range []struct {
		name string
		host command.Host
		want schema.CommandStatus
		text string
	}{
		{"nothing knows", nil, schema.CommandRefused, "nothing there tells"},
		{"in use", host{}, schema.CommandRefused, "n1 is in use: job 4711"},
		{"not known", host{true, errors.New("slurmctld is away")}, schema.CommandRefused, "slurmctld is away"},
		{"drained", host{true, nil}, schema.CommandDone, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, h := newBus(), instantly("drained.act")
				startAgent(t, b, agentOptions{host: c.host, handlers: []command.Handler{h}})
				synctest.Wait()
				sent := send(t, b, "operator", command.Order{Kind: "drained.act"})
				synctest.Wait()
				if r := answerWith(t, b, sent.ID, c.want); !strings.Contains(r.Reason, c.text) || (c.want == schema.CommandDone) != (h.runs.Load() == 1) {
					t.Errorf("%+v, %d runs", r, h.runs.Load())
				}
			})
		})
	}
}

// A writer to the topic without a key gets few answers, however much is sent.
func TestForgeriesGetFewAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := newBus(), instantly("test.act")
		l := startAgent(t, b, agentOptions{handlers: []command.Handler{h}})
		synctest.Wait()
		for range 1000 {
			send(t, b, "mallory", command.Order{Kind: "test.act"})
		}
		b.Produce(t.Context(), record([]byte("no envelope")))
		synctest.Wait()
		if n := len(b.results(t)); n != 120 || h.runs.Load() != 0 {
			t.Errorf("%d answers, %d runs", n, h.runs.Load())
		}
		for label, want := range map[string]float64{string(command.UnknownPrincipal): 1000, string(command.Malformed): 1} {
			if n := metric.Sum(t, l.registry, "giverny_command_refused_total", label); n != want {
				t.Errorf("%v refused as %s, want %v", n, label, want)
			}
		}
		if n := metric.Sum(t, l.registry, "giverny_command_answers_dropped_total", "rate_limited"); n != 880 {
			t.Errorf("%v answers dropped, want 880", n)
		}
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandDone)
	})
}

func TestEveryReasonStandsAtZero(t *testing.T) {
	l := startAgent(t, newBus(), agentOptions{})
	for _, reason := range command.Reasons() {
		if n := metric.Sum(t, l.registry, "giverny_command_refused_total", string(reason)); n != 0 {
			t.Errorf("%s is %v", reason, n)
		}
	}
}

func TestNewAgentRefuses(t *testing.T) {
	for _, c := range []struct {
		want string
		with func(*command.Config, *command.Identity, *command.Deps)
	}{
		{"principals: empty", func(cfg *command.Config, _ *command.Identity, _ *command.Deps) { *cfg = command.DefaultConfig() }},
		{"max_validity", func(cfg *command.Config, _ *command.Identity, _ *command.Deps) { cfg.MaxValidity = 0 }},
		{"want names", func(_ *command.Config, id *command.Identity, _ *command.Deps) { id.Name = "" }},
		{"two handlers", func(_ *command.Config, _ *command.Identity, d *command.Deps) {
			d.Handlers = []command.Handler{instantly("x"), instantly("x")}
		}},
		{"two handlers", func(_ *command.Config, _ *command.Identity, d *command.Deps) {
			d.Handlers = []command.Handler{instantly(command.KindCancel)}
		}},
	} {
		cfg, id, deps := testConfig(), command.Identity{Name: "n1", Fabric: "f"}, command.Deps{}
		c.with(&cfg, &id, &deps)
		deps.Log = quiet
		if _, err := command.NewAgent(cfg, id, deps); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
}

// An answer that Kafka did not accept before the process ended is sent by the next one.
func TestAnswersOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, state := newBus(), filepath.Join(t.TempDir(), "commands.json")
		o := agentOptions{state: state, sink: deafSink{}, handlers: []command.Handler{instantly("test.act")}}
		first := startAgent(t, b, o)
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		first.stop()
		if n := len(b.results(t)); n != 0 {
			t.Fatalf("%d answers arrived", n)
		}
		if n := metric.Sum(t, first.registry, "giverny_command_answers_dropped_total", "undelivered"); n != 2 {
			t.Errorf("%v answers counted as undelivered, want 2: accepted and done", n)
		}
		o.sink = nil
		startAgent(t, b, o)
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandDone)
	})
}

// outage is a sink that acknowledges nothing before a time.
type outage struct {
	*bus
	until time.Time
}

func (s *outage) Produce(ctx context.Context, r kafka.Record) error {
	select {
	case <-time.After(time.Until(s.until)):
		return s.bus.Produce(ctx, r)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// What became of a command that an outage of Kafka ended is published once Kafka is back, however long it was away and whatever
// else the agent forgets meanwhile.
func TestAnswersOutliveAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		sink := &outage{bus: b, until: time.Now().Add(3 * time.Hour)}
		l := startAgent(t, b, agentOptions{sink: sink, handlers: []command.Handler{untilStopped("test.act")}})
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		time.Sleep(150 * time.Minute)
		list := send(t, b, "operator", command.Order{Kind: command.KindCancel, Arguments: json.RawMessage(`{"id":"other"}`)}) // makes it forget
		time.Sleep(time.Hour)
		wantStatuses(t, b, c.ID, schema.CommandCancelled)
		wantStatuses(t, b, list.ID, schema.CommandDone)
		if r := answerWith(t, b, c.ID, schema.CommandCancelled); !strings.Contains(r.Reason, "Kafka is unreachable") {
			t.Errorf("reason %q", r.Reason)
		}
		if n := metric.Sum(t, l.registry, "giverny_command_answers_dropped_total", "undelivered"); n != 1 {
			t.Errorf("%v answers counted as undelivered, want 1: accepted", n)
		}
	})
}

// A command can be cancelled however many others hang or were sent, and without a record of commands.
func TestNothingPreventsACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, dir, release := newBus(), filepath.Join(t.TempDir(), "state"), make(chan struct{})
		hanging := &handler{kind: command.KindRefresh, run: func(context.Context, json.RawMessage) (json.RawMessage, error) { <-release; return nil, nil }}
		l := startAgent(t, b, agentOptions{state: filepath.Join(dir, "commands.json"), handlers: []command.Handler{hanging, untilStopped("test.act")}})
		synctest.Wait()
		cancel := func() {
			t.Helper()
			c := send(t, b, "operator", command.Order{Kind: "test.act"})
			synctest.Wait()
			arguments, _ := json.Marshal(command.CancelArguments{ID: c.ID})
			stop := send(t, b, "guest", command.Order{Kind: command.KindCancel, Arguments: arguments})
			synctest.Wait()
			wantStatuses(t, b, stop.ID, schema.CommandDone)
			wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandCancelled)
		}
		for range 5 {
			send(t, b, "operator", command.Order{Kind: command.KindRefresh})
		}
		synctest.Wait()
		if n := metric.Sum(t, l.registry, "giverny_command_refused_total", string(safety.TooMany)); n != 1 {
			t.Errorf("%v refused as too many, want the fifth", n)
		}
		cancel()
		running := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		if err := os.RemoveAll(dir); err != nil { // cannot be written, not even by root
			t.Fatal(err)
		}
		arguments, _ := json.Marshal(command.CancelArguments{ID: running.ID})
		send(t, b, "guest", command.Order{Kind: command.KindCancel, Arguments: arguments})
		synctest.Wait()
		wantStatuses(t, b, running.ID, schema.CommandAccepted, schema.CommandCancelled)
		close(release)
	})
}

// Commands to an agent whose record begins in the future, since its clock was ahead, are answered with what to do.
func TestARecordFromTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, state := newBus(), filepath.Join(t.TempDir(), "commands.json")
		o := agentOptions{state: state, now: func() time.Time { return time.Now().Add(2 * time.Hour) }}
		startAgent(t, b, o).stop()
		o.now = time.Now
		startAgent(t, b, o)
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: command.KindCancel})
		synctest.Wait()
		if r := answerWith(t, b, c.ID, schema.CommandRefused); !strings.Contains(r.Reason, "because its clock was ahead") || !strings.Contains(r.Reason, "remove "+state) {
			t.Errorf("reason %q", r.Reason)
		}
	})
}
