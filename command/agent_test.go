package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
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

// The same message twice, with a restart in between, is carried out once and answered once.
func TestReplayExecutesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h, state := newBus(), instantly("test.act"), filepath.Join(t.TempDir(), "commands.json")
		first := startAgent(t, b, agentOptions{state: state, handlers: []command.Handler{h}})
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act", Arguments: json.RawMessage(`{ "text": "a<b" }`)})
		again := func() {
			if err := clientOf(b, "operator").Send(t.Context(), &c); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		again()
		if n := first.metric(t, "giverny_command_refused_total", string(command.Duplicate)); n != 1 {
			t.Errorf("%v duplicates counted, want 1", n)
		}
		first.stop()
		second := startAgent(t, b, agentOptions{state: state, handlers: []command.Handler{h}})
		again()
		if n := h.runs.Load(); n != 1 {
			t.Errorf("carried out %d times", n)
		}
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandDone)
		if out := answerWith(t, b, c.ID, schema.CommandDone).Output; string(out) != `{"text":"a\u003cb"}` {
			t.Errorf("output %s", out)
		}
		if n := second.metric(t, "giverny_command_refused_total", string(command.Duplicate)); n != 3 {
			t.Errorf("%v duplicates counted after the restart, want 3: the log is read again from its start", n)
		}
	})
}

// An agent whose state was lost does not carry out what it may have carried out before.
func TestLostStateExecutesNothingTwice(t *testing.T) {
	for _, damage := range []string{"", "{", `{"version":9}`, `{"version":1,"since":"2000-01-01T00:00:00Z","commands":[null]}`} {
		synctest.Test(t, func(t *testing.T) {
			b, h, state := newBus(), instantly("test.act"), filepath.Join(t.TempDir(), "commands.json")
			first := startAgent(t, b, agentOptions{state: state, handlers: []command.Handler{h}})
			synctest.Wait()
			send(t, b, "operator", command.Order{Kind: "test.act"})
			synctest.Wait()
			first.stop()
			err := os.Remove(state)
			if damage != "" {
				err = os.WriteFile(state, []byte(damage), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			second := startAgent(t, b, agentOptions{state: state, handlers: []command.Handler{h}})
			synctest.Wait()
			if n := second.metric(t, "giverny_command_refused_total", string(command.BeforeStart)); n != 1 {
				t.Errorf("damage %q: %v refused as older than the memory, want 1", damage, n)
			}
			if want := min(float64(len(damage)), 1); second.metric(t, "giverny_command_memory_errors_total", "") != want {
				t.Errorf("damage %q is not counted", damage)
			}
			send(t, b, "operator", command.Order{Kind: "test.act"})
			synctest.Wait()
			if n := h.runs.Load(); n != 2 {
				t.Errorf("damage %q: carried out %d times, want once in each life", damage, n)
			}
		})
	}
}

// A process that is killed writes no more: the state is taken from the middle of a run.
func TestKilledMidwayAnswersAfterTheRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h, dir := newBus(), untilStopped("test.act"), t.TempDir()
		state, killed := filepath.Join(dir, "commands.json"), filepath.Join(dir, "killed.json")
		first := startAgent(t, b, agentOptions{state: state, handlers: []command.Handler{h}})
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		text, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(killed, text, 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(b.results(t))
		startAgent(t, b, agentOptions{state: killed, handlers: []command.Handler{h}})
		synctest.Wait()
		after := b.results(t)[before:]
		if len(after) != 1 || after[0].CommandID != c.ID || after[0].Status != schema.CommandFailed || !strings.Contains(after[0].Reason, "agent restarted") {
			t.Errorf("answers after the restart: %+v", after)
		}
		if n := h.runs.Load(); n != 1 {
			t.Errorf("carried out %d times", n)
		}
		first.stop()
		if r := answerWith(t, b, c.ID, schema.CommandFailed); r.Agent != "n1" {
			t.Errorf("%+v", r)
		}
	})
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

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		l := startAgent(t, b, agentOptions{handlers: []command.Handler{untilStopped("test.act")}})
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		arguments, _ := json.Marshal(command.CancelArguments{ID: c.ID})
		dry := send(t, b, "guest", command.Order{Kind: command.KindCancel, Arguments: arguments, DryRun: true})
		synctest.Wait()
		if n := l.metric(t, "giverny_command_running", ""); n != 1 {
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
		real := send(t, b, "operator", command.Order{Kind: "test.act"}) // a dry run costs nothing of the limit
		synctest.Wait()
		over := send(t, b, "operator", command.Order{Kind: "test.act", DryRun: true}) // and says what would happen now
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
		if n := l.metric(t, "giverny_command_refused_total", string(safety.TooOften)); n != 1 {
			t.Errorf("%v counted as too often, want 1", n)
		}
		time.Sleep(time.Hour)
		c = send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandDone)
	})
}

