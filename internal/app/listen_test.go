package app

import (
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/internal/test/journal"
)

// A listener open to other hosts without access control is rejected with its key, wherever it is detected first.
func TestAnOpenListenerIsRefusedUnderItsKey(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir, cfg.HTTP.Listen = t.TempDir(), ":9401"
	p := New(cfg, "test", slog.New(slog.DiscardHandler))
	p.registerer = prometheus.NewRegistry()
	_, listenErr := p.Listen()
	_, _, guardErr := p.guard()
	for _, err := range []error{listenErr, guardErr} {
		if err == nil || !strings.HasPrefix(err.Error(), "http.listen: :9401 is not a loopback address") {
			t.Errorf("%v", err)
		}
	}
}

// Beside another giverny, metrics without a configured address use a free port; the address of the page does not change.
func TestMetricsTakeAFreePortBesideAnother(t *testing.T) {
	occupied := func(address string) {
		if l, err := net.Listen("tcp", address); err == nil { // otherwise another process holds it, which is as good
			t.Cleanup(func() { l.Close() })
		}
	}
	page := freeport.Addr(t)
	cfg := config.Default()
	cfg.DataDir, cfg.HTTP.Listen = t.TempDir(), page
	occupied(cfg.HTTP.MetricsAddress())
	l, err := New(cfg, "test", slog.New(slog.DiscardHandler)).ListenBeside()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Web.Addr().String() != page {
		t.Errorf("the page is at %s, want %s", l.Web.Addr(), page)
	}
	if _, err := New(cfg, "test", slog.New(slog.DiscardHandler)).ListenBeside(); err == nil || !strings.Contains(err.Error(), "http.listen: ") {
		t.Errorf("a page's address that is in use: %v", err)
	}
	set := cfg
	set.HTTP.Listen, set.HTTP.Metrics.Listen = "127.0.0.1:0", cfg.HTTP.MetricsAddress()
	if _, err := New(set, "test", slog.New(slog.DiscardHandler)).ListenBeside(); err == nil || !strings.Contains(err.Error(), "http.metrics.listen: ") {
		t.Errorf("an address of metrics that was set and is in use: %v", err)
	}
}

// An address that a dying process still holds is waited for; one that stays in use is an error that names the key.
func TestAnAddressInUseIsWaitedFor(t *testing.T) {
	for _, held := range []time.Duration{time.Second, time.Hour} {
		other, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		time.AfterFunc(held, func() { other.Close() })
		cfg, log := config.Default(), &journal.Journal{}
		cfg.DataDir, cfg.HTTP.Listen, cfg.HTTP.Metrics.Listen = t.TempDir(), other.Addr().String(), "127.0.0.1:0"
		l, err := New(cfg, "test", slog.New(slog.NewTextHandler(log, nil))).listenPatiently(t.Context())
		if (err == nil) != (held < listenPatience) || err != nil && !strings.Contains(err.Error(), "http.listen: ") {
			t.Errorf("held for %v: %v", held, err)
		}
		if err == nil {
			l.Close()
		}
		if n := strings.Count(log.String(), "address in use"); n != 1 {
			t.Errorf("held for %v: %d lines:\n%s", held, n, log)
		}
	}
}
