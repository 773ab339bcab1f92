package dashboards

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/store/read"
)

func TestConfigIsChecked(t *testing.T) {
	for _, spoil := range []func(*Config){
		func(c *Config) { c.Poll = time.Millisecond }, func(c *Config) { c.History = 0 }, func(c *Config) { c.History = 10_001 }, func(c *Config) { c.MaxSpan = 0 },
		func(c *Config) { c.Timeout = 0 }, func(c *Config) { c.Streams = 0 }, func(c *Config) { c.StreamsPerClient = 0 }, func(c *Config) { c.Heartbeat = 0 },
	} {
		cfg := DefaultConfig()
		spoil(&cfg)
		if _, err := New(cfg, nil, Deps{Model: read.New(nil), Log: slog.Default(), Registerer: prometheus.NewRegistry()}); err == nil || !strings.Contains(err.Error(), "dashboards: ") {
			t.Errorf("%+v: error %v", cfg, err)
		}
	}
}

func TestSlowListenerMissesAnnouncements(t *testing.T) {
	h := serve(t, nil, torus)
	if n := h.metric("giverny_dashboards_announcements_dropped_total"); n != 0 {
		t.Errorf("%v dropped at the start", n)
	}
	slow, done := h.intervals.listen(2)
	defer done()
	for i := range int64(5) {
		for range 2 { // the second time it is nothing new
			if err := h.Put(t.Context(), busy(h.graph(torus), noon+i*second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := h.metric("giverny_dashboards_announcements_dropped_total"); n != 3 || len(slow.announced) != 2 || !slow.behind.Load() {
		t.Errorf("%v dropped and %d waiting, want 3 and 2", n, len(slow.announced))
	}
}
