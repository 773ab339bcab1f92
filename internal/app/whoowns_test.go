//go:build integration

package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/lease"
	"github.com/giverny/giverny/internal/boot"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/internal/test/await"
)

// A process that only serves says who should own a fabric, and why none does, by asking a real broker.
func TestWhoOwnsAFabric(t *testing.T) {
	broker := apachekafka.Start(t, apachekafka.Options{Properties: map[string]string{
		"group.min.session.timeout.ms": "1000", "group.initial.rebalance.delay.ms": "0"}})
	cfg := config.Default()
	cfg.Kafka.Embedded, cfg.Kafka.Client.Brokers = false, []string{broker.Addr()}
	cfg.Kafka.Client.Consumer.SessionTimeout = 3 * time.Second
	p := New(cfg, "test", slog.New(slog.DiscardHandler))
	q := p.askOwners()
	if q == nil {
		t.Fatal("owners are not asked for")
	}
	t.Cleanup(func() { p.Close() })
	away := false
	says := func(when string, partition int, want string) {
		t.Helper()
		got := ""
		if !await.Holds(time.Minute, 100*time.Millisecond, func() bool {
			q.mu.Lock()
			q.asked = time.Time{} // ask now
			q.mu.Unlock()
			got, away = q.explain(t.Context(), "ib1", partition)
			return strings.Contains(got, want)
		}) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	says("no analyser", 1, "no process analyses any fabric: the consumer group giverny has no members; start giverny analyze")
	analyser := lease.New(p.newCoordinator(), cfg.Kafka.Client.Consumer.SessionTimeout, map[int]string{0: "ib0"}, boot.Clock, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- analyser.Run(ctx) }()
	says("another fabric's analyser", 1, "it has no owner: no member of the consumer group giverny (127.0.0.1) has ib1 (partition 1) in its fabrics")
	says("its own fabric", 0, "127.0.0.1 owns it (consumer group giverny) and stores nothing")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	says("the analyser has left", 0, "has no members")
	if away {
		t.Error("Kafka is away, although it answers")
	}
	broker.Kill9()
	if says("the broker is gone", 0, "which process owns it is unknown: "); !away {
		t.Error("Kafka is not away, although no broker runs")
	}
	q.describe = func(ctx context.Context) (kafka.GroupState, error) {
		return kafka.GroupState{}, context.DeadlineExceeded
	}
	says("Kafka does not answer", 0, "which process owns it is unknown: Kafka did not describe the consumer group giverny within 2s")
	for want, state := range map[string]kafka.GroupState{
		"it has no owner while the consumer group giverny (a, b) rebalances;": {State: "PreparingRebalance", Members: []kafka.GroupStateMember{{Host: "a"}, {Host: "b"}}},
		"it has no owner, although b can analyse it (consumer group giverny)": {State: "Stable", Members: []kafka.GroupStateMember{{Host: "a"}, {Host: "b", Can: []int{1}}}},
	} {
		if got := ownerText(&state, "giverny", "ib1", 1); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
