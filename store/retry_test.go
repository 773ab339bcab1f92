package store

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func quickRetries() Config {
	cfg := DefaultConfig()
	cfg.RetryMin, cfg.RetryMax = time.Millisecond, 10*time.Millisecond
	return cfg
}

func TestStoreGivesUpWithItsContextOnly(t *testing.T) { synctest.Test(t, givesUp) }

func givesUp(t *testing.T) {
	var log bytes.Buffer
	db, err := New(testOptionsNowhere(), quickRetries(), Deps{Log: slog.New(slog.NewTextHandler(&log, nil)), Registerer: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.Ready() == nil {
		t.Error("ready before anything was tried")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err = db.Store(ctx, someResult("bw", 1, 10))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("want the deadline and the last fault, got %v", err)
	}
	if count(db.metrics.retries.WithLabelValues(reasonUnreachable)) < 2 || db.Ready() == nil {
		t.Error("retries are not counted, or an unreachable server is ready")
	}
	if !strings.Contains(log.String(), "reason=unreachable") {
		t.Errorf("retries are not logged: %s", log.String())
	}
}
