package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
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
	ended, end := context.WithCancel(t.Context())
	end()
	if err := db.Store(ended, someResult("bw", 1, 10)); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "the last try") {
		t.Errorf("of a context that has ended: %v", err)
	}
	if n := count(db.metrics.rows.WithLabelValues(marker.name)); n != 0 {
		t.Errorf("%v rows counted as stored", n)
	}
	if count(db.metrics.retries.WithLabelValues(reasonUnreachable)) < 2 || db.Ready() == nil {
		t.Error("retries are not counted, or an unreachable server is ready")
	}
	if !strings.Contains(log.String(), "reason=unreachable") {
		t.Errorf("retries are not logged: %s", log.String())
	}
}

// What fixes an error, and whether a retry may.
func TestReasonsOfRetries(t *testing.T) {
	code := func(code int32, message string) error { return &clickhouse.Exception{Code: code, Message: message} }
	for _, c := range []struct {
		err    error
		reason string
		passes bool
	}{
		{code(241, "memory"), reasonOverloaded, true}, {code(252, "parts"), reasonOverloaded, true}, {code(279, "connect"), reasonUnreachable, true},
		{code(286, "quorum"), reasonReplicas, true}, {code(242, "read only"), reasonReplicas, true}, {code(516, "password"), reasonRefused, false},
		{code(60, "table"), reasonSchema, false}, {code(243, "space"), reasonDiskFull, false}, {code(75, "write: No space left on device"), reasonDiskFull, false},
		{code(75, "write: Disk quota exceeded"), reasonDiskFull, false}, {code(75, "write: Input/output error"), reasonOther, false},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, reasonUnreachable, true}, {io.EOF, reasonUnreachable, true},
		{io.ErrUnexpectedEOF, reasonUnreachable, true}, {errors.New("odd"), reasonUnreachable, false},
	} {
		err := fmt.Errorf("insert: %w", c.err)
		if got := retryReason(err); got != c.reason || MayPass(err) != c.passes {
			t.Errorf("%v: reason %s, may pass %v; want %s, %v", err, got, MayPass(err), c.reason, c.passes)
		}
	}
}
