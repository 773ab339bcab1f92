package dashboards

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
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

// A client that comes back gets the intervals that it has missed, those of another process too, each once; where that
// is too much, or what it has is not known, it gets a reset.
func TestStreamResumes(t *testing.T) {
	h := open(t, torus, tree)
	g, other := h.graph(torus), h.graph(tree)
	put := func(second int64) {
		t.Helper()
		r := busy(g, noon+second*1e9)
		h.store(g, r)
		if err := h.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	put(0)
	first := h.stream(t, "")
	put(1)
	name, id, data := first.next()
	if name != "interval" || !strings.Contains(data, `"start":"2023-11-14T22:13:21Z"`) {
		t.Fatalf("%s %s %s", name, id, data)
	}
	first.body.Close()
	h.store(g, busy(g, noon+2*second)) // by another process
	put(3)
	h.store(other, busy(other, noon))
	again := h.stream(t, id)
	put(4)
	for _, want := range []string{"22Z", "23Z", "24Z"} {
		name, id, data = again.next()
		if name != "interval" || !strings.Contains(data, `"fabric":"torus:4x4x4"`) || !strings.Contains(data, want) {
			t.Errorf("%s %s, want the interval of %s", name, data, want)
		}
	}
	had, ok := parsePositions(id)
	if !ok || had[torus] != schema.Instant(noon+4*second) {
		t.Errorf("id %q", id)
	}
	for what, id := range map[string]string{"no id": "7", "too long ago": positions{torus: schema.Instant(noon - (maxReplay+1)*second)}.String()} {
		if name, _, _ := h.stream(t, id).next(); name != "reset" {
			t.Errorf("%s: %s", what, name)
		}
	}
}

// A client that does not take its announcements in time gets them from the store.
func TestStreamCatchesUp(t *testing.T) {
	h := open(t, torus)
	g := h.graph(torus)
	h.store(g, busy(g, noon), busy(g, noon+second), busy(g, noon+2*second))
	l, done := h.listen(1)
	defer done()
	for i := range int64(3) {
		if err := h.Put(t.Context(), busy(g, noon+i*second)); err != nil {
			t.Fatal(err)
		}
	}
	if !l.behind.Load() {
		t.Fatal("the listener is not behind")
	}
	var text strings.Builder
	f := &follower{d: h.Dashboards, w: &fakeConnection{&text}, at: positions{torus: schema.Instant(noon - second)}}
	f.flush = http.NewResponseController(f.w)
	if err := f.resume(t.Context(), positions{torus: schema.Instant(noon)}, true); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "event: interval"); n != 2 {
		t.Errorf("%d intervals: %s", n, &text)
	}
}

// fakeConnection keeps what is written.
type fakeConnection struct{ text *strings.Builder }

func (c *fakeConnection) Header() http.Header         { return http.Header{} }
func (c *fakeConnection) WriteHeader(int)             {}
func (c *fakeConnection) Write(b []byte) (int, error) { return c.text.Write(b) }
func (c *fakeConnection) Flush()                      {}

// Streams are bounded, by client and in all, and say that they are there.
func TestStreamsAreBounded(t *testing.T) {
	h := serve(t, nil, torus)
	h.cfg.StreamsPerClient, h.cfg.Heartbeat = 1, 20*time.Millisecond
	only := h.stream(t, "")
	refused := h.getRaw("/api/v1/stream", nil)
	if refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") != "2" {
		t.Errorf("the second of a client: %d %v", refused.StatusCode, refused.Header)
	}
	h.mu.Lock()
	h.cfg.Streams = 1
	h.mu.Unlock()
	if status := h.getRaw("/api/v1/stream", nil).StatusCode; status != http.StatusServiceUnavailable {
		t.Errorf("the second of all: %d", status)
	}
	for alive := false; !alive; alive = only.lines.Text() == ": still here" {
		if !only.lines.Scan() {
			t.Fatal("no heartbeat")
		}
	}
	only.body.Close()
	eventually(t, "room for another", func() bool { return h.getRaw("/api/v1/stream", nil).StatusCode == http.StatusOK })
	if status := h.getRaw("/api/v1/stream?fabrics=nowhere", nil).StatusCode; status != http.StatusNotFound {
		t.Errorf("of an unknown fabric: %d", status)
	}
}
