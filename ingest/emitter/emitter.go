// Package emitter sends what sources read and report to the Kafka partitions of their fabrics: batches of
// counters, which it numbers, events, and documents. It waits for each record until the sink has accepted it
// and buffers nothing; what the sink does with a record is not its concern.
package emitter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// Sink accepts records for Kafka: a producer, or one with a spool.
type Sink interface {
	Produce(ctx context.Context, r kafka.Record) error
}

// Emitter is the only place that numbers batches. The first batch of a fabric, source and agent is 1, and
// every part of a batch that is tried takes the next number, whether it is sent or not: a gap means that a
// batch was lost. It is safe for concurrent use; calls are serialised, so that batches are sent in the order
// of their numbers.
type Emitter struct {
	sink       Sink
	partitions map[string]int // by fabric; never changes

	mu      sync.Mutex
	encoder envelope.Encoder  // guarded by mu
	last    map[stream]uint64 // guarded by mu; the last number used
}

// stream is the scope of one numbering.
type stream struct{ fabric, source, agent string }

// New returns an emitter for the fabrics with the given partitions.
func New(sink Sink, partitions map[string]int) *Emitter {
	return &Emitter{sink: sink, partitions: partitions, last: map[stream]uint64{}}
}

// Emit sends a batch, in as many records as needed. If the sink permanently rejects a part, the part and its
// number are lost, and the next parts are still sent; after any other error the rest of the batch is lost.
func (e *Emitter) Emit(ctx context.Context, b *schema.CounterBatch) error {
	partition, err := e.partition(b.Fabric)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := stream{b.Fabric, b.Source, b.Agent}
	numbered := *b
	numbered.Sequence = e.last[key] + 1
	var refused []error
	parts, err := e.encoder.Split(&numbered, envelope.MaxKafkaPayload, func(payload []byte) error {
		err := e.sink.Produce(ctx, kafka.Record{Fabric: b.Fabric, Partition: partition, Kind: envelope.Counters, Payload: payload})
		if _, final := errors.AsType[*kafka.RefusedError](err); final {
			refused = append(refused, err)
			return nil
		}
		return err
	})
	if err != nil {
		parts++ // the one that was tried
	}
	e.last[key] += uint64(parts)
	return errors.Join(append(refused, err)...)
}

// EmitEvents sends events of one fabric.
func (e *Emitter) EmitEvents(ctx context.Context, fabric string, events []schema.Event) error {
	return emit(ctx, e, fabric, envelope.Events, events, e.encoder.Events, func(ev *schema.Event) string { return ev.Fabric })
}

// EmitJobs sends jobs of one fabric.
func (e *Emitter) EmitJobs(ctx context.Context, fabric string, jobs []schema.Job) error {
	return emit(ctx, e, fabric, envelope.Jobs, jobs, e.encoder.Jobs, func(j *schema.Job) string { return j.Fabric })
}

// EmitFailures sends failures of one fabric.
func (e *Emitter) EmitFailures(ctx context.Context, fabric string, failures []schema.Failure) error {
	return emit(ctx, e, fabric, envelope.Failures, failures, e.encoder.Failures, func(f *schema.Failure) string { return f.Fabric })
}

// EmitTraffic sends the traffic of jobs of one fabric.
func (e *Emitter) EmitTraffic(ctx context.Context, fabric string, traffic []schema.JobTraffic) error {
	return emit(ctx, e, fabric, envelope.Traffic, traffic, e.encoder.Traffic, func(t *schema.JobTraffic) string { return t.Fabric })
}

// EmitDiagnoses sends diagnoses of one fabric.
func (e *Emitter) EmitDiagnoses(ctx context.Context, fabric string, diagnoses []schema.Diagnosis) error {
	return emit(ctx, e, fabric, envelope.Diagnoses, diagnoses, e.encoder.Diagnoses, func(d *schema.Diagnosis) string { return d.Fabric })
}

// emit sends rows in as few records as possible. It stops at the first error.
func emit[T any](ctx context.Context, e *Emitter, fabric string, kind envelope.Kind, rows []T,
	encode func([]byte, []T) ([]byte, error), fabricOf func(*T) string) error {
	if len(rows) == 0 {
		return nil
	}
	partition, err := e.partition(fabric)
	if err != nil {
		return err
	}
	for i := range rows {
		if own := fabricOf(&rows[i]); own != fabric {
			return fmt.Errorf("emit %s of fabric %q: row %d is of fabric %q", kind, fabric, i, own)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return halves(rows, encode, func(payload []byte) error {
		return e.sink.Produce(ctx, kafka.Record{Fabric: fabric, Partition: partition, Kind: kind, Payload: payload})
	})
}

// halves encodes rows as one payload, or halves them as long as that is too large.
func halves[T any](rows []T, encode func([]byte, []T) ([]byte, error), each func(payload []byte) error) error {
	payload, err := encode(nil, rows)
	reason, _ := envelope.ReasonOf(err)
	tooLarge := reason == envelope.TooLarge || err == nil && len(payload) > envelope.MaxKafkaPayload
	switch n := len(rows) / 2; {
	case tooLarge && n > 0:
		if err := halves(rows[:n], encode, each); err != nil {
			return err
		}
		return halves(rows[n:], encode, each)
	case err != nil:
		return err
	}
	return each(payload)
}

func (e *Emitter) partition(fabric string) (int, error) {
	p, ok := e.partitions[fabric]
	if !ok {
		return 0, fmt.Errorf("fabric %q is not configured: add it under fabrics, or correct collect.fabric", fabric)
	}
	return p, nil
}
