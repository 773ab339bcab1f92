//go:build integration

package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/topology"
)

// kafkaClient returns a new client of a broker, as every process has its own.
func kafkaClient(t *testing.T, b *apachekafka.Broker) *kafka.Client {
	t.Helper()
	cfg := kafka.DefaultConfig()
	cfg.Brokers = []string{b.Addr()}
	metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kafka.NewClient(cfg, nil, metrics, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// runAgent polls its share of the fabric every interval, by a producer with a spool.
func runAgent(ctx context.Context, t *testing.T, b *apachekafka.Broker, g *topology.Graph, share, all int, interval time.Duration) {
	log, reg := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	cfg := spool.DefaultConfig()
	cfg.Dir = t.TempDir()
	queue, err := spool.Open(cfg, reg, log)
	if err != nil {
		t.Error(err)
		return
	}
	defer queue.Close()
	producer, err := kafka.NewSpoolingProducer(kafka.NewProducer(kafkaClient(t, b)), queue, interval/2)
	if err != nil {
		t.Error(err)
		return
	}
	var draining sync.WaitGroup
	defer draining.Wait()
	draining.Go(func() { producer.Run(ctx) })
	sink := emitter.New(producer, map[string]int{"f": 0})
	s := &spooler{graph: g, name: fmt.Sprintf("n%d", share), share: share, all: all, interval: interval}
	// Polls that a busy machine missed are made later, with their own times: whatever is missing was lost.
	for n, at := uint64(1), time.Now().Add(interval); retry.Sleep(ctx, time.Until(at)); n, at = n+1, at.Add(interval) {
		if err := sink.Emit(ctx, s.poll(n, at)); err != nil && ctx.Err() == nil {
			t.Errorf("agent %d: %v", share, err)
		}
	}
}

// outageOfKafka is an outage of a real broker, with real spools.
type outageOfKafka struct {
	agents   int
	kill     bool // or stop
	replica  bool // only the second of two brokers, both of which must be in sync
	outage   time.Duration
	hold     time.Duration
	interval time.Duration // of agents and analysis
}

// An outage with a real broker and real spools: Kafka stops while agents poll every second, for longer than
// the clock leaves intervals open. In the end every interval is whole.
func TestAnOutageOfApacheKafkaLosesNothing(t *testing.T) {
	(&outageOfKafka{agents: 8, outage: 12 * time.Second, hold: 18 * time.Second, interval: time.Second}).run(t)
}

// The same with as many agents as a cluster has; the broker is killed, and intervals are completed later.
func TestChaosAnOutageForManyAgents(t *testing.T) {
	(&outageOfKafka{agents: 200, kill: true, outage: 15 * time.Second, interval: time.Second}).run(t)
}

// The broker answers, but accepts no records, because its only replica is down: intervals are held, and none is stored
// with less than the agents have read.
func TestIntervalsAreHeldWhileTooFewReplicasAreInSync(t *testing.T) {
	o := outageOfKafka{agents: 8, kill: true, replica: true, outage: 30 * time.Second, hold: 30 * time.Second, interval: 5 * time.Second}
	r := o.run(t)
	if n := testutil.ToFloat64(r.metrics.rewinds.WithLabelValues("f")); n > 0 {
		t.Errorf("intervals were stored incomplete, and completed in %v rewinds", n)
	}
}

func (o *outageOfKafka) run(t *testing.T) *rig {
	options := apachekafka.Options{}
	if o.replica {
		options.Properties = map[string]string{"min.insync.replicas": "2", "default.replication.factor": "2", "offsets.topic.replication.factor": "2"}
	}
	b := apachekafka.Start(t, options)
	failing := b
	if o.replica {
		failing = b.Join()
	}
	g, r := graphOf(t, "f", "torus:6x6x6"), newRig()
	client := kafkaClient(t, b)
	if err := client.EnsureTopics(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval, cfg.Segment.MinLinks, cfg.Hold = o.interval, 4, o.hold
	producer := kafka.NewProducer(client)
	f, err := New(g, cfg, Deps{Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Metrics: r.metrics, Store: r.store,
		Sources: func() []Source { return KafkaSources(client, producer, "f", 0, o.interval, nil) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range o.agents {
		wg.Go(func() { runAgent(ctx, t, b, g, i, o.agents, o.interval) })
	}
	wg.Go(func() { f.Run(ctx) })
	began := time.Now()
	time.Sleep(8 * o.interval)
	if o.kill {
		failing.Kill9()
	} else {
		failing.Stop()
	}
	time.Sleep(o.outage)
	t.Logf("ready: %v; state: %q", f.Ready(t.Context()), f.State())
	failing.Restart()
	back := time.Now()
	const notChecked = 15 // intervals at the beginning and the end, see checkWhole
	want := int(time.Since(began)/o.interval) + notChecked - 8
	await.Holds(3*time.Minute+notChecked*o.interval, time.Second, func() bool { // checkWhole reports what is missing
		stored := r.store.stored("f")
		return len(stored) >= want && len(broken(g, stored)) == 0
	})
	took := time.Since(back)
	cancel()
	wg.Wait()
	checkWhole(t, g, r.store.stored("f"), began, want)
	t.Logf("%d intervals, %v rewinds, whole %v after Kafka was back", len(r.store.stored("f")), testutil.ToFloat64(r.metrics.rewinds.WithLabelValues("f")), took)
	return r
}
