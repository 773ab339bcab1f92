package pipeline

import (
	"context"
	"time"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// feedSource reads what is not counters from a topic: payloads of rows of one kind.
// One that cannot be read, or is of another fabric, goes to the dead letters and
// costs nothing else.
type feedSource[T any] struct {
	name     string
	consumer *kafka.Consumer
	decoder  envelope.Decoder
	decode   func(d *envelope.Decoder, payload []byte, into []T) ([]T, error)
	take     func(in *Intake, s Source, rows []T, offset, appendedNanos int64) error
}

func newEventSource(c *kafka.Consumer) Source {
	return &feedSource[schema.Event]{name: "events", consumer: c, decode: (*envelope.Decoder).Events,
		take: func(in *Intake, s Source, events []schema.Event, offset, _ int64) error {
			return in.Events(s, events, offset)
		}}
}

func newJobSource(c *kafka.Consumer) Source {
	return &feedSource[schema.Job]{name: "jobs", consumer: c, decode: (*envelope.Decoder).Jobs, take: (*Intake).Jobs}
}

func newFailureSource(c *kafka.Consumer) Source {
	return &feedSource[schema.Failure]{name: "failures", consumer: c, decode: (*envelope.Decoder).Failures, take: (*Intake).Failures}
}

func newTrafficSource(c *kafka.Consumer) Source {
	return &feedSource[schema.JobTraffic]{name: "traffic", consumer: c, decode: (*envelope.Decoder).Traffic, take: (*Intake).Traffic}
}

func (s *feedSource[T]) Name() string { return s.name }

// Run hands rows to the intake.
func (s *feedSource[T]) Run(ctx context.Context, in *Intake) error {
	return s.consumer.Run(ctx, func(_ context.Context, m kafka.Message) error {
		rows, err := s.decode(&s.decoder, m.Payload, nil)
		if err != nil {
			return err
		}
		return rejected(in, s.take(in, s, rows, m.Offset, timesOf(&m, time.Now()).AppendedNanos))
	})
}

// Commit tells Kafka that what lies up to an offset is stored.
func (s *feedSource[T]) Commit(ctx context.Context, offset int64) error {
	return s.consumer.CommitThrough(ctx, offset)
}

// BeginAt makes the next Run begin with what was sent at an instant, or earlier.
func (s *feedSource[T]) BeginAt(at time.Time) { s.consumer.BeginAt(at) }
