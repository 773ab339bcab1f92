package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/ingest/kafka/lease"
	"github.com/giverny/giverny/internal/test/await"
)

const fabrics = 4

// The broker is reached over in-memory pipes, and its sessions expire by the bubble's clock.
func TestEmbedded(t *testing.T) { synctest.Test(t, embeddedBroker) }

func embeddedBroker(t *testing.T) {
	config := testConfig(6 * time.Second)
	broker, err := embedded.New(embedded.DefaultConfig(), config, quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	conformance(t, broker.Client(config), broker.Dial, bubbleClock())
}

func testConfig(session time.Duration) kafka.Config {
	config := kafka.DefaultConfig()
	config.Consumer.SessionTimeout = session
	config.Consumer.Group = "shared"
	return config
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// process is one of several that share the fabrics.
type process struct {
	*holder
	client *kafka.Client
	cut    atomic.Bool // its requests do not reach the group
	end    func()      // stops it; may be called twice
}

func start(t *testing.T, config kafka.Config, dial kafka.Dial, clock func() time.Duration) *process {
	t.Helper()
	metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	p := &process{}
	if p.client, err = kafka.NewClient(config, dial, metrics, quiet()); err != nil {
		t.Fatal(err)
	}
	coordinator := kafka.NewCoordinator(p.client)
	group := lease.New(&cuttable{coordinator, &p.cut}, config.Consumer.SessionTimeout, fabricNames(fabrics), clock, quiet())
	p.holder = startHolder(group, fabrics, 0)
	p.end = sync.OnceFunc(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
		coordinator.Close()
		p.client.Close()
	})
	t.Cleanup(p.end)
	return p
}

// cuttable is a coordinator that can become unreachable.
type cuttable struct {
	lease.Coordinator
	cut *atomic.Bool
}

var errCut = errors.New("network is cut")

func (c *cuttable) Join(ctx context.Context, self kafka.GroupMember) (kafka.Joined, error) {
	if c.cut.Load() {
		return kafka.Joined{}, errCut
	}
	return c.Coordinator.Join(ctx, self)
}

func (c *cuttable) Heartbeat(ctx context.Context, m kafka.Member) error {
	if c.cut.Load() {
		return errCut
	}
	return c.Coordinator.Heartbeat(ctx, m)
}

// conformance is what the leases require of every broker's groups.
func conformance(t *testing.T, config kafka.Config, dial kafka.Dial, clock func() time.Duration) {
	session := config.Consumer.SessionTimeout
	a := start(t, config, dial, clock)
	if err := a.client.EnsureTopics(t.Context(), fabrics); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the first owns all", busy, func() bool { return a.count() == fabrics })

	b := start(t, config, dial, clock)
	overlaps := watch(t, a, b)
	waitFor(t, "the second has half", busy, func() bool { return a.count() == fabrics/2 && b.count() == fabrics/2 })
	stale := fenceOf(t, a)
	commit(t, a, stale, nil)

	a.cut.Store(true)
	began := time.Now()
	waitFor(t, "the cut one owns nothing", busy, func() bool { return a.count() == 0 })
	waitFor(t, "the other has taken over", busy, func() bool { return b.count() == fabrics })
	t.Logf("taken over %v after the network was cut; the session timeout is %v", time.Since(began).Round(time.Millisecond), session)
	commit(t, a, stale, kafkago.UnknownMemberId)

	a.cut.Store(false)
	waitFor(t, "they share again", busy, func() bool { return a.count() == fabrics/2 && b.count() == fabrics/2 })
	began = time.Now()
	b.end()
	waitFor(t, "the one that stays has all", busy, func() bool { return a.count() == fabrics })
	t.Logf("taken over %v after the other left", time.Since(began).Round(time.Millisecond))
	if n := overlaps(); n > 0 {
		t.Errorf("%d times both would have written for one partition", n)
	}
}

// watch counts how often two processes could both write for a partition.
func watch(t *testing.T, a, b *process) (overlaps func() int) {
	stop, result := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				result <- n
				return
			case <-time.After(time.Millisecond):
			}
			for partition := range fabrics {
				if a.may(partition) && b.may(partition) && a.may(partition) {
					n++
				}
			}
		}
	}()
	var once sync.Once
	end := func() { once.Do(func() { close(stop) }) }
	t.Cleanup(end)
	return func() int { end(); return <-result }
}

func fenceOf(t *testing.T, p *process) kafka.Fence {
	t.Helper()
	for partition := range fabrics {
		if member, err := p.leases[partition].Fence(); err == nil {
			return func() (kafka.Member, error) { return member, nil }
		}
	}
	t.Fatal("no fence")
	return nil
}

// commit commits an offset through a fence, and expects the error want.
func commit(t *testing.T, p *process, fence kafka.Fence, want error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	producer := kafka.NewProducer(p.client)
	if err := producer.Produce(ctx, kafka.Record{Fabric: "f0", Kind: envelope.Events, Payload: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	patience := busy
	if want != nil {
		patience = 10 * time.Second // it is retried until then
	}
	refused := error(nil)
	c := kafka.NewConsumer(p.client, producer, kafka.Assignment{Kind: envelope.Events, Fabric: "f0", Fence: fence})
	err := c.Run(ctx, func(_ context.Context, m kafka.Message) error {
		try, stop := context.WithTimeout(ctx, patience)
		defer stop()
		refused = c.CommitThrough(try, m.Offset)
		cancel()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if want == nil && refused != nil || want != nil && !errors.Is(refused, want) {
		t.Errorf("the commit: %v, want %v", refused, want)
	}
}

// busy is how long a busy machine may take to reach a state.
const busy = time.Minute

func waitFor(t *testing.T, what string, patience time.Duration, holds func() bool) {
	t.Helper()
	await.Until(t, what, patience, 5*time.Millisecond, holds)
}
