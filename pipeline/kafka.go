package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/giverny/giverny/ingest/clockcheck"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/schema"
)

// KafkaSources returns the sources of live data of a fabric: its partitions of
// the counters, the events and the reports of schedulers and logs, and the clock
// that closes intervals. Offsets are committed with the fence, which may be nil.
func KafkaSources(client *kafka.Client, producer *kafka.Producer, fabric string, partition int, interval time.Duration, fence kafka.Fence) []Source {
	consumer := func(kind envelope.Kind) *kafka.Consumer {
		return kafka.NewConsumer(client, producer, kafka.Assignment{Kind: kind, Fabric: fabric, Partition: partition, Fence: fence})
	}
	feeds := []*kafka.Consumer{consumer(envelope.Events), consumer(envelope.Jobs), consumer(envelope.Failures), consumer(envelope.Traffic)}
	counters := &counterSource{consumer: consumer(envelope.Counters), feeds: feeds}
	return []Source{counters, newEventSource(feeds[0]), newJobSource(feeds[1]), newFailureSource(feeds[2]), newTrafficSource(feeds[3]),
		&clockSource{readUpTo: counters.consumer.ReadUpTo, answered: counters.consumer.Answered, refusal: counters.consumer.Refusal, interval: interval}}
}

// counterSource reads batches of counters.
type counterSource struct {
	consumer *kafka.Consumer
	feeds    []*kafka.Consumer // of jobs, failures and traffic
	decoder  envelope.Decoder
	batch    schema.CounterBatch
}

func (s *counterSource) Name() string { return "counters" }

// Run passes batches to the intake. A batch that is unreadable or of another
// fabric goes to the dead-letter topic; the others are not affected.
func (s *counterSource) Run(ctx context.Context, in *Intake) error {
	if !s.awaitFeeds(ctx) {
		return nil
	}
	return s.consumer.Run(ctx, func(_ context.Context, m kafka.Message) error {
		if err := s.decoder.Counters(m.Payload, &s.batch); err != nil {
			return err
		}
		return rejected(in, in.CountersTimed(s, &s.batch, m.Offset, timesOf(&m, time.Now())))
	})
}

// feedsFirst is how long a backlog of counters waits for that of the feeds, so that the
// jobs of an interval are known when it is analysed. An unreadable feed delays the
// start by no more than this.
const feedsFirst = 5 * time.Second

// awaitFeeds waits until the feeds' backlog at the start has been read. It returns
// false if ctx ends first.
func (s *counterSource) awaitFeeds(ctx context.Context) bool {
	began := time.Now()
	behind := func(c *kafka.Consumer) bool { return c.ReadUpTo().Before(began) }
	for time.Since(began) < feedsFirst && slices.ContainsFunc(s.feeds, behind) {
		if !retry.Sleep(ctx, 20*time.Millisecond) {
			return false
		}
	}
	return true
}

// timesOf returns the times of a record. If the broker does not say when it
// appended it, that is the producer's time or this host's, whichever is earlier: no
// append time is in the future of both.
func timesOf(m *kafka.Message, now time.Time) (t clockcheck.Times) {
	appended := m.Appended
	if appended.IsZero() {
		if appended = m.Time; appended.After(now) {
			appended = now
		}
	}
	t.AppendedNanos = appended.UnixNano()
	if !m.Sent.IsZero() {
		t.SentNanos = m.Sent.UnixNano()
	}
	return t
}

// Commit commits the offset of a message to Kafka once it and all before it are stored.
func (s *counterSource) Commit(ctx context.Context, offset int64) error {
	return s.consumer.CommitThrough(ctx, offset)
}

// BeginAt makes the next Run start at or before the messages sent at an instant.
func (s *counterSource) BeginAt(at time.Time) { s.consumer.BeginAt(at) }

// HeldSince returns the time of the first message that Kafka still has; zero if it has not deleted any yet.
func (s *counterSource) HeldSince(ctx context.Context) (time.Time, error) {
	return s.consumer.HeldSince(ctx)
}

// rejected makes the consumer dead-letter what the intake rejects, and passes on
// errors that end the run.
func rejected(in *Intake, err error) error {
	if err == nil || in.IsFault(err) {
		return err
	}
	return &kafka.Rejection{Err: err}
}

// clockSource tells the analysis the time, several times per interval: the
// instant up to which everything in Kafka has been read, so that during a
// backlog or an outage of the broker no interval closes before its readings
// arrive.
type clockSource struct {
	readUpTo func() time.Time
	answered func() time.Time // by the broker
	// refusal returns why the broker accepts no records although it answers, and since when none arrived; "": it accepts
	// them. nil: they are always accepted.
	refusal  func(context.Context) (why string, since time.Time)
	interval time.Duration
}

func (s *clockSource) Name() string { return "clock" }

// awayAfter is how long the broker may be silent before it counts as
// unavailable: it answers several times per second, with an empty response if
// there is nothing.
const awayAfter = 1500 * time.Millisecond

// Run advances the analysis until ctx ends.
func (s *clockSource) Run(ctx context.Context, in *Intake) error {
	in.watch.live()
	ticker := time.NewTicker(max(s.interval/8, 50*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if at := s.answered(); at.UnixNano() > 0 && time.Since(at) > awayAfter {
			in.BrokerAway("", at.UnixNano(), time.Now().UnixNano())
			continue
		}
		if why, since := s.refused(ctx); why != "" {
			in.BrokerAway(why, since.UnixNano(), time.Now().UnixNano())
			continue
		}
		upTo := s.readUpTo().UnixNano()
		if upTo <= 0 { // not known yet
			continue
		}
		if err := in.Advance(upTo, time.Now().UnixNano()); err != nil {
			return err
		}
	}
}

// refused is refusal, with a timeout: a broker that does not answer is silent, which is handled above.
func (s *clockSource) refused(ctx context.Context) (why string, since time.Time) {
	if s.refusal == nil {
		return "", time.Time{}
	}
	ctx, cancel := context.WithTimeout(ctx, awayAfter)
	defer cancel()
	return s.refusal(ctx)
}
