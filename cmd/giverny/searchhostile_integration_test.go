//go:build integration

package main

import (
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// hostile sends commands that no agent may execute: forged ones, a modified one, a replayed one, a stale one and
// one for another host. Each is audited as such, and none starts a search.
func (s *site) hostile(done schema.Command) {
	s.t.Helper()
	metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		s.t.Fatal(err)
	}
	cfg := kafka.DefaultConfig()
	cfg.Brokers = []string{s.kafka}
	client, err := kafka.NewClient(cfg, nil, metrics, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	truly, err := command.ReadSigner("operator", filepath.Join(s.dir, "operator.pem"))
	if err != nil {
		s.t.Fatal(err)
	}
	forger := command.NewSigner("operator", ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	order := func(id string, signer *command.Signer, edit func(*schema.Command)) schema.Command {
		c := done
		now := schema.InstantOf(time.Now())
		c.ID, c.Issued, c.Expires = id, now, now+schema.Instant(time.Minute)
		if edit != nil {
			edit(&c)
		}
		if err := signer.Sign(&c); err != nil {
			s.t.Fatal(err)
		}
		return c
	}
	changed := done // a valid signature, for other arguments
	changed.Arguments = json.RawMessage(`{"engine":"rig","budget":1,"duration_seconds":1}`)
	const second = schema.Instant(time.Second)
	time.Sleep(time.Until((done.Issued + 8*second).Time())) // after the agents' clock_tolerance, and after they started
	commands := []schema.Command{order("forged", forger, nil), changed, done,
		order("stale", truly, func(c *schema.Command) { c.Issued, c.Expires = done.Issued+1, done.Issued+second }),
		order("elsewhere", truly, func(c *schema.Command) {
			c.Targets, c.Arguments = []string{"n9"}, json.RawMessage(`{"engine":"rig","subsystem":{"nic_model":"another"},"budget":1,"duration_seconds":1,"seed":1}`)
		})}
	producer := kafka.NewProducer(client)
	for i := range commands {
		var encoder envelope.Encoder
		payload, err := encoder.Commands(nil, commands[i:i+1])
		if err != nil {
			s.t.Fatal(err)
		}
		if err := producer.Produce(s.t.Context(), kafka.Record{Fabric: "ib0", Kind: envelope.Commands, Payload: payload}); err != nil {
			s.t.Fatal(err)
		}
	}
	model := read.New(s.db)
	var seen map[string][]string
	if !await.Holds(time.Minute, 100*time.Millisecond, func() bool {
		list, err := model.Commands(s.t.Context(), "ib0", read.Span{To: read.Newest})
		if err != nil {
			s.t.Fatal(err)
		}
		seen = map[string][]string{}
		for i := range list {
			seen[list[i].ID] = append(seen[list[i].ID], list[i].Verified)
		}
		return len(seen["forged"]) > 0 && len(seen["stale"]) > 0 && len(seen["elsewhere"]) > 0 && len(seen[done.ID]) >= 2
	}) {
		s.t.Fatalf("audit %v", seen)
	}
	if seen["forged"][0] != string(command.BadSignature) || seen[done.ID][0] != schema.Verified || seen[done.ID][1] != string(command.BadSignature) {
		s.t.Errorf("audit %v", seen)
	}
	s.answered(model, "forged", schema.CommandRefused)
	s.answered(model, "stale", schema.CommandExpired)
	if results, err := model.CommandResults(s.t.Context(), "ib0", "elsewhere"); err != nil || len(results) != 0 {
		s.t.Errorf("a command for another host: %+v, %v", results, err)
	}
	var accepted int
	results, err := model.CommandResults(s.t.Context(), "ib0", done.ID)
	for _, r := range results {
		if r.Status == schema.CommandAccepted {
			accepted++
		}
	}
	if one, errOne := model.Search(s.t.Context(), "ib0", done.ID); err != nil || errOne != nil || accepted != 1 || one.Budget != 120 || one.Agents[0].Status != schema.CommandDone {
		s.t.Errorf("replayed and changed: accepted %d times, %+v, %v %v", accepted, one, err, errOne)
	}
	var list struct{ Searches []read.Search }
	s.get("searches", &list)
	for i := range list.Searches {
		if list.Searches[i].ID == "forged" {
			s.t.Errorf("a forged search is listed: %+v", list.Searches[i])
		}
	}
}

// answered waits until the audit has a result of n1 with a status.
func (s *site) answered(model *read.Model, id string, status schema.CommandStatus) {
	s.t.Helper()
	var results []schema.CommandResult
	var err error
	if !await.Holds(time.Minute, 100*time.Millisecond, func() bool {
		results, err = model.CommandResults(s.t.Context(), "ib0", id)
		return err == nil && len(results) > 0 && results[0].Agent == "n1" && results[0].Status == status
	}) {
		s.t.Fatalf("command %s: %+v, %v; want %s", id, results, err, status)
	}
}
