package dashboards

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/store"
)

// Errors of the store go to the log; a client that does not wait for the answer is
// not one of them.
func TestFailingStore(t *testing.T) {
	db, err := store.New(&clickhouse.Options{Protocol: clickhouse.HTTP, Addr: []string{"127.0.0.1:1"}}, store.DefaultConfig(),
		store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := serve(t, db, mesh)
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	h.server.Config.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, h.url+"/api/v1/fabrics/"+mesh+"/snapshot", nil).WithContext(gone))
	if text := h.log.String(); text != "" {
		t.Errorf("a client that left is logged: %s", text)
	}
	if n := h.metric("giverny_dashboards_requests_total", "499"); n != 1 {
		t.Errorf("%v requests of clients that left", n)
	}
	for _, path := range []string{"snapshot", "network", "events", "graph", "congestion", "tracks/7", "top-links?metric=credit_stall&to=10&from=0"} {
		detail := h.problem("fabrics/"+mesh+"/"+path, http.StatusBadGateway)
		if !strings.Contains(detail, "the store did not answer") || strings.Contains(detail, "127.0.0.1") {
			t.Errorf("%s: %s", path, detail)
		}
	}
	if text := h.log.String(); !strings.Contains(text, "connection refused") {
		t.Errorf("the log does not say why: %s", text)
	}
}
