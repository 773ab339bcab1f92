//go:build engine || integration

package httpapi_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/store/engine/chdb"
	"github.com/giverny/giverny/store/engine/enginetest"
	"github.com/giverny/giverny/store/engine/httpapi"
)

// testEngine is the only engine that a process can have.
var testEngine *chdb.Engine

func TestMain(m *testing.M) {
	enginetest.RunInProcess(m, func(e *chdb.Engine) { testEngine = e })
}

// start serves the engine over TCP for one test.
func start(t *testing.T) *httptest.Server {
	t.Helper()
	handler, err := httpapi.New(httpapi.Config{MaxQueries: 4, MaxStatementBytes: 1 << 20}, testEngine, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		handler.Close()
	})
	return server
}

// send posts a body with URL parameters and returns the response with its body.
func send(t *testing.T, server *httptest.Server, params url.Values, body string) (*http.Response, string) {
	t.Helper()
	response, err := server.Client().Post(server.URL+"/?"+params.Encode(), "", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// must is send for requests that have to succeed.
func must(t *testing.T, server *httptest.Server, params url.Values, body string) string {
	t.Helper()
	response, text := send(t, server, params, body)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%v %q: %s: %s", params, body, response.Status, text)
	}
	return text
}

// table creates an empty table, which exists until the end of the test, and returns its name.
func table(t *testing.T, server *httptest.Server) string {
	t.Helper()
	name := "t" + regexp.MustCompile(`\W`).ReplaceAllString(t.Name(), "_")
	must(t, server, nil, "CREATE TABLE "+name+" (a UInt32, s String) ENGINE = MergeTree ORDER BY a")
	t.Cleanup(func() { must(t, server, nil, "DROP TABLE "+name) })
	return name
}

func TestStatements(t *testing.T) {
	server := start(t)
	name := table(t, server)
	for _, tt := range []struct {
		name   string
		params url.Values
		body   string
		want   string
	}{
		{"in the body", nil, "SELECT 1, 'x'", "1\tx\n"},
		{"in the URL", url.Values{"query": {"SELECT 2"}}, "", "2\n"},
		{"in both", url.Values{"query": {"SELECT 3"}}, "+ 1", "4\n"},
		{"format by parameter", url.Values{"default_format": {"CSVWithNames"}}, "SELECT number FROM numbers(2)", "\"number\"\n0\n1\n"},
		{"format in the statement wins", url.Values{"default_format": {"Native"}}, "SELECT 1 AS a FORMAT JSONEachRow", "{\"a\":1}\n"},
		{"header once though in blocks", url.Values{"default_format": {"CSVWithNames"}, "max_block_size": {"1"}}, "SELECT number FROM numbers(3)", "\"number\"\n0\n1\n2\n"},
		{"parameters", url.Values{"param_x": {`it's`}, "param_empty": {""}}, "SELECT {x:String} || {empty:String} FORMAT TSVRaw", "it's\n"},
		{"settings", url.Values{"max_threads": {"1"}, "max_memory_usage": {"123456789"}}, "SELECT getSetting('max_memory_usage')", "123456789\n"},
		{"settings end with the statement", nil, "SELECT getSetting('max_memory_usage')", "0\n"},
		{"database", url.Values{"database": {"system"}}, "SELECT currentDatabase()", "system\n"},
		{"whole result", url.Values{"wait_end_of_query": {"1"}}, "SELECT 5", "5\n"},
		{"no stream", nil, "EXISTS TABLE " + name, "1\n"},
		{"no result", nil, "SELECT 1 WHERE 0", ""},
		{"trailing semicolon", nil, "SELECT 6;", "6\n"},
		{"insert values", nil, "INSERT INTO " + name + " VALUES (1, 'a\n\nb'), (2, 'c;d')", ""},
		{"insert inline data", nil, "INSERT INTO " + name + " FORMAT CSV\n3,\"e\n\nf\"\n4,g\n", ""},
		{"insert data in the body", url.Values{"query": {"INSERT INTO " + name + " (s, a) FORMAT TSV"}}, "h\t5\n", ""},
		{"insert select", nil, "INSERT INTO " + name + " SELECT 6, 'i'", ""},
		{"all of it", nil, "SELECT a, s FROM " + name + " ORDER BY a", "1\ta\\n\\nb\n2\tc;d\n3\te\\n\\nf\n4\tg\n5\th\n6\ti\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := must(t, server, tt.params, tt.body); got != tt.want {
				t.Errorf("result %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExceptions(t *testing.T) {
	server := start(t)
	for _, tt := range []struct {
		name     string
		params   url.Values
		body     string
		wantCode string
	}{
		{"unknown table", nil, "SELECT * FROM nosuch", "60"},
		{"unknown table of an insert", url.Values{"query": {"INSERT INTO nosuch FORMAT CSV"}}, "1\n", "60"},
		{"unknown database", url.Values{"database": {"nosuch"}}, "SELECT 1", "81"},
		{"unknown setting", url.Values{"nosuch": {"1"}}, "SELECT 1", "115"},
		{"syntax", nil, "SELEKT 1", "62"},
		{"syntax of an insert", url.Values{"query": {"INSERT INTO FORMAT CSV"}}, "1\n", "62"},
		{"empty", nil, " -- nothing", "62"},
		{"command of the client", nil, "exit", "62"},
		{"two statements", nil, "SELECT 1; SELECT 2", "62"},
		{"two after values", nil, "INSERT INTO system.one VALUES (1); SELECT 2", "62"},
		{"two in parallel", nil, "CREATE TABLE a (x UInt8) ENGINE = Null PARALLEL WITH CREATE TABLE b (x UInt8) ENGINE = Null", "62"},
		{"too long", nil, "SELECT '" + strings.Repeat("x", 1<<20) + "'", "307"},
		{"compression", url.Values{"compress": {"1"}}, "SELECT 1", "48"},
		{"session", url.Values{"session_id": {"x"}}, "SELECT 1", "48"},
		{"comment", url.Values{"log_comment": {"x"}}, "SELECT 1", "48"},
		{"whole result or none", url.Values{"wait_end_of_query": {"1"}, "max_block_size": {"1"}}, "SELECT throwIf(number = 3) FROM numbers(5)", "395"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			response, text := send(t, server, tt.params, tt.body)
			want := map[string]int{"62": 400, "60": 404, "81": 404, "115": 404, "48": 501}[tt.wantCode]
			want = cmp.Or(want, 500)
			if got := response.Header.Get("X-ClickHouse-Exception-Code"); response.StatusCode != want || got != tt.wantCode {
				t.Errorf("%s, code %q, want %d, code %s; body %q", response.Status, got, want, tt.wantCode, text)
			}
			if !strings.HasPrefix(text, "Code: "+tt.wantCode+". ") {
				t.Errorf("body %q does not begin with the code", text)
			}
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	server := start(t)
	for _, tt := range []struct{ name, header, value string }{
		{"external table", "Content-Type", "multipart/form-data; boundary=x"},
		{"compressed body", "Content-Encoding", "gzip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			request, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("SELECT 1"))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set(tt.header, tt.value)
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if got := response.Header.Get("X-ClickHouse-Exception-Code"); got != "48" {
				t.Errorf("code %q, want 48", got)
			}
		})
	}
}

func TestPing(t *testing.T) {
	server := start(t)
	response, err := server.Client().Get(server.URL + "/ping")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || string(text) != "Ok.\n" {
		t.Errorf("ping answers %q, %v", text, err)
	}
}

// TestExceptionInTheMiddle: what was sent stays, and the exception follows in a
// block with the announced tag.
func TestExceptionInTheMiddle(t *testing.T) {
	server := start(t)
	response, text := send(t, server, url.Values{"max_block_size": {"10"}}, "SELECT throwIf(number = 95) FROM numbers(1000)")
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", response.Status, text)
	}
	tag := response.Header.Get("X-ClickHouse-Exception-Tag")
	block := regexp.MustCompile(`(?s)^(0\n)+\r\n__exception__\r\n` + tag + `\r\n(Code: 395\..*\n)(\d+) ` + tag + `\r\n__exception__\r\n$`)
	m := block.FindStringSubmatch(text)
	if len(tag) != 16 || m == nil {
		t.Fatalf("tag %q, body %q", tag, text)
	}
	if m[3] != fmt.Sprint(len(m[2])) {
		t.Errorf("the block says %s bytes, its text has %d", m[3], len(m[2]))
	}
}

// TestRowsArriveAsTheyCome: the first block is there while the query runs.
func TestRowsArriveAsTheyCome(t *testing.T) {
	server := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const endless = "SELECT number FROM system.numbers SETTINGS max_block_size = 100"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(endless))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); line != "0\n" {
		t.Fatalf("first row %q, %v", line, err)
	}
	cancel()
	waitIdle(t)
}

// waitIdle waits until the engine runs no statement but this one.
func waitIdle(t *testing.T) {
	t.Helper()
	session := enginetest.Session(t, testEngine)
	running := ""
	if !await.Holds(time.Minute, 20*time.Millisecond, func() bool {
		running = ""
		ask := chdb.Statement{SQL: "SELECT query FROM system.processes WHERE Settings['log_comment'] != ''", Format: "TSV"}
		err := session.Query(ask, func(chunk []byte) error {
			running = string(chunk)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return running == ""
	}) {
		t.Fatalf("still running: %s", running)
	}
}

// TestCancelKillsTheQuery: a query that sends nothing ends when its client disconnects.
func TestCancelKillsTheQuery(t *testing.T) {
	server := start(t)
	name := table(t, server)
	for _, sql := range []string{
		"SELECT count() FROM numbers(1e13) WHERE sipHash64(number) = 7",
		"INSERT INTO " + name + " SELECT number, '' FROM numbers(1e13) WHERE sipHash64(number) = 7",
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(sql))
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err == nil {
			response.Body.Close()
			t.Errorf("%q ended with %s", sql, response.Status)
		}
		cancel()
		waitIdle(t)
	}
}

// TestBrokenBodyStoresNothing: rows that arrived before the client disconnected
// are not stored, although the format would allow it.
func TestBrokenBodyStoresNothing(t *testing.T) {
	server := start(t)
	name := table(t, server)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	target := "/?" + url.Values{"query": {"INSERT INTO " + name + " FORMAT CSV"}}.Encode()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n1,a\n2,b\n\r\n", target)
	time.Sleep(50 * time.Millisecond)
	conn.Close()
	waitIdle(t)
	if got := must(t, server, nil, "SELECT count() FROM "+name); got != "0\n" {
		t.Errorf("%s rows stored, want none", strings.TrimSpace(got))
	}
}

// TestBadDataStoresNothing: nor are rows before one that does not parse.
func TestBadDataStoresNothing(t *testing.T) {
	server := start(t)
	name := table(t, server)
	response, text := send(t, server, url.Values{"query": {"INSERT INTO " + name + " FORMAT CSV"}}, "1,a\nx,b\n")
	if got := response.Header.Get("X-ClickHouse-Exception-Code"); got != "27" {
		t.Errorf("code %q, want 27: %s", got, text)
	}
	if got := must(t, server, nil, "SELECT count() FROM "+name); got != "0\n" {
		t.Errorf("%s rows stored, want none", strings.TrimSpace(got))
	}
}

// TestQueriesWaitTheirTurn: more requests than slots all succeed.
func TestQueriesWaitTheirTurn(t *testing.T) {
	server := start(t)
	results := make(chan string)
	for range 12 {
		go func() {
			response, err := server.Client().Post(server.URL, "", strings.NewReader("SELECT sleep(0.05)"))
			if err != nil {
				results <- err.Error()
				return
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			results <- string(text)
		}()
	}
	for range 12 {
		if got := <-results; got != "0\n" {
			t.Errorf("result %q", got)
		}
	}
}

// TestWritesDoNotWaitForQueries: however many statements run that may not write, there is a slot for one that may.
func TestWritesDoNotWaitForQueries(t *testing.T) {
	server := start(t)
	name := table(t, server)
	var asking sync.WaitGroup
	for range 6 {
		asking.Go(func() {
			response, err := server.Client().Post(server.URL+"/?readonly=2", "", strings.NewReader("SELECT sleep(3)"))
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
		})
	}
	time.Sleep(time.Second)
	began := time.Now()
	must(t, server, url.Values{"query": {"INSERT INTO " + name + " FORMAT CSV"}}, "1,a\n")
	if took := time.Since(began); took > 1500*time.Millisecond {
		t.Errorf("a write took %v beside queries of 3s", took)
	}
	asking.Wait()
}
