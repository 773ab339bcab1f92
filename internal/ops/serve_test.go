package ops_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/ops"
	"github.com/giverny/giverny/internal/test/pipes"
)

// start serves a handler until the test ends.
func start(t *testing.T, connections int, handler http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, connections, handler)
	return l.Addr().String()
}

func serve(t *testing.T, l net.Listener, connections int, handler http.HandlerFunc) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- ops.Serve(ctx, ops.Limit(l, connections), handler, time.Second, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// connect is dial in a synctest bubble.
func connect(t *testing.T, l *pipes.Listener) net.Conn {
	t.Helper()
	c, err := l.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Clients that send their headers byte by byte (slowloris) do not block others, and are disconnected.
func TestSlowClientsAreCutOff(t *testing.T) { synctest.Test(t, slowClients) }

func slowClients(t *testing.T) {
	l := pipes.Listen()
	serve(t, l, 100, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) })
	began := time.Now()
	slow := make([]net.Conn, 50)
	for i := range slow {
		slow[i] = connect(t, l)
		fmt.Fprint(slow[i], "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	}
	hello(t, l)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				for _, c := range slow {
					c.Write([]byte("a"))
				}
			}
		}
	}()
	for _, c := range slow {
		c.SetReadDeadline(began.Add(11 * time.Second)) // the server disconnects after 10 s
		if _, err := io.ReadAll(c); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatalf("a slow client is there after %v", time.Since(began))
		}
	}
}

// hello requests a response from a server.
func hello(t *testing.T, l *pipes.Listener) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: l.Dial}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "hello" {
		t.Errorf("%q, %v", body, err)
	}
}

// A response may take longer than the time limit of a request, 30 s.
func TestAnAnswerMayTakeItsTime(t *testing.T) { synctest.Test(t, slowAnswer) }

func slowAnswer(t *testing.T) {
	l := pipes.Listen()
	serve(t, l, 10, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
			w.Write([]byte("hello"))
		}
	})
	hello(t, l)
}

// A header above the limit is rejected.
func TestLongHeaders(t *testing.T) { synctest.Test(t, longHeaders) }

func longHeaders(t *testing.T) {
	l := pipes.Listen()
	serve(t, l, 10, func(http.ResponseWriter, *http.Request) {})
	c := connect(t, l)
	go fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 1<<20))
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "431") {
		t.Errorf("%q, %v", line, err)
	}
}

// The number of concurrent connections is limited; the next one is served when one ends.
func TestConnectionsAreBounded(t *testing.T) {
	address := start(t, 2, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) })
	ask := func(c net.Conn, patience time.Duration) error {
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		c.SetReadDeadline(time.Now().Add(patience))
		_, err := c.Read(make([]byte, 1))
		return err
	}
	first, second, third := dial(t, address), dial(t, address), dial(t, address)
	if err := ask(first, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := ask(second, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := ask(third, 500*time.Millisecond); err == nil {
		t.Error("the third is served beside two others")
	}
	first.Close()
	third.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := third.Read(make([]byte, 1)); err != nil {
		t.Errorf("the third after the first has gone: %v", err)
	}
}

func TestAddressOfMetrics(t *testing.T) {
	for listen, want := range map[string]string{"127.0.0.1:9401": "127.0.0.1:9402", "127.0.0.1:0": "127.0.0.1:0", ":80": "127.0.0.1:9402"} {
		cfg := ops.DefaultConfig()
		cfg.Listen = listen
		if got := cfg.MetricsAddress(); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
	cfg := ops.DefaultConfig()
	cfg.Listen, cfg.Metrics.Listen, cfg.Connections, cfg.TLS.Cert = "9401", "x", 0, "x"
	err := cfg.Validate()
	for _, key := range []string{"\nlisten: ", "metrics.listen: ", "connections: ", "tls.key: "} {
		if err == nil || !strings.Contains("\n"+err.Error(), key) {
			t.Errorf("no fault at %s: %v", key, err)
		}
	}
}
