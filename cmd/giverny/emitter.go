package main

import (
	"context"
	"fmt"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/schema"
)

// recordSink takes records for Kafka: a producer, or one with a spool behind it.
type recordSink interface {
	Produce(ctx context.Context, r kafka.Record) error
}

// emitter puts batches and events into the partitions of their fabrics. It is
// not safe for concurrent use.
type emitter struct {
	sink       recordSink
	partitions map[string]int
	encoder    envelope.Encoder
	sequence   map[string]uint64 // by fabric and agent: the number of the next part
}

func newEmitter(sink recordSink, fabrics []config.Fabric) *emitter {
	e := &emitter{sink: sink, partitions: map[string]int{}, sequence: map[string]uint64{}}
	for _, f := range fabrics {
		e.partitions[f.Name] = f.Partition
	}
	return e
}

// Emit sends a batch, in as many messages as it takes, each with a number of its
// own.
func (e *emitter) Emit(ctx context.Context, b *schema.CounterBatch) error {
	partition, err := e.partition(b.Fabric)
	if err != nil {
		return err
	}
	stream := b.Fabric + "\x00" + b.Agent
	own := *b
	own.Sequence = e.sequence[stream] + 1
	parts, err := e.encoder.Split(&own, envelope.MaxKafkaPayload, func(payload []byte) error {
		return e.sink.Produce(ctx, kafka.Record{Fabric: b.Fabric, Partition: partition, Kind: envelope.Counters, Payload: payload})
	})
	e.sequence[stream] += uint64(parts)
	return err
}

// emitEvents sends events of one fabric.
func (e *emitter) emitEvents(ctx context.Context, fabric string, events []schema.Event) error {
	if len(events) == 0 {
		return nil
	}
	partition, err := e.partition(fabric)
	if err != nil {
		return err
	}
	payload, err := e.encoder.Events(nil, events)
	if err != nil {
		return err
	}
	return e.sink.Produce(ctx, kafka.Record{Fabric: fabric, Partition: partition, Kind: envelope.Events, Payload: payload})
}

func (e *emitter) partition(fabric string) (int, error) {
	p, ok := e.partitions[fabric]
	if !ok {
		return 0, fmt.Errorf("fabric %q is not configured: add it under fabrics, or correct collect.fabric", fabric)
	}
	return p, nil
}
