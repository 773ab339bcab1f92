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

// KafkaSources are the sources of live data of a fabric: its partition of the
// counters, of the events and of what schedulers and logs say, and the clock that
// closes intervals.
// Offsets are committed through the fence, which may be nil.
func KafkaSources(client *kafka.Client, producer *kafka.Producer, fabric string, partition int, interval time.Duration, fence kafka.Fence) []Source {
	consumer := func(kind envelope.Kind) *kafka.Consumer {
		return kafka.NewConsumer(client, producer, kafka.Assignment{Kind: kind, Fabric: fabric, Partition: partition, Fence: fence})
	}
	feeds := []*kafka.Consumer{consumer(envelope.Events), consumer(envelope.Jobs), consumer(envelope.Failures), consumer(envelope.Traffic)}
	counters := &counterSource{consumer: consumer(envelope.Counters), feeds: feeds}
	return []Source{counters, newEventSource(feeds[0]), newJobSource(feeds[1]), newFailureSource(feeds[2]), newTrafficSource(feeds[3]),
		&clockSource{readUpTo: counters.consumer.ReadUpTo, answered: counters.consumer.Answered, interval: interval}}
}

// counterSource reads batches of counters.
type counterSource struct {
	consumer *kafka.Consumer
	feeds    []*kafka.Consumer // of jobs, failures and traffic
	decoder  envelope.Decoder
	batch    schema.CounterBatch
}

func (s *counterSource) Name() string { return "counters" }

// Run hands batches to the intake. One that cannot be read, or is of another
// fabric, goes to the dead letters and costs nothing else.
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

// feedsFirst is for how long a backlog of counters waits for that of the feeds, so that
// the jobs of an interval are known when it is analysed. A feed that cannot be read
// costs no more than this.
const feedsFirst = 5 * time.Second

// awaitFeeds waits until what was in the feeds' topics at the start has been read. It
// returns false if ctx ends first.
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

// timesOf are the times of a record. Where the broker does not say when it appended
// it, that is the producer's time or, if that is earlier, this host's: nothing lies
// in the future of both.
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

// Commit tells Kafka that what lies up to an offset is stored.
func (s *counterSource) Commit(ctx context.Context, offset int64) error {
	return s.consumer.CommitThrough(ctx, offset)
}

// BeginAt makes the next Run begin with what was sent at an instant, or earlier.
func (s *counterSource) BeginAt(at time.Time) { s.consumer.BeginAt(at) }

// rejected sends what the intake refuses to the dead letters, and passes on what
// ends the run.
func rejected(in *Intake, err error) error {
	if err == nil || in.IsFault(err) {
		return err
	}
	return &kafka.Rejection{Err: err}
}

// clockSource tells the analysis the time several times an interval: the instant
// up to which everything in Kafka has been read, so that a backlog, or a broker
// that is away, closes nothing before its readings are here.
type clockSource struct {
	readUpTo func() time.Time
	answered func() time.Time // by the broker
	interval time.Duration
}

func (s *clockSource) Name() string { return "clock" }

// awayAfter is how long the broker may be silent: it answers several times a
// second, with nothing if need be.
const awayAfter = 1500 * time.Millisecond

// Run advances the analysis until ctx ends.
func (s *clockSource) Run(ctx context.Context, in *Intake) error {
	ticker := time.NewTicker(max(s.interval/8, 50*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if at := s.answered(); at.UnixNano() > 0 && time.Since(at) > awayAfter {
			in.BrokerAway(at.UnixNano(), time.Now().UnixNano())
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
