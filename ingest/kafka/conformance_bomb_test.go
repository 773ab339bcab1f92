package kafka_test

import (
	"runtime"
	"testing"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/metric"
)

// testBombs sends a small batch that decompresses to more than a producer may send: it is dropped and counted, and takes no
// memory; the records around it arrive.
func testBombs(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	const records = 300 // of 1 MiB, in some 30 KiB
	zeros, bomb := make([]byte, 1<<20), make([]kafkago.Record, records)
	for i := range bomb {
		bomb[i] = kafkago.Record{Key: kafkago.NewBytes([]byte("f")), Value: kafkago.NewBytes(zeros)}
	}
	p.produce(t, event("f", 0, 0))
	answer, err := kafka.RawClient(p.client).Produce(p.ctx, &kafkago.ProduceRequest{Topic: p.client.Config().Topic(envelope.Events),
		RequiredAcks: kafkago.RequireAll, Compression: kafkago.Zstd, Records: kafkago.NewRecordReader(bomb...)})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		t.Fatal(err)
	}
	p.produce(t, event("f", 0, 1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantPayloads(t, p.read(t, eventsOf("f", 0), 2), "f-0", "f-1")
	runtime.ReadMemStats(&after)
	if took := int64(after.TotalAlloc) - int64(before.TotalAlloc); took > 100<<20 {
		t.Errorf("reading allocated %d MiB", took>>20)
	}
	if n := metric.Sum(t, p.metrics, "giverny_kafka_lost_records_total", "batch_too_large"); n != records {
		t.Errorf("%v records counted as lost, want %d", n, records)
	}
}
