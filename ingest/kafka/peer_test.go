package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/await"
)

// noLeaks checks, after all other clean-up of the test, that no goroutine of it is left.
func noLeaks(t *testing.T, but ...goleak.Option) {
	but = append(but, goleak.IgnoreCurrent())
	t.Cleanup(func() { goleak.VerifyNone(t, but...) })
}

// testConfig has short timeouts and back-offs.
func testConfig() kafka.Config {
	c := kafka.DefaultConfig()
	c.RequestTimeout, c.RetryMin, c.RetryMax = 5*time.Second, 20*time.Millisecond, 300*time.Millisecond
	c.Consumer.MaxWait = 50 * time.Millisecond
	return c
}

// peer is a process with its own client.
type peer struct {
	client   *kafka.Client
	producer *kafka.Producer
	metrics  *prometheus.Registry
	ctx      context.Context
}

func newPeer(t *testing.T, b *broker) *peer {
	t.Helper()
	p, err := newClientOf(b)
	if err != nil {
		t.Fatal(err)
	}
	var cancel context.CancelFunc
	p.ctx, cancel = context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(func() {
		cancel()
		p.client.Close()
	})
	return p
}

func newClientOf(b *broker) (*peer, error) {
	reg := prometheus.NewRegistry()
	metrics, err := kafka.NewMetrics(reg)
	if err != nil {
		return nil, err
	}
	client, err := kafka.NewClient(b.config, b.dial, metrics, quiet())
	if err != nil {
		return nil, err
	}
	return &peer{client: client, producer: kafka.NewProducer(client), metrics: reg}, nil
}

func quiet() *slog.Logger {
	if testing.Testing() && flag.Parsed() && testing.Verbose() {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

func (p *peer) topics(t *testing.T, fabrics int) {
	t.Helper()
	if err := p.client.EnsureTopics(p.ctx, fabrics); err != nil {
		t.Fatal(err)
	}
}

func (p *peer) produce(t *testing.T, records ...kafka.Record) {
	t.Helper()
	if n, err := p.producer.ProduceBatch(p.ctx, records); err != nil || n != len(records) {
		t.Fatalf("%d of %d records: %v", n, len(records), err)
	}
}

func event(fabric string, partition, i int) kafka.Record {
	return kafka.Record{Fabric: fabric, Partition: partition, Kind: envelope.Events, Payload: fmt.Appendf(nil, "%s-%d", fabric, i)}
}

func eventsOf(fabric string, partition int) kafka.Assignment {
	return kafka.Assignment{Kind: envelope.Events, Fabric: fabric, Partition: partition}
}

// read runs a consumer until it has passed on n records, and returns them.
func (p *peer) read(t *testing.T, a kafka.Assignment, n int) []kafka.Message {
	t.Helper()
	return p.readWith(t, kafka.NewConsumer(p.client, p.producer, a), n, func(context.Context, kafka.Message) error { return nil })
}

func (p *peer) readWith(t *testing.T, c *kafka.Consumer, n int, handle func(context.Context, kafka.Message) error) []kafka.Message {
	t.Helper()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	var got []kafka.Message
	err := c.Run(ctx, func(ctx context.Context, m kafka.Message) error {
		m.Payload = bytes.Clone(m.Payload)
		got = append(got, m)
		err := handle(ctx, m)
		if len(got) == n {
			cancel()
		}
		return err
	})
	if err != nil || len(got) != n {
		t.Fatalf("%d of %d records: %v", len(got), n, err)
	}
	return got
}

func wantPayloads(t *testing.T, got []kafka.Message, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range got {
		if string(got[i].Payload) != want[i] {
			t.Errorf("record %d is %.40q, want %.40q", i, got[i].Payload, want[i])
		}
	}
}

// deleteRecords deletes records with another client library, since ours cannot.
func deleteRecords(t *testing.T, b *broker, topic string, before int64) {
	t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(b.config.Brokers...)}
	if b.dial != nil {
		opts = append(opts, kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) { return b.dial(ctx, network, host) }))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrDeleteRecordsRequest()
	request.TimeoutMillis = 5000
	request.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: before}}}}
	response, err := request.RequestWith(context.Background(), client)
	if err != nil {
		t.Fatal(err)
	}
	if code := response.Topics[0].Partitions[0].ErrorCode; code != 0 {
		t.Fatalf("delete records: %v", kafkago.Error(code))
	}
}

