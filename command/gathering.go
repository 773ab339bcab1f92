package command

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// gathering collects the answers to one command.
type gathering struct {
	id, fabric string
	now        func() time.Time
	expect     int // number of agents; 0: all until the wait ends
	enough     func(*schema.CommandResult) bool
	verifier   *Verifier
	log        *slog.Logger
	complete   func()

	mu    sync.Mutex
	sent  schema.Instant    // guarded by mu
	last  map[string]Answer // guarded by mu; by agent
	heard map[string]bool   // guarded by mu; agents that have sent enough
}

func (g *gathering) setSent(at schema.Instant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = at
}

// take keeps results of the command. Unreadable messages are ignored; the audit handles them.
func (g *gathering) take(_ context.Context, m kafka.Message) error {
	received := schema.InstantOf(g.now())
	var decoder envelope.Decoder
	results, err := decoder.Results(m.Payload, nil)
	if err != nil {
		return err
	}
	for _, r := range results {
		if checkResult(&r) != nil || r.CommandID != g.id || r.Fabric != g.fabric {
			continue
		}
		if _, no := g.verifier.Verify(&r); no != nil {
			g.log.Warn("command: result refused", "command", r.CommandID, "agent", r.Agent, "reason", no.Reason, "detail", no.Detail)
			continue
		}
		g.add(r, received)
	}
	return nil
}

func (g *gathering) add(r schema.CommandResult, received schema.Instant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last[r.Agent].Status.Final() {
		return // only its first final result counts
	}
	g.last[r.Agent] = Answer{CommandResult: r, Sent: g.sent, Received: received}
	if g.enough(&r) {
		g.heard[r.Agent] = true
	}
	if g.expect > 0 && len(g.heard) >= g.expect {
		g.complete()
	}
}

func (g *gathering) answers() []Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.SortedFunc(maps.Values(g.last), func(a, b Answer) int { return strings.Compare(a.Agent, b.Agent) })
}
