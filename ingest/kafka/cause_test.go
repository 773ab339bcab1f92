package kafka_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/journal"
)

// If no broker is available because their certificate is not trusted, the log says so, not only that none is.
func TestTheLogSaysWhyNoBrokerIsAvailable(t *testing.T) {
	broker := httptest.NewTLSServer(http.NotFoundHandler())
	defer broker.Close()
	metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	config := kafka.DefaultConfig()
	config.Brokers, config.TLS.Enabled = []string{broker.Listener.Addr().String()}, true
	log := &journal.Journal{}
	client, err := kafka.NewClient(config, nil, metrics, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go func() {
		for ctx.Err() == nil && log.String() == "" {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	if err := client.EnsureTopics(ctx, 1); err == nil {
		t.Error("topics on a broker that is not trusted")
	}
	if text := log.String(); !strings.Contains(text, "request failed, retrying") || !strings.Contains(text, "certificate") {
		t.Errorf("the log does not name the certificate:\n%s", text)
	}
}
