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

// unreachable is a source whose Kafka never answers. It takes a second to stop.
type unreachable struct{ stopped *bool }

func (u unreachable) Run(ctx context.Context, _ func(context.Context, kafka.Message) error) error {
	<-ctx.Done()
	time.Sleep(time.Second)
	*u.stopped = true
	return nil
}

func (unreachable) ReadUpTo() time.Time { return time.Unix(0, 0) }

// Sending a command while no broker answers is a clear error, and leaves no reader behind.
func TestAskWithoutKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		client := command.NewClient(command.NewSigner("operator", testKey("operator")), "f", 0,
			command.ClientDeps{Results: func() command.TailSource { return unreachable{&stopped} }, Now: time.Now})
		c, err := client.New(command.Order{Kind: command.KindList, Targets: []string{"*"}, ValidFor: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Ask(t.Context(), &c, time.Second, 0); err == nil || !strings.Contains(err.Error(), "no answer from Kafka for 20s; check that kafka.brokers") {
			t.Errorf("error %v", err)
		}
		if !stopped {
			t.Error("the reader is still running")
		}
	})
}
