//go:build integration

package command_test

import (
	"encoding/json"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/schema"
)

// Over a real Kafka: three agents, one of which only knows another principal's key.
func TestOverApacheKafka(t *testing.T) {
	real := apachekafka.Start(t, apachekafka.Options{})
	noLeaks(t, goleak.IgnoreAnyFunction("github.com/giverny/giverny/internal/test/proc.(*Process).run"))
	cfg := fastConfig()
	cfg.Brokers = []string{real.Addr()}
	admin := newProcess(t, cfg, nil)
	if err := admin.client.EnsureTopics(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	newProcess(t, cfg, nil).startAgents(t, testConfig(), "gpu-1")
	newProcess(t, cfg, nil).startAgents(t, testConfig(), "gpu-2")
	stranger := command.DefaultConfig()
	stranger.Principals = []command.Principal{{Name: "somebody", Keys: []string{public("somebody")}}}
	newProcess(t, cfg, nil).startAgents(t, stranger, "gpu-3")
	client := admin.clientOf("operator")

	want := func(got []command.Answer, statuses ...schema.CommandStatus) {
		t.Helper()
		if len(got) != len(statuses) {
			t.Fatalf("%d answers, want %d: %+v", len(got), len(statuses), got)
		}
		for i, s := range statuses {
			if got[i].Status != s {
				t.Errorf("answer %d: %+v, want %s", i, got[i], s)
			}
		}
	}
	want(ask(t, client, command.Order{Kind: command.KindList, Targets: []string{"*"}}, 3), schema.CommandDone, schema.CommandDone, schema.CommandRefused)
	want(ask(t, client, command.Order{Kind: command.KindRefresh, Targets: []string{"gpu-2"}}, 1), schema.CommandDone)
	want(ask(t, client, command.Order{Kind: "test.wait", Targets: []string{"gpu-2"}, DryRun: true}, 1), schema.CommandFailed) // it has no dry run

	long, err := client.New(command.Order{Kind: "test.wait", Targets: []string{"gpu-1", "gpu-2"}, ValidFor: patience})
	if err != nil {
		t.Fatal(err)
	}
	gathered := make(chan []command.Answer)
	go func() {
		answers, err := client.Ask(t.Context(), &long, patience, 2)
		if err != nil {
			t.Error(err)
		}
		gathered <- answers
	}()
	arguments, _ := json.Marshal(command.CancelArguments{ID: long.ID})
	for range 100 { // until it runs
		time.Sleep(100 * time.Millisecond)
		answers := ask(t, client, command.Order{Kind: command.KindCancel, Targets: []string{"gpu-1", "gpu-2"}, Arguments: arguments}, 2)
		want(answers, schema.CommandDone, schema.CommandDone)
		if string(answers[0].Output) == `{"running":true}` || string(answers[1].Output) == `{"running":true}` {
			break
		}
	}
	want(<-gathered, schema.CommandCancelled, schema.CommandCancelled)
}
