package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// The same message twice, with a restart in between, is executed once and answered once.
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
		if n := metric.Sum(t, first.registry, "giverny_command_refused_total", string(command.Duplicate)); n != 1 {
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
		if n := metric.Sum(t, second.registry, "giverny_command_refused_total", string(command.Duplicate)); n != 3 {
			t.Errorf("%v duplicates counted after the restart, want 3: the log is read again from its start", n)
		}
	})
}

// An agent that lost its state does not execute anything that it may have executed before.
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
			if n := metric.Sum(t, second.registry, "giverny_command_refused_total", string(command.BeforeStart)); n != 1 {
				t.Errorf("damage %q: %v refused as older than the memory, want 1", damage, n)
			}
			if want := min(float64(len(damage)), 1); metric.Sum(t, second.registry, "giverny_command_memory_errors_total") != want {
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

// A killed process writes nothing more: the state is taken from the middle of a run.
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

// The memory forgets commands that cannot be read again, so it stays small.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		l := startAgent(t, b, agentOptions{})
		synctest.Wait()
		for range 30 {
			send(t, b, "guest", command.Order{Kind: "test.nothing", ValidFor: 10 * time.Second})
			time.Sleep(time.Minute)
		}
		if n := metric.Sum(t, l.registry, "giverny_command_remembered"); n < 10 || n > 12 {
			t.Errorf("%v commands remembered, want those of some 11 minutes", n)
		}
	})
}

// A forgotten command is not executed again when the clock is set back.
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
		if n := metric.Sum(t, l.registry, "giverny_command_remembered"); n != 1 {
			t.Fatalf("%v commands remembered, want the last one", n)
		}
		back.Store(int64(2 * time.Hour))
		if err := clientOf(b, "operator").Send(t.Context(), &old); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if h.runs.Load() != 2 || metric.Sum(t, l.registry, "giverny_command_refused_total", string(command.BeforeStart)) != 1 {
			t.Errorf("%d runs of two commands", h.runs.Load())
		}
	})
}

// Commands that cannot be remembered are not executed.
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
		if r := answerWith(t, b, c.ID, schema.CommandRefused); !strings.Contains(r.Reason, "cannot record") || h.runs.Load() != 0 {
			t.Errorf("%+v, %d runs", r, h.runs.Load())
		}
		if metric.Sum(t, l.registry, "giverny_command_refused_total", string(command.NoMemory)) != 1 {
			t.Error("not counted")
		}
	})
}
