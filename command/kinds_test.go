package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
)

// streaming is a kind that refuses some arguments, reports progress and has partial output when stopped.
type streaming struct {
	steps int
	runs  atomic.Int32
}

func (*streaming) Kind() string   { return "test.stream" }
func (*streaming) PartialOutput() {}

func (*streaming) CheckArguments(arguments json.RawMessage) *safety.Refusal {
	if string(arguments) == `{"much":true}` {
		return safety.Refuse(safety.OverLimit, "too much")
	}
	return nil
}

func (*streaming) DryRun(context.Context, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{}`), nil
}

func (s *streaming) Run(ctx context.Context, c command.Call) (json.RawMessage, error) {
	s.runs.Add(1)
	for range s.steps {
		c.Report(json.RawMessage(`{"id":"` + c.ID + `","by":"` + c.Principal + `"}`))
	}
	c.Report(json.RawMessage(`no JSON`))
	<-ctx.Done()
	return json.RawMessage(`{"steps":3}`), errors.New("stopped")
}

// Reports of a command arrive in order, and a stopped command's answer has its partial
// output.
func TestProgressAndPartialOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		l := startAgent(t, b, agentOptions{handlers: []command.Handler{&streaming{steps: 3}}})
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.stream"})
		synctest.Wait()
		arguments, _ := json.Marshal(command.CancelArguments{ID: c.ID})
		send(t, b, "guest", command.Order{Kind: command.KindCancel, Arguments: arguments})
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandProgress, schema.CommandProgress, schema.CommandProgress, schema.CommandCancelled)
		want := uint32(0)
		for _, r := range b.results(t) {
			if r.CommandID != c.ID || r.Status != schema.CommandProgress {
				continue
			}
			if want++; r.Sequence != want || r.Kind != "test.stream" || string(r.Output) != `{"id":"`+c.ID+`","by":"operator"}` {
				t.Errorf("progress %d: %+v", want, r)
			}
		}
		if r := answerWith(t, b, c.ID, schema.CommandCancelled); string(r.Output) != `{"steps":3}` || r.Reason != "cancelled by guest" {
			t.Errorf("answer %+v", r)
		}
		if n := metric.Sum(t, l.registry, "giverny_command_answers_dropped_total", "oversized"); n != 1 {
			t.Errorf("%v reports dropped, want 1", n)
		}
	})
}

// A command refused for its arguments never begins, and is answered and counted, also in a dry run.
func TestAKindRefusesArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := newBus(), &streaming{}
		l := startAgent(t, b, agentOptions{handlers: []command.Handler{h}})
		synctest.Wait()
		for _, dry := range []bool{false, true} {
			c := send(t, b, "operator", command.Order{Kind: "test.stream", Arguments: json.RawMessage(`{"much":true}`), DryRun: dry})
			synctest.Wait()
			wantStatuses(t, b, c.ID, schema.CommandRefused)
		}
		guest := send(t, b, "guest", command.Order{Kind: "test.stream", Arguments: json.RawMessage(`{"much":true}`)})
		synctest.Wait()
		wantStatuses(t, b, guest.ID, schema.CommandRefused)
		if h.runs.Load() != 0 || metric.Sum(t, l.registry, "giverny_command_refused_total", string(safety.OverLimit)) != 2 ||
			metric.Sum(t, l.registry, "giverny_command_refused_total", string(safety.NotAllowed)) != 1 { // unauthorised senders learn nothing about the limits
			t.Errorf("%d runs, %+v", h.runs.Load(), b.results(t))
		}
	})
}

// reachable is a source that knows whether Kafka answers.
type reachable struct {
	*tail
	since atomic.Int64 // ns since 1970; 0: it answers
}

func (r *reachable) Answered() time.Time {
	if at := r.since.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Now()
}

// An acting command ends when Kafka has been silent for too long; a short silence ends nothing.
func TestLossOfKafkaStopsWhatActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		source := &reachable{tail: b.fromStart(envelope.Commands)}
		startAgent(t, b, agentOptions{handlers: []command.Handler{untilStopped("test.act")}, source: source})
		synctest.Wait()
		c := send(t, b, "operator", command.Order{Kind: "test.act"})
		synctest.Wait()
		source.since.Store(time.Now().UnixNano())
		time.Sleep(50 * time.Second)
		source.since.Store(0)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandAccepted)
		source.since.Store(time.Now().UnixNano())
		time.Sleep(90 * time.Second)
		synctest.Wait()
		wantStatuses(t, b, c.ID, schema.CommandAccepted, schema.CommandCancelled)
		if r := answerWith(t, b, c.ID, schema.CommandCancelled); r.Reason != "stopped: Kafka is unreachable, so the command could no longer be cancelled" {
			t.Errorf("reason %q", r.Reason)
		}
	})
}

// A rule's own run time applies, and the end of its hours.
func TestRunTimeOfARule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble's clock starts at midnight UTC
		b, cfg := newBus(), testConfig()
		cfg.Limits.AtATime = 2
		cfg.Allow = []safety.Rule{{Principals: []string{"operator"}, Kinds: []string{"test.short"}, RunTime: 20 * time.Second},
			{Principals: []string{"operator"}, Kinds: []string{"test.night"}, Hours: []string{"23:00-00:01"}}}
		startAgent(t, b, agentOptions{cfg: cfg, handlers: []command.Handler{untilStopped("test.short"), untilStopped("test.night")}})
		synctest.Wait()
		short, night := send(t, b, "operator", command.Order{Kind: "test.short"}), send(t, b, "operator", command.Order{Kind: "test.night"})
		time.Sleep(21 * time.Second)
		synctest.Wait()
		wantStatuses(t, b, short.ID, schema.CommandAccepted, schema.CommandFailed)
		wantStatuses(t, b, night.ID, schema.CommandAccepted)
		time.Sleep(40 * time.Second)
		synctest.Wait()
		wantStatuses(t, b, night.ID, schema.CommandAccepted, schema.CommandFailed)
		late := send(t, b, "operator", command.Order{Kind: "test.night"})
		synctest.Wait()
		wantStatuses(t, b, late.ID, schema.CommandRefused)
	})
}
