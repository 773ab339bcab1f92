package embedded_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/await"
)

// What the broker does for its clients is tested by the conformance suite of package kafka.

func TestValidateNamesEveryKey(t *testing.T) {
	config := embedded.DefaultConfig()
	if err := config.Validate(); err != nil {
		t.Error(err)
	}
	config.SegmentBytes, config.RetentionBytes = 1, 0
	err := config.Validate()
	if err == nil || !strings.HasPrefix(err.Error(), "segment_bytes: 1: want") || !strings.Contains(err.Error(), "\nretention_bytes: 0: want") {
		t.Errorf("faults: %v", err)
	}
	if _, err := embedded.New(config, kafka.DefaultConfig(), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a broker was made of a bad configuration")
	}
}

// A client of the broker connects to it whatever else is configured, and its topics have the broker's limit.
func TestClientIsOfThisBroker(t *testing.T) {
	own := embedded.DefaultConfig()
	own.RetentionBytes = 16 << 20
	config := kafka.DefaultConfig()
	config.Brokers, config.TLS.Enabled = nil, true
	config.SASL = kafka.SASL{Mechanism: "PLAIN", User: "u", Password: secret.NewText("p")}
	b, err := embedded.New(own, config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	got := b.Client(config)
	if got.Brokers[0] != embedded.Address || got.TLS.Enabled || got.SASL.User != "" || got.RetentionBytes != 16<<20 || got.Retention != config.Retention {
		t.Errorf("client %+v", got)
	}
}

// If its folder cannot be created, a broker says which key to change.
func TestAFolderThatCannotBeMade(t *testing.T) {
	own := embedded.DefaultConfig()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	own.Dir = filepath.Join(file, "kafka")
	b, err := embedded.New(own, kafka.DefaultConfig(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "set data_dir to a directory") {
		t.Errorf("the broker says %v", err)
	}
}

// A client of another process connects to a running broker by its folder, also after a killed one; if none runs the
// error says what to do. Only its user can enter the folder of the socket.
func TestReachFromAnotherProcess(t *testing.T) {
	own := embedded.DefaultConfig()
	own.Dir = t.TempDir()
	config, log := kafka.DefaultConfig(), slog.New(slog.DiscardHandler)
	if _, _, err := embedded.Reach(own, config); err == nil || !strings.Contains(err.Error(), "start that, or set kafka.embedded: false") {
		t.Errorf("reached a broker that does not run: %v", err)
	}
	for range 2 {
		broker, err := embedded.New(own, config, log)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- broker.Run(ctx) }()
		var reached kafka.Config
		var dial kafka.Dial
		await.Holds(time.Minute, 10*time.Millisecond, func() bool {
			reached, dial, err = embedded.Reach(own, config)
			return err == nil
		})
		if err != nil || reached.Brokers[0] != embedded.Address {
			t.Fatalf("%v: %+v", err, reached)
		}
		metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		client, err := kafka.NewClient(reached, dial, metrics, log)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Ping(ctx); err != nil {
			t.Error(err)
		}
		client.Close()
		if info, err := os.Stat(filepath.Join(own.Dir, "socket")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("folder of the socket: %v, %v", info.Mode(), err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
