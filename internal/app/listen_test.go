package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/config"
)

// A listener that is open to others without access control is refused under its key, wherever that is noticed first.
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
