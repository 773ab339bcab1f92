package command_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/kafka"
)

// unreachable is a source whose Kafka never answers.
type unreachable struct{}

func (unreachable) Run(ctx context.Context, _ func(context.Context, kafka.Message) error) error {
	<-ctx.Done()
	return nil
}

func (unreachable) ReadUpTo() time.Time { return time.Unix(0, 0) }

// Sending a command while no broker answers is a clear error.
func TestAskWithoutKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := command.NewClient(command.NewSigner("operator", testKey("operator")), "f", 0,
			command.ClientDeps{Results: func() command.TailSource { return unreachable{} }, Now: time.Now})
		c, err := client.New(command.Order{Kind: command.KindList, Targets: []string{"*"}, ValidFor: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Ask(t.Context(), &c, time.Second, 0); err == nil || !strings.Contains(err.Error(), "no answer from Kafka for 20s; check that kafka.brokers") {
			t.Errorf("error %v", err)
		}
	})
}