// A handler that panics, fails, answers rubbish, runs for too long or hangs costs one command.
func TestBadHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, release := newBus(), make(chan struct{})
		of := func(kind string, run func() (json.RawMessage, error)) *handler {
			return &handler{kind: kind, run: func(context.Context, json.RawMessage) (json.RawMessage, error) { return run() }}
		}
		cfg := testConfig()
		cfg.Limits.AtATime = 2
		l := startAgent(t, b, agentOptions{cfg: cfg, handlers: []command.Handler{
			of("test.panic", func() (json.RawMessage, error) { panic("lilies") }),
			of("test.fail", func() (json.RawMessage, error) { return nil, errors.New("no adapter mlx5_7") }),
			of("test.rubbish", func() (json.RawMessage, error) { return json.RawMessage("{"), nil }),
			of("test.flood", func() (json.RawMessage, error) {
				return json.RawMessage(`"` + strings.Repeat("x", command.MaxOutputBytes) + `"`), nil
			}),
			of("test.hang", func() (json.RawMessage, error) { <-release; return nil, nil }),
			untilStopped("test.slow"), instantly("test.act")}})
		synctest.Wait()
		for kind, want := range map[string]string{"test.panic": "lilies", "test.fail": "no adapter mlx5_7", "test.rubbish": "no JSON", "test.flood": "196610 bytes"} {
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
		for id, want := range map[string]string{slow.ID: "limit of run time, 10m0s", hang.ID: "left behind"} {
			if r := answerWith(t, b, id, schema.CommandFailed); !strings.Contains(r.Reason, want) {
				t.Errorf("reason %q, want %q in it", r.Reason, want)
			}
		}
		if l.metric(t, "giverny_command_stuck", "") != 1 || l.metric(t, "giverny_command_panics_total", "") != 1 {
			t.Error("the stuck handler or the panic is not counted")
		}
		send(t, b, "operator", command.Order{Kind: "test.slow"}) // takes the place beside the stuck one
		synctest.Wait()
		over = send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		wantStatuses(t, b, over.ID, schema.CommandRefused) // the stuck one may still act
		close(release)
		synctest.Wait()
		free := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		wantStatuses(t, b, free.ID, schema.CommandAccepted, schema.CommandDone)
		if n := l.metric(t, "giverny_command_stuck", ""); n != 0 {
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
		{"nothing knows", nil, schema.CommandRefused, "nothing there says"},
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

// Who can write to the topic but has no key gets few answers, however much is sent.
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
			if n := l.metric(t, "giverny_command_refused_total", label); n != want {
				t.Errorf("%v refused as %s, want %v", n, label, want)
			}
		}
		if n := l.metric(t, "giverny_command_answers_dropped_total", "rate_limited"); n != 880 {
			t.Errorf("%v answers dropped, want 880", n)
		}
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandDone)
	})
}

// The memory forgets what cannot come again, so that it stays small.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		l := startAgent(t, b, agentOptions{})
		synctest.Wait()
		for range 30 {
			send(t, b, "guest", command.Order{Kind: "test.nothing", ValidFor: 10 * time.Second})
			time.Sleep(time.Minute)
		}
		if n := l.metric(t, "giverny_command_remembered", ""); n < 10 || n > 12 {
			t.Errorf("%v commands remembered, want those of some 11 minutes", n)
		}
	})
}

// A command that was forgotten does not come again when the clock is set back.
func TestClockSetBackExecutesNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := newBus(), instantly("test.act")
		var back atomic.Int64
		l := startAgent(t, b, agentOptions{handlers: []command.Handler{h}, now: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }})
		synctest.Wait()
		old := send(t, b, "operator", command.Order{Kind: "test.act"})
		time.Sleep(2 * time.Hour)
		send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		if n := l.metric(t, "giverny_command_remembered", ""); n != 1 {
			t.Fatalf("%v commands remembered, want the last one", n)
		}
		back.Store(int64(2 * time.Hour))
		if err := clientOf(b, "operator").Send(t.Context(), &old); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if h.runs.Load() != 2 || l.metric(t, "giverny_command_refused_total", string(command.BeforeStart)) != 1 {
			t.Errorf("%d runs of two commands", h.runs.Load())
		}
	})
}

