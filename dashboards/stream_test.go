package dashboards

import (
	"bufio"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/topology"
)

// sse reads a stream event by event.
type sse struct {
	t     *testing.T
	lines *bufio.Scanner
	body  interface{ Close() error }
}

func (h *house) stream(t *testing.T, lastID string) *sse {
	t.Helper()
	header := http.Header{}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	response := h.getRaw("/api/v1/stream", header)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	return &sse{t, bufio.NewScanner(response.Body), response.Body}
}

// next is the next event that has data: its name, id and data.
func (s *sse) next() (name, id, data string) {
	s.t.Helper()
	done := time.AfterFunc(time.Minute, func() { s.body.Close() })
	defer done.Stop()
	for s.lines.Scan() {
		key, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case key == "event":
			name = value
		case key == "id":
			id = value
		case key == "data":
			data = value
		case s.lines.Text() == "" && data != "":
			return name, id, data
		}
	}
	s.t.Fatalf("the stream ends: %v", s.lines.Err())
	return
}

// fakeConnection keeps what is written.
type fakeConnection struct{ text *strings.Builder }

func (c *fakeConnection) Header() http.Header         { return http.Header{} }
func (c *fakeConnection) WriteHeader(int)             {}
func (c *fakeConnection) Write(b []byte) (int, error) { return c.text.Write(b) }
func (c *fakeConnection) Flush()                      {}

// The number of streams is bounded, per client and in all; streams send heartbeats.
func TestStreamsAreBounded(t *testing.T) {
	h := serve(t, nil, torus)
	h.streams.mostPerClient, h.cfg.Heartbeat = 1, 20*time.Millisecond
	only := h.stream(t, "")
	refused := h.getRaw("/api/v1/stream", nil)
	if refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") != "2" {
		t.Errorf("the second of a client: %d %v", refused.StatusCode, refused.Header)
	}
	h.streams.mu.Lock()
	h.streams.most = 1
	h.streams.mu.Unlock()
	if status := h.getRaw("/api/v1/stream", nil).StatusCode; status != http.StatusServiceUnavailable {
		t.Errorf("the second of all: %d", status)
	}
	for _, reason := range []string{tooManyOfClient, tooManyStreams} {
		if n := testutil.ToFloat64(h.metrics.refused.WithLabelValues(reason)); n != 1 {
			t.Errorf("%v refused by %s, want 1", n, reason)
		}
	}
	for alive := false; !alive; alive = only.lines.Text() == ": still here" {
		if !only.lines.Scan() {
			t.Fatal("no heartbeat")
		}
	}
	only.body.Close()
	eventually(t, "no trace of clients that have left", func() bool {
		h.streams.mu.Lock()
		defer h.streams.mu.Unlock()
		return len(h.streams.open) == 0
	})
	eventually(t, "room for another", func() bool { return h.getRaw("/api/v1/stream", nil).StatusCode == http.StatusOK })
	if status := h.getRaw("/api/v1/stream?fabrics=nowhere", nil).StatusCode; status != http.StatusNotFound {
		t.Errorf("of an unknown fabric: %d", status)
	}
}

// A graph that is set while a poll reads an older interval stays in force.
func TestAPollReplacesOnlyTheGraphItFound(t *testing.T) {
	h := serve(t, nil, torus)
	v, found := &h.fabrics[torus].graphs, h.graph(torus)
	set, polled := topology.NewVersion(found), topology.NewVersion(found)
	polled.Link(found.Link(0))
	older, err1 := polled.Build()
	newer, err2 := set.Build()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	h.SetGraph(newer)
	if v.replace(found, older); v.current() != newer {
		t.Error("the poll has undone what was set")
	}
	if v.replace(newer, older); v.current() != older {
		t.Error("the graph of another process is not in force")
	}
}
