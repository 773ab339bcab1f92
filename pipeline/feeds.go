package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// feedSource reads a topic other than counters: payloads of rows of one kind. A
// payload that is unreadable or of another fabric goes to the dead-letter topic;
// the others are not affected.
type feedSource[T any] struct {
	name     string
	consumer *kafka.Consumer
	decoder  envelope.Decoder
	decode   func(d *envelope.Decoder, payload []byte, into []T) ([]T, error)
	take     func(in *Intake, s Source, rows []T, offset, appendedNanos int64) error
}

func newEventSource(c *kafka.Consumer) Source {
	return &feedSource[schema.Event]{name: "events", consumer: c, decode: (*envelope.Decoder).Events, take: (*Intake).Events}
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

// Run passes rows to the intake.
func (s *feedSource[T]) Run(ctx context.Context, in *Intake) error {
	return s.consumer.Run(ctx, func(_ context.Context, m kafka.Message) error {
		rows, err := s.decode(&s.decoder, m.Payload, nil)
		if err != nil {
			return err
		}
		return rejected(in, s.take(in, s, rows, m.Offset, timesOf(&m, time.Now()).AppendedNanos))
	})
}

// Commit commits the offset of a message to Kafka once it and all before it are stored.
func (s *feedSource[T]) Commit(ctx context.Context, offset int64) error {
	return s.consumer.CommitThrough(ctx, offset)
}

// BeginAt makes the next Run start at or before the messages sent at an instant.
func (s *feedSource[T]) BeginAt(at time.Time) { s.consumer.BeginAt(at) }

// Events takes events that were appended to Kafka at an instant, 0 if unknown. If
// one is of another fabric, it rejects all.
func (in *Intake) Events(s Source, events []schema.Event, offset, appendedNanos int64) error {
	return takeFeed(in, s, events, offset, func(e *schema.Event) string { return e.Fabric }, func() int64 { return in.core.AddEvents(events, appendedNanos) })
}

// Jobs is like Events for jobs.
func (in *Intake) Jobs(s Source, jobs []schema.Job, offset, appendedNanos int64) error {
	return takeFeed(in, s, jobs, offset, func(j *schema.Job) string { return j.Fabric }, func() int64 { return in.core.AddJobs(jobs, appendedNanos) })
}

// Failures is like Events for failures.
func (in *Intake) Failures(s Source, failures []schema.Failure, offset, appendedNanos int64) error {
	return takeFeed(in, s, failures, offset, func(f *schema.Failure) string { return f.Fabric }, func() int64 { return in.core.AddFailures(failures, appendedNanos) })
}

// Traffic is like Events for the traffic of jobs.
func (in *Intake) Traffic(s Source, traffic []schema.JobTraffic, offset, appendedNanos int64) error {
	return takeFeed(in, s, traffic, offset, func(t *schema.JobTraffic) string { return t.Fabric }, func() int64 { return in.core.AddTraffic(traffic, appendedNanos) })
}

// takeFeed takes rows of one kind. Their offset is not committed before the
// intervals that emit them are stored.
func takeFeed[T any](in *Intake, s Source, rows []T, offset int64, fabricOf func(*T) string, add func() (newestNanos int64)) error {
	return in.locked(func() error {
		for i := range rows {
			if fabric := fabricOf(&rows[i]); fabric != in.fabric {
				return fmt.Errorf("row for fabric %q: wrong fabric: this analyser handles %q", fabric, in.fabric)
			}
		}
		in.took(s, offset, add())
		return nil
	})
}
