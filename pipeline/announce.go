package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// Announcer publishes the regions of every interval to Kafka, at least once: it reads
// from the topic what it published last. Consumers deduplicate by fabric, interval and
// revision; a higher revision replaces a lower one.
type Announcer struct {
	client    *kafka.Client
	producer  *kafka.Producer
	fabric    string
	partition int
	encoder   envelope.Encoder
	decoder   envelope.Decoder
	log       *slog.Logger
}

// NewAnnouncer returns the announcer of a fabric.
func NewAnnouncer(client *kafka.Client, producer *kafka.Producer, fabric string, partition int, log *slog.Logger) *Announcer {
	return &Announcer{client: client, producer: producer, fabric: fabric, partition: partition, log: log}
}

// Name is the sink's name.
func (a *Announcer) Name() string { return "regions topic" }

// Put publishes an interval. It rejects a result that is too long for a message.
func (a *Announcer) Put(ctx context.Context, r *schema.IntervalResult) error {
	payload, err := a.encoder.Regions(nil, &envelope.RegionSet{Fabric: a.fabric, GraphVersion: r.Snapshot.GraphVersion,
		Interval: r.Snapshot.Interval, Regions: r.Regions, Unknown: r.Network.Unknown, Revision: r.Revision})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	err = a.producer.Produce(ctx, kafka.Record{Fabric: a.fabric, Partition: a.partition, Kind: envelope.Regions, Payload: payload})
	var refused *kafka.RefusedError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// Last returns the start of the newest interval in the topic. It warns if that belongs to another fabric, which had this
// fabric's place in an earlier configuration.
func (a *Announcer) Last(ctx context.Context) (int64, error) {
	last, err := a.client.LastRecord(ctx, envelope.Regions, a.partition)
	if err != nil || last.Payload == nil {
		return 0, err
	}
	if last.Fabric != a.fabric {
		a.log.Warn("kafka: this fabric's partition belonged to another fabric; add new fabrics at the end of the list, or set fabrics[].partition to the earlier numbers",
			"fabric", a.fabric, "partition", a.partition, "other", last.Fabric)
	}
	set, err := a.decoder.Regions(last.Payload)
	if err != nil {
		return before(&last), nil
	}
	return set.Interval.StartNanos, nil
}

// before returns an instant before the interval that an undecodable record announces,
// for example one of a later version of the program: intervals after it are published
// again.
func before(m *kafka.Message) int64 {
	const slack = time.Hour // for an interval that is long, or was published late
	return m.Time.Add(-slack).UnixNano()
}

// DiagnosisAnnouncer publishes the diagnoses of every interval that has any to Kafka,
// at least once. Consumers deduplicate by fabric, interval, region and revision.
type DiagnosisAnnouncer struct {
	client    *kafka.Client
	emitter   *emitter.Emitter
	fabric    string
	partition int
	decoder   envelope.Decoder
}

// NewDiagnosisAnnouncer returns the announcer of a fabric.
func NewDiagnosisAnnouncer(client *kafka.Client, producer *kafka.Producer, fabric string, partition int) *DiagnosisAnnouncer {
	return &DiagnosisAnnouncer{client: client, emitter: emitter.New(producer, map[string]int{fabric: partition}), fabric: fabric, partition: partition}
}

// Name is the sink's name.
func (a *DiagnosisAnnouncer) Name() string { return "diagnoses topic" }

// Put publishes the diagnoses of an interval, in as many messages as needed. It
// rejects a result that no message can hold.
func (a *DiagnosisAnnouncer) Put(ctx context.Context, r *schema.IntervalResult) error {
	diagnoses := slices.Clone(r.Diagnoses)
	for i := range diagnoses {
		diagnoses[i].Fabric, diagnoses[i].Revision = a.fabric, r.Revision
	}
	err := a.emitter.EmitDiagnoses(ctx, a.fabric, diagnoses)
	_, unencodable := envelope.ReasonOf(err)
	var refused *kafka.RefusedError
	if unencodable || errors.As(err, &refused) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// Last returns an instant just before the newest interval in the topic, of which
// some messages may be missing: it is published again.
func (a *DiagnosisAnnouncer) Last(ctx context.Context) (int64, error) {
	last, err := a.client.LastRecord(ctx, envelope.Diagnoses, a.partition)
	if err != nil || last.Payload == nil {
		return 0, err
	}
	diagnoses, err := a.decoder.Diagnoses(last.Payload, nil)
	if err != nil || len(diagnoses) == 0 {
		return before(&last), nil
	}
	return int64(diagnoses[len(diagnoses)-1].Time) - 1, nil
}
