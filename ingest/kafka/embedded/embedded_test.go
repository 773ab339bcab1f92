package embedded_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/internal/secret"
)

// What the broker does for its clients, the conformance suite of package kafka tests.

func TestValidateNamesEveryKey(t *testing.T) {
	config := embedded.DefaultConfig()
	if err := config.Validate(); err != nil {
		t.Error(err)
	}
	config.SegmentBytes, config.RetentionBytes = 1, 0
	err := config.Validate()
	if err == nil || !strings.HasPrefix(err.Error(), "segment_bytes: 1; want") || !strings.Contains(err.Error(), "\nretention_bytes: 0; want") {
		t.Errorf("faults: %v", err)
	}
	if _, err := embedded.New(config, kafka.DefaultConfig(), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a broker was made of a bad configuration")
	}
}

// A client of the broker reaches it whatever else is configured, and the broker's bound is its topics'.
func TestClientIsOfThisBroker(t *testing.T) {
	own := embedded.DefaultConfig()
	own.RetentionBytes = 16 << 20
	config := kafka.DefaultConfig()
	config.Brokers, config.TLS.Enabled = nil, true
	config.SASL = kafka.SASL{Mechanism: "PLAIN", Username: "u", Password: secret.NewText("p")}
	b, err := embedded.New(own, config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	got := b.Client(config)
	if got.Brokers[0] != embedded.Address || got.TLS.Enabled || got.SASL.Username != "" || got.RetentionBytes != 16<<20 || got.Retention != config.Retention {
		t.Errorf("client %+v", got)
	}
}
