package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/schema"
)

// brokerOf returns a client of a new broker within the test.
func brokerOf(t *testing.T) *kafka.Client {
	t.Helper()
	cfg, log := kafka.DefaultConfig(), slog.New(slog.DiscardHandler)
	broker, err := embedded.New(embedded.DefaultConfig(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- broker.Run(ctx) }()
	metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kafka.NewClient(broker.Client(cfg), broker.Dial, metrics, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := client.EnsureTopics(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return client
}

// Messages that cannot be read, such as those of a later version of the program, do not
// keep anything from being announced.
func TestAnnouncingAfterAForeignMessage(t *testing.T) { synctest.Test(t, announceAfterForeign) }

func announceAfterForeign(t *testing.T) {
	client := brokerOf(t)
	producer := kafka.NewProducer(client)
	for kind, follower := range map[envelope.Kind]Follower{envelope.Regions: NewAnnouncer(client, producer, "f", 0, slog.New(slog.DiscardHandler)), envelope.Diagnoses: NewDiagnosisAnnouncer(client, producer, "f", 0)} {
		if last, err := follower.Last(t.Context()); last != 0 || err != nil {
			t.Errorf("%s: of an empty topic: %d, %v", kind, last, err)
		}
		if err := producer.Produce(t.Context(), kafka.Record{Fabric: "f", Kind: kind, Payload: []byte("of a later version")}); err != nil {
			t.Fatal(err)
		}
		last, err := follower.Last(t.Context())
		if ago := time.Since(time.Unix(0, last)); err != nil || ago < time.Minute || ago > 2*time.Hour {
			t.Errorf("%s: the last is of %v ago, %v", kind, ago, err)
		}
		start := schema.IntervalAt(time.Now().UnixNano(), int64(time.Minute))
		r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "f", Interval: start}, Diagnoses: []schema.Diagnosis{{Fabric: "f", Region: 1, Metric: schema.CreditStall, Time: schema.Instant(start.StartNanos), Cause: schema.Cause{Class: schema.CauseUnknown}}}}
		if err := follower.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if last, err := follower.Last(t.Context()); err != nil || start.StartNanos-last > 1 {
			t.Errorf("%s: the last is %d, %v; want %d", kind, last, err, start.StartNanos)
		}
	}
}

// A message that the broker has not acknowledged is an error, so that it is sent again.
func TestAnnouncingWithoutABroker(t *testing.T) { synctest.Test(t, announceInVain) }

func announceInVain(t *testing.T) {
	client := brokerOf(t)
	producer := kafka.NewProducer(client)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	start := schema.IntervalAt(time.Now().UnixNano(), int64(time.Minute))
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "f", Interval: start}, Diagnoses: []schema.Diagnosis{{Fabric: "f", Region: 1, Metric: schema.CreditStall, Time: schema.Instant(start.StartNanos), Cause: schema.Cause{Class: schema.CauseUnknown}}}}
	for _, follower := range []Follower{NewAnnouncer(client, producer, "f", 0, slog.New(slog.DiscardHandler)), NewDiagnosisAnnouncer(client, producer, "f", 0)} {
		if err := follower.Put(stopped, r); err == nil || errors.Is(err, ErrRefused) {
			t.Errorf("%s: error %v", follower.Name(), err)
		}
	}
}

// A fabric that uses another one's partition, as when a fabric is added in the middle of the list, causes a warning.
func TestAPartitionOfAnotherFabric(t *testing.T) { synctest.Test(t, announceInAnothersPartition) }

func announceInAnothersPartition(t *testing.T) {
	client := brokerOf(t)
	producer := kafka.NewProducer(client)
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Interval: schema.IntervalAt(time.Now().UnixNano(), int64(time.Minute))}}
	if err := NewAnnouncer(client, producer, "ib0", 0, log).Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for fabric, want := range map[string]string{"ib0": "", "ib1": `fabric=ib1 partition=0 other=ib0`} {
		said.Reset()
		if _, err := NewAnnouncer(client, producer, fabric, 0, log).Last(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := said.String(); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", fabric, got, want)
		}
	}
}
