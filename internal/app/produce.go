package app

import (
	"context"

	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/config"
)

// Emitter emits batches and events to the partitions of the configured fabrics. Call
// useKafka first.
func (p *Process) Emitter() *emitter.Emitter {
	return emitter.New(kafka.NewProducer(p.client), config.PartitionOf(p.cfg.Fabrics))
}

// Produce runs a function that sends readings to Kafka, which may be embedded in another process with the same data_dir.
func (p *Process) Produce(ctx context.Context, produce func(context.Context, *emitter.Emitter) error) error {
	if err := p.reachKafka(); err != nil {
		return err
	}
	return p.RunOnce(ctx, func(ctx context.Context) error {
		if err := p.EnsureTopics(ctx); err != nil {
			return err
		}
		return produce(ctx, p.Emitter())
	})
}

// EnsureTopics creates the missing topics and waits for their leaders; while Kafka is unreachable it retries.
func (p *Process) EnsureTopics(ctx context.Context) error {
	return p.client.EnsureTopics(ctx, config.NumPartitions(p.cfg.Fabrics))
}
