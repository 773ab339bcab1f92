//go:build integration

package kafka

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/giverny/giverny/internal/test/apachekafka"
)

// The authority and the password are read for each connection, so that renewed ones need no restart: by the client of the
// data and by that of the consumer group, against a real broker.
func TestRenewedAuthorityAndPassword(t *testing.T) {
	broker := apachekafka.Start(t, apachekafka.Options{TLS: apachekafka.ServerTLS, SASL: apachekafka.ScramSHA512})
	dir := t.TempDir()
	other := apachekafka.NewCertificates(t, t.TempDir())
	user, password := broker.Login()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Duration(len(text))*time.Second)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pem := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	cfg := DefaultConfig()
	cfg.Brokers, cfg.RequestTimeout, cfg.Consumer.SessionTimeout = []string{broker.Addr()}, 5*time.Second, 10*time.Second
	cfg.TLS = TLS{Enabled: true, CA: write("ca.pem", pem(other.CAFile))}
	cfg.SASL = SASL{Mechanism: "SCRAM-SHA-512", User: user, PasswordFile: write("password", "old-password")}
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	client, err := NewClient(cfg, nil, metrics, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	group := NewCoordinator(client)
	defer group.Close()
	try := func(what, want string) {
		t.Helper()
		for kind, ask := range map[string]func(context.Context) error{"data": client.Ping, "group": func(ctx context.Context) error { _, err := group.Describe(ctx); return err }} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			err := ask(ctx)
			for ; errors.Is(err, kerr.CoordinatorNotAvailable) && ctx.Err() == nil; err = ask(ctx) { // the broker has just started
				time.Sleep(100 * time.Millisecond)
			}
			cancel()
			if (want == "") != (err == nil) || err != nil && !strings.Contains(strings.ToLower(err.Error()), want) {
				t.Errorf("%s, %s: %v, want %q", what, kind, err, want)
			}
		}
	}
	try("another authority", "unknown authority")
	write("ca.pem", pem(broker.Certificates().CAFile)+"\n")
	try("the old password", "auth")
	write("password", password+"\n")
	try("renewed", "")
}
