package command_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// archive records what it is given.
type archive struct {
	mu       sync.Mutex
	inserts  int
	commands []schema.SeenCommand
	results  []schema.CommandResult
}

func (a *archive) StoreCommands(_ context.Context, _ string, rows []schema.SeenCommand) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inserts++
	a.commands = append(a.commands, rows...)
	return nil
}

func (a *archive) StoreCommandResults(_ context.Context, _ string, rows []schema.CommandResult) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inserts++
	a.results = append(a.results, rows...)
	return nil
}

// committedTail keeps the offset that was committed, and what was rejected.
type committedTail struct {
	*tail
	committed int64
	rejected  int
}

func (c *committedTail) CommitThrough(_ context.Context, offset int64) error {
	c.committed = offset
	return nil
}

func (c *committedTail) Run(ctx context.Context, handle func(context.Context, kafka.Message) error) error {
	return c.tail.Run(ctx, func(ctx context.Context, m kafka.Message) error {
		if handle(ctx, m) != nil { // as a consumer's dead letters
			c.rejected++
		}
		return nil
	})
}

func TestAuditSeesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, kept := newBus(), &archive{}
		commands, results := &committedTail{tail: b.fromStart(envelope.Commands)}, &committedTail{tail: b.fromStart(envelope.Results)}
		metrics, err := command.NewAuditMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		stop := background(t, command.NewAuditor("f", command.AuditDeps{Commands: commands, Results: results, Records: kept, Keys: ring(t),
			Verifier: verifier(command.ResultsConfig{}), Log: quiet, Metrics: metrics}).Run)
		startAgent(t, b, agentOptions{handlers: []command.Handler{instantly("test.act")}})
		synctest.Wait()
		good := send(t, b, "operator", command.Order{Kind: "test.act"})
		forged := send(t, b, "mallory", command.Order{Kind: "test.act"})
		b.Produce(ctx, record([]byte("no envelope")))
		other := command.NewClient(command.NewSigner("guest", testKey("guest")), "g", 0, command.ClientDeps{Sink: b, Now: time.Now})
		if c, err := other.New(command.Order{Kind: "test.act", Targets: []string{"*"}, ValidFor: time.Minute}); err != nil || other.Send(ctx, &c) != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		stop()
		got := map[string]string{}
		for _, c := range kept.commands {
			got[c.ID] = c.Verified
		}
		if len(kept.commands) != 2 || got[good.ID] != "valid" || got[forged.ID] != "unknown_principal" || kept.commands[0].Seen == 0 {
			t.Errorf("commands %+v", kept.commands)
		}
		var statuses []schema.CommandStatus
		for _, r := range kept.results {
			statuses = append(statuses, r.Status)
			if r.Verified != schema.NotVerified {
				t.Errorf("result %+v: no key of its agent is known", r)
			}
		}
		slices.Sort(statuses)
		if !slices.Equal(statuses, []schema.CommandStatus{schema.CommandAccepted, schema.CommandDone, schema.CommandRefused}) {
			t.Errorf("results %+v", kept.results)
		}
		if kept.inserts != 2 || commands.committed != 1 || results.committed != 2 || commands.rejected != 2 {
			t.Errorf("%d inserts, committed %d and %d, %d rejected", kept.inserts, commands.committed, results.committed, commands.rejected)
		}
	})
}

// A command beside a malformed one, or one of another fabric, in a message is carried out, so the audit has it; the message
// goes to the dead letters too.
func TestAuditSeesCommandsBesideRejectedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, kept := newBus(), &archive{}
		commands := &committedTail{tail: b.fromStart(envelope.Commands)}
		metrics, err := command.NewAuditMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		stop := background(t, command.NewAuditor("f", command.AuditDeps{Commands: commands, Results: &committedTail{tail: b.fromStart(envelope.Results)}, Records: kept, Keys: ring(t),
			Verifier: verifier(command.ResultsConfig{}), Log: quiet, Metrics: metrics}).Run)
		h := instantly("test.act")
		startAgent(t, b, agentOptions{handlers: []command.Handler{h}})
		synctest.Wait()
		good, err := clientOf(b, "operator").New(command.Order{Kind: "test.act", Targets: []string{"*"}, ValidFor: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		bad, other := good, good
		bad.ID, other.Fabric = "-", "g"
		var encoder envelope.Encoder
		payload, err := encoder.Commands(nil, []schema.Command{bad, good, other})
		if err != nil {
			t.Fatal(err)
		}
		b.Produce(t.Context(), record(payload))
		time.Sleep(2 * time.Second)
		stop()
		if h.runs.Load() != 1 || len(kept.commands) != 1 || kept.commands[0].ID != good.ID || kept.commands[0].Verified != schema.Verified || commands.rejected != 1 {
			t.Errorf("%d runs, %d rejected, audited %+v", h.runs.Load(), commands.rejected, kept.commands)
		}
	})
}
