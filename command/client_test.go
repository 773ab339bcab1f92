package command_test

import (
	"context"
	"errors"
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

// scripted is a source that has reached the end of the log or not, and ends by itself after a second.
type scripted struct {
	read time.Time
	err  error
}

func (s scripted) Run(ctx context.Context, _ func(context.Context, kafka.Message) error) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(time.Second):
		return s.err
	}
}

func (s scripted) ReadUpTo() time.Time { return s.read }

// fails is a sink's error.
type fails struct{ err error }

func (f fails) Produce(context.Context, kafka.Record) error { return f.err }

// A reader that ends and a command that cannot be sent are errors that say at which step.
func TestAskThatFails(t *testing.T) {
	broken := errors.New("connection reset")
	for says, c := range map[string]struct {
		source scripted
		sink   error
	}{
		"listen for answers: connection reset":               {scripted{time.Unix(0, 0), broken}, nil},
		"listen for answers: the reader ended by itself":     {scripted{time.Unix(0, 0), nil}, nil},
		"send command ID: connection reset":                  {scripted{time.Unix(1, 0), nil}, broken},
		"gather the answers to command ID: connection reset": {scripted{time.Unix(1, 0), broken}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := command.NewClient(command.NewSigner("operator", testKey("operator")), "f", 0,
				command.ClientDeps{Sink: fails{c.sink}, Results: func() command.TailSource { return c.source }, Now: time.Now})
			order, err := client.New(command.Order{Kind: command.KindList, Targets: []string{"*"}, ValidFor: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Ask(t.Context(), &order, time.Minute, 0); err == nil || err.Error() != strings.ReplaceAll(says, "ID", order.ID) {
				t.Errorf("error %v, want %q", err, says)
			}
		})
	}
}
