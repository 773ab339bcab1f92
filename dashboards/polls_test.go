//go:build engine || integration

package dashboards

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/schema"
)

// follow reads the stream's lines, without the heartbeats, until ctx ends.
func follow(t *testing.T, ctx context.Context, url string) <-chan string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type %q", got)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer response.Body.Close()
		for s := bufio.NewScanner(response.Body); s.Scan(); {
			if s.Text() != "" && s.Text() != ": still here" && !strings.HasPrefix(s.Text(), "id: ") && !strings.HasPrefix(s.Text(), "retry: ") {
				lines <- s.Text()
			}
		}
	}()
	return lines
}

func expect(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	select {
	case got := <-lines:
		if got != want {
			t.Fatalf("the stream says %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("the stream does not say %q", want)
	}
}

// A fabric that other processes store is polled for; what Put announces needs no poll.
func TestStreamAnnouncesEachInterval(t *testing.T) {
	h := open(t, torus, tree)
	leaks := goleak.IgnoreCurrent()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	reading, hangUp := context.WithCancel(t.Context())
	lines := follow(t, reading, h.url)
	expect(t, lines, ": hello")
	h.store(h.graph(torus), busy(h.graph(torus), noon))
	expect(t, lines, "event: interval")
	expect(t, lines, `data: {"fabric":"torus:4x4x4","start":"2023-11-14T22:13:20Z"}`)
	if err := h.Put(t.Context(), busy(h.graph(tree), noon+second)); err != nil {
		t.Fatal(err)
	}
	expect(t, lines, "event: interval")
	expect(t, lines, `data: {"fabric":"fattree:k=4","start":"2023-11-14T22:13:21Z"}`)
	h.store(h.graph(torus), busy(h.graph(torus), noon+3*second))
	expect(t, lines, "event: interval")
	expect(t, lines, `data: {"fabric":"torus:4x4x4","start":"2023-11-14T22:13:23Z"}`)
	if n := h.metric("giverny_dashboards_listeners"); n != 1 {
		t.Errorf("%v listeners", n)
	}
	hangUp()
	for range lines { // until it is closed
	}
	eventually(t, "no listener", func() bool { return h.metric("giverny_dashboards_listeners") == 0 })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
	h.server.CloseClientConnections()
	h.db.Close() // its connections
	goleak.VerifyNone(t, leaks)
}

// A fabric with long intervals is not polled at every tick.
func TestPollsPerInterval(t *testing.T) {
	h := open(t, torus)
	f := h.order[0]
	f.interval = time.Minute
	h.store(h.graph(torus), busy(h.graph(torus), noon))
	now := time.Now()
	h.pollLatest(t.Context(), f, now)
	h.store(h.graph(torus), busy(h.graph(torus), noon+second))
	h.pollLatest(t.Context(), f, now.Add(2*time.Second))
	if h.intervals.last(f.name) != schema.Instant(noon) {
		t.Errorf("polled again after 2 s of a minute: %v", h.intervals.last(f.name))
	}
	h.pollLatest(t.Context(), f, now.Add(3*time.Second))
	if h.intervals.last(f.name) != schema.Instant(noon+second) {
		t.Errorf("not polled again after 3 s of a minute: %v", h.intervals.last(f.name))
	}
}

// A fabric that Put has announced within the last three intervals is not polled.
func TestPutSparesPolls(t *testing.T) {
	h := open(t, torus)
	f, g := h.order[0], h.graph(torus)
	if err := h.Put(t.Context(), busy(g, noon)); err != nil {
		t.Fatal(err)
	}
	h.store(g, busy(g, noon+second)) // by another process
	h.pollLatest(t.Context(), f, f.fedAt.Load().Add(3*f.interval-1))
	if h.intervals.last(f.name) != schema.Instant(noon) {
		t.Errorf("polled although Put announces: %v", h.intervals.last(f.name))
	}
	h.pollLatest(t.Context(), f, f.fedAt.Load().Add(3*f.interval))
	if h.intervals.last(f.name) != schema.Instant(noon+second) {
		t.Errorf("not polled three intervals after Put announced: %v", h.intervals.last(f.name))
	}
}

func TestFailedPollsAreCounted(t *testing.T) {
	h := open(t, torus)
	h.db.Close()
	h.pollLatest(t.Context(), h.order[0], time.Now())
	if n := h.metric("giverny_dashboards_poll_errors_total"); n != 1 {
		t.Errorf("%v poll errors", n)
	}
}
