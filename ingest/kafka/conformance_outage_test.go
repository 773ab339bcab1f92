package kafka_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/metric"
)

// testBrokerRestart produces and consumes while the broker crashes and restarts.
func testBrokerRestart(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()

	var mu sync.Mutex
	seen := map[string]int{}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(seen) }
	consumed := make(chan error, 1)
	go func() {
		c := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
		consumed <- c.Run(ctx, func(ctx context.Context, m kafka.Message) error {
			mu.Lock()
			seen[string(m.Payload)]++
			mu.Unlock()
			return c.CommitThrough(ctx, m.Offset)
		})
	}()
	acked := 0
	for ; acked < 40; acked++ {
		p.produce(t, event("f", 0, acked))
		if acked == 20 {
			b.stop()
			go func() { // once the outage is noticed
				await.Holds(time.Minute, 10*time.Millisecond, func() bool { return metric.Sum(t, p.metrics, "giverny_kafka_produce_retries_total") > 0 })
				b.start()
			}()
		}
	}
	waitFor(t, "all records", func() bool { return count() == acked })
	cancel()
	if err := <-consumed; err != nil {
		t.Fatal(err)
	}
	if got := metric.Sum(t, p.metrics, "giverny_kafka_produce_retries_total"); got == 0 {
		t.Error("the outage went unnoticed")
	}
}

func testSpoolOutage(t *testing.T, b *broker) {
	p := newPeer(t, b)
	p.topics(t, 1)
	var want []string
	config := spool.DefaultConfig()
	config.Dir = t.TempDir()
	a := startAgent(t, p, config)
	put := func(n int) {
		for range n {
			r := event("f", 0, len(want))
			want = append(want, string(r.Payload))
			if err := a.producer.Produce(p.ctx, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(10)
	if a.spool.Len() != 0 {
		t.Error("records went to the disk although Kafka is there")
	}
	b.stop()
	put(300)
	if a.spool.Len() == 0 {
		t.Error("no record is in the spool")
	}
	a.stop(t) // the agent restarts during the outage
	a = startAgent(t, p, config)
	put(50)
	b.start()
	put(50)
	waitFor(t, "the spool to drain", func() bool { return a.spool.Len() == 0 })
	a.stop(t)
	put(1)
	got := withoutRepeats(p.readAtLeast(t, eventsOf("f", 0), want[len(want)-1]))
	if !slices.Equal(got, want) {
		t.Errorf("%d records in order, want %d", len(got), len(want))
	}
}

// agent is a process that produces through a spool.
type agent struct {
	spool    *spool.Spool
	producer *kafka.SpoolingProducer
	cancel   context.CancelFunc
	done     chan error
}

func startAgent(t *testing.T, p *peer, config spool.Config) *agent {
	t.Helper()
	a := &agent{done: make(chan error, 1)}
	var err error
	if a.spool, err = spool.Open(config, prometheus.NewRegistry(), quiet()); err != nil {
		t.Fatal(err)
	}
	if a.producer, err = kafka.NewSpoolingProducer(p.producer, a.spool, time.Second); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(p.ctx)
	go func() { a.done <- a.producer.Run(ctx) }()
	return a
}

func (a *agent) stop(t *testing.T) {
	t.Helper()
	a.cancel()
	if err := <-a.done; err != nil {
		t.Error(err)
	}
	if err := a.spool.Close(); err != nil {
		t.Error(err)
	}
}

// testHangingConnections makes the network swallow everything for a while, without an error.
func testHangingConnections(t *testing.T, b *broker) {
	hanging := *b
	hanging.config.RequestTimeout = 300 * time.Millisecond
	hanging.config.Consumer.StallTimeout = 500 * time.Millisecond
	n := newTroubledNetwork(b.dial)
	hanging.dial = n.dial
	p := newPeer(t, &hanging)
	p.topics(t, 1)
	p.produce(t, event("f", 0, 0))
	c := kafka.NewConsumer(p.client, p.producer, eventsOf("f", 0))
	got := p.readWith(t, c, 2, func(ctx context.Context, m kafka.Message) error {
		if m.Offset == 0 {
			n.hang()
			time.AfterFunc(1500*time.Millisecond, func() {
				n.recover()
				_ = p.producer.Produce(p.ctx, event("f", 0, 1))
			})
		}
		return nil
	})
	wantPayloads(t, got, "f-0", "f-1")
	if got := metric.Sum(t, p.metrics, "giverny_kafka_reconnects_total", "errors"); got == 0 {
		t.Error("no new connections were opened")
	}
}
