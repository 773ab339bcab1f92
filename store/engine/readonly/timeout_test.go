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

// overEngine returns a handler over an engine that answers every statement as given.
func overEngine(t *testing.T, answer func(w io.Writer, sql string)) *Handler {
	t.Helper()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sql, _ := io.ReadAll(r.Body)
		answer(w, string(sql))
	}))
	t.Cleanup(engine.Close)
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", engine.Listener.Addr().String())
	}
	h, err := New(DefaultConfig(), "giverny", dial, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A query may run as long as configured, whatever the HTTP server's limit for other responses.
func TestAQueryMayTakeLongerThanTheServerLetsAnAnswerTake(t *testing.T) {
	const writeTimeout = 100 * time.Millisecond
	server := httptest.NewUnstartedServer(overEngine(t, func(w io.Writer, sql string) {
		if strings.HasPrefix(sql, "EXPLAIN AST ") {
			io.WriteString(w, "SelectQuery (children 1)\n")
			return
		}
		time.Sleep(3 * writeTimeout)
		io.WriteString(w, "1\n")
	}))
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

// The engine prints a tree of this size for a nested array in a statement of maxStatement bytes; the array hides what follows it.
func TestATreeTooLongToReadIsRefused(t *testing.T) {
	h := overEngine(t, func(w io.Writer, _ string) {
		io.WriteString(w, "SelectQuery (children 2)\n"+strings.Repeat(" Literal UInt64_1\n", maxTree/len(" Literal UInt64_1\n"))+" Function hostName\n")
	})
	if err := h.check(t.Context(), &question{sql: "SELECT [1, 1], hostName()"}); err == nil || !strings.Contains(err.Error(), "syntax tree") {
		t.Errorf("%v", err)
	}
}
