package readonly

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A query may run as long as configured, whatever the HTTP server's limit for other responses.
func TestAQueryMayTakeLongerThanTheServerLetsAnAnswerTake(t *testing.T) {
	const writeTimeout = 100 * time.Millisecond
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sql, _ := io.ReadAll(r.Body)
		if strings.HasPrefix(string(sql), "EXPLAIN AST ") {
			io.WriteString(w, "SelectQuery (children 1)\n")
			return
		}
		time.Sleep(3 * writeTimeout)
		io.WriteString(w, "1\n")
	}))
	defer engine.Close()
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", engine.Listener.Addr().String())
	}
	h, err := New(DefaultConfig(), "giverny", dial, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.WriteTimeout = writeTimeout
	server.Start()
	defer server.Close()
	response, err := http.Post(server.URL, "text/plain", strings.NewReader("SELECT 1"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "1\n" {
		t.Errorf("%q, %v", text, err)
	}
}