func produceRaw(t *testing.T, p *peer, topic string, records ...kafkago.Record) {
	t.Helper()
	rewound := rewind(t, records)
	waitFor(t, "the leader of a new partition", func() bool {
		response, err := kafka.RawClient(p.client).Produce(p.ctx, &kafkago.ProduceRequest{Topic: topic, RequiredAcks: kafkago.RequireAll, Records: kafkago.NewRecordReader(rewound()...)})
		if err == nil {
			err = response.Error
		}
		var refused kafkago.Error
		if err != nil && !(errors.As(err, &refused) && refused.Temporary()) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// rewind returns a function that returns the records, which can be read only once, from their
// beginning.
func rewind(t *testing.T, records []kafkago.Record) func() []kafkago.Record {
	t.Helper()
	keys, values := make([][]byte, len(records)), make([][]byte, len(records))
	for i, r := range records {
		var keyErr, valueErr error
		keys[i], keyErr = kafkago.ReadAll(r.Key)
		values[i], valueErr = kafkago.ReadAll(r.Value)
		if err := errors.Join(keyErr, valueErr); err != nil {
			t.Fatal(err)
		}
	}
	return func() []kafkago.Record {
		fresh := slices.Clone(records)
		for i := range fresh {
			fresh[i].Key, fresh[i].Value = kafkago.NewBytes(keys[i]), kafkago.NewBytes(values[i])
		}
		return fresh
	}
}

func fetchRaw(t *testing.T, p *peer, topic string, n int) (records []kafkago.Record) {
	t.Helper()
	for len(records) < n {
		response, err := kafka.RawClient(p.client).Fetch(p.ctx, &kafkago.FetchRequest{Topic: topic, Offset: int64(len(records)), MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 100 * time.Millisecond})
		if err == nil {
			err = response.Error
		}
		if err != nil {
			t.Fatal(err)
		}
		for {
			r, err := response.Records.ReadRecord()
			if err != nil {
				break
			}
			if r.Offset >= int64(len(records)) {
				records = append(records, *r)
			}
		}
	}
	return records
}

func readAll(t *testing.T, b kafkago.Bytes) []byte {
	t.Helper()
	s, err := kafkago.ReadAll(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	await.Until(t, what, time.Minute, 10*time.Millisecond, done)
}

// readAtLeast reads until a payload has arrived.
func (p *peer) readAtLeast(t *testing.T, a kafka.Assignment, last string) (payloads []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	if err := kafka.NewConsumer(p.client, p.producer, a).Run(ctx, func(_ context.Context, m kafka.Message) error {
		payloads = append(payloads, string(m.Payload))
		if payloads[len(payloads)-1] == last {
			cancel()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return payloads
}

// withoutRepeats keeps the first of equal payloads: delivery is at least once.
func withoutRepeats(payloads []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(payloads, func(s string) bool { again := seen[s]; seen[s] = true; return again })
}

// troubledNetwork can swallow all data.
type troubledNetwork struct {
	next kafka.Dial
	mu   sync.Mutex
	hung bool
}

func newTroubledNetwork(next kafka.Dial) *troubledNetwork {
	if next == nil {
		next = new(net.Dialer).DialContext
	}
	return &troubledNetwork{next: next}
}

func (n *troubledNetwork) hang()    { n.mu.Lock(); defer n.mu.Unlock(); n.hung = true }
func (n *troubledNetwork) recover() { n.mu.Lock(); defer n.mu.Unlock(); n.hung = false }
func (n *troubledNetwork) isHung() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hung
}

func (n *troubledNetwork) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := n.next(ctx, network, address)
	return &troubledConn{conn, n}, err
}

type troubledConn struct {
	net.Conn
	network *troubledNetwork
}

func (c *troubledConn) Write(b []byte) (int, error) {
	if c.network.isHung() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}