// What cannot be remembered is not carried out.
func TestWithoutMemoryNothingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h, dir := newBus(), instantly("test.act"), filepath.Join(t.TempDir(), "state")
		l := startAgent(t, b, agentOptions{state: filepath.Join(dir, "commands.json"), handlers: []command.Handler{h}})
		synctest.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		if r := answerWith(t, b, c.ID, schema.CommandRefused); !strings.Contains(r.Reason, "cannot remember") || h.runs.Load() != 0 {
			t.Errorf("%+v, %d runs", r, h.runs.Load())
		}
		if l.metric(t, "giverny_command_refused_total", string(command.NoMemory)) != 1 {
			t.Error("not counted")
		}
	})
}

func TestEveryReasonStandsAtZero(t *testing.T) {
	l := startAgent(t, newBus(), agentOptions{})
	for _, reason := range command.Reasons() {
		if n := l.metric(t, "giverny_command_refused_total", string(reason)); n != 0 {
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

// An answer that Kafka did not take before the end of one life is sent in the next.
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
		o.sink = nil
		startAgent(t, b, o)
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandDone)
	})
}

func TestAskGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		for i := range 3 {
			startAgent(t, b, agentOptions{name: fmt.Sprintf("n%d", i), handlers: command.AgentHandlers(collecting{})})
		}
		startAgent(t, b, agentOptions{name: "ahead", handlers: command.AgentHandlers(collecting{}), now: func() time.Time { return time.Now().Add(5 * time.Second) }})
		time.Sleep(10 * time.Second) // past the instant at which the one ahead began to remember
		client := clientOf(b, "guest")
		order := command.Order{Kind: command.KindList, Targets: []string{"n[01]", "ahead", "absent"}, ValidFor: time.Minute}
		c, err := client.New(order)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		answers, err := client.Ask(t.Context(), &c, 3*time.Second, 0)
		if err != nil || len(answers) != 3 || time.Since(began) < 3*time.Second {
			t.Fatalf("%d answers after %v: %v", len(answers), time.Since(began), err)
		}
		for i, name := range []string{"ahead", "n0", "n1"} {
			if answers[i].Agent != name || answers[i].Status != schema.CommandDone {
				t.Errorf("answer %d: %+v", i, answers[i])
			}
		}
		if offset, _ := answers[0].ClockOffset(); offset.Round(time.Second) != 5*time.Second {
			t.Errorf("clock offset of %v, want 5s", offset)
		}
		c, _ = client.New(order)
		began = time.Now()
		if answers, err = client.Ask(t.Context(), &c, time.Minute, 3); err != nil || len(answers) != 3 || time.Since(began) > time.Second {
			t.Errorf("with all expected answers: %d after %v: %v", len(answers), time.Since(began), err)
		}
	})
}

func TestAskEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		client := clientOf(b, "guest")
		c, err := client.New(command.Order{Kind: command.KindList, Targets: []string{"*"}, ValidFor: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Ask(ctx, &c, time.Hour, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		startAgent(t, b, agentOptions{handlers: command.AgentHandlers(collecting{})})
		synctest.Wait()
		c := send(t, b, "guest", command.Order{Kind: command.KindRefresh})
		dry := send(t, b, "guest", command.Order{Kind: command.KindRefresh, DryRun: true})
		synctest.Wait()
		for id, devices := range map[string]int{c.ID: 9, dry.ID: 8} {
			var out command.Refreshed
			if err := json.Unmarshal(answerWith(t, b, id, schema.CommandDone).Output, &out); err != nil || len(out.Sources) != 1 || out.Sources[0].Devices != devices {
				t.Errorf("%+v, %v", out, err)
			}
		}
	})
}

// collecting has 8 devices, and 9 after a refresh.
type collecting struct{}

func (collecting) Status() command.AgentStatus {
	return command.AgentStatus{Version: "test", Sources: []command.SourceStatus{{Source: "ibsysfs", State: command.SourceOK, Devices: 8}}}
}

func (collecting) Refresh(context.Context) ([]command.SourceStatus, error) {
	return []command.SourceStatus{{Source: "ibsysfs", State: command.SourceOK, Devices: 9}}, nil
}
