//go:build engine || integration

package readonly

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/store/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// start serves a database with one table of three rows.
func start(t *testing.T) *httptest.Server {
	t.Helper()
	e := enginetest.Start(t)
	base := enginetest.Connect(t, e, "default")
	for _, statement := range []string{"CREATE DATABASE giverny ENGINE = Atomic", "CREATE TABLE giverny.regions (time DateTime, severity String, size UInt32) ORDER BY time",
		"INSERT INTO giverny.regions SELECT toDateTime(number), 'High', 10 * number FROM numbers(3)", "CREATE TABLE default.secret (x UInt8) ORDER BY x"} {
		if err := base.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	cfg := DefaultConfig()
	cfg.Listen, cfg.Password, cfg.Timeout, cfg.MaxResultBytes = "127.0.0.1:0", secret.NewText("lily pond"), 2*time.Second, 1<<20
	h, err := New(cfg, "giverny", e.DialContext, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// ask sends a statement in the body, with the right password.
func ask(t *testing.T, server *httptest.Server, query, sql string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/?"+query, strings.NewReader(sql))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("analyst", "lily pond")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

func TestAnalystsRead(t *testing.T) {
	server := start(t)
	t.Run("clickhouse-go", func(t *testing.T) { checkClickHouseGo(t, server) })
	t.Run("curl", func(t *testing.T) { checkCurl(t, server) })
	t.Run("allowed", func(t *testing.T) {
		for _, sql := range []string{"SELECT sum(size) FROM regions", "select sum(size) from giverny.regions;", "WITH r AS (SELECT * FROM regions) SELECT sum(size) FROM r", "/* of all */ (SELECT sum(size) FROM regions)",
			"SELECT sum(size) FROM regions WHERE severity IN ('High') AND size IN (SELECT size FROM giverny.regions) FORMAT TSV", "SELECT sum(10 * number) AS `a\nFunction file` FROM numbers(3)",
			"SELECT sum(size) FROM (SELECT size, row_number() OVER (PARTITION BY severity ORDER BY time) AS n FROM regions) WHERE n > 0"} {
			if status, body := ask(t, server, "", sql); status != http.StatusOK || strings.TrimSpace(body) != "30" {
				t.Errorf("%s: %d %s", sql, status, body)
			}
		}
		if status, body := ask(t, server, "param_least=10&query="+url.QueryEscape("SELECT count() FROM regions WHERE size > {least:UInt32}"), ""); status != http.StatusOK || strings.TrimSpace(body) != "1" {
			t.Errorf("a parameter: %d %s", status, body)
		}
	})
	t.Run("exports", func(t *testing.T) {
		const sql = "SELECT toString(severity) AS severity, size FROM regions FORMAT "
		for format, begin := range map[string]string{"CSVWithNames": `"severity","size"` + "\n" + `"High",`, "Parquet": "PAR1", "ArrowStream": "\xff\xff\xff\xff"} {
			if status, body := ask(t, server, "", sql+format); status != http.StatusOK || !strings.HasPrefix(body, begin) || !strings.Contains(body, "High") {
				t.Errorf("%s: %d %.100q", format, status, body)
			}
		}
	})
	t.Run("refused", func(t *testing.T) { checkRefused(t, server) })
	t.Run("typos", func(t *testing.T) { checkTypos(t, server) })
	t.Run("limits", func(t *testing.T) {
		if status, body := ask(t, server, "", "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1"); status == http.StatusOK || !strings.Contains(body, "TIMEOUT_EXCEEDED") {
			t.Errorf("a long query: %d %.200s", status, body)
		}
		if _, body := ask(t, server, "wait_end_of_query=1", "SELECT number FROM numbers(10000000)"); !strings.Contains(body, "Limit for result exceeded") {
			t.Errorf("a large result: %.200s", body)
		}
	})
}

func checkClickHouseGo(t *testing.T, server *httptest.Server) {
	options := &clickhouse.Options{Protocol: clickhouse.HTTP, Addr: []string{server.Listener.Addr().String()}, Auth: clickhouse.Auth{Database: "giverny", Username: "analyst", Password: "lily pond"}}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var rows []struct {
		Severity string `ch:"severity"`
		Size     uint32 `ch:"size"`
	}
	if err := conn.Select(t.Context(), &rows, "SELECT severity, size FROM regions WHERE size >= {least:UInt32} ORDER BY size", clickhouse.Named("least", 10)); err != nil || fmt.Sprint(rows) != "[{High 10} {High 20}]" {
		t.Errorf("rows %v, %v", rows, err)
	}
	for _, statement := range []string{"INSERT INTO regions VALUES (1, 'Low', 1)", "DROP TABLE regions", "CREATE TABLE t (x UInt8) ORDER BY x"} {
		if err := conn.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "ACCESS_DENIED") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO regions"); err == nil {
		if err := batch.Append(time.Now(), "Low", uint32(1)); err == nil && batch.Send() == nil {
			t.Error("a batch was taken")
		}
	}
	options.Auth.Password = "wrong"
	wrong, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	if err := wrong.Select(t.Context(), &rows, "SELECT severity, size FROM regions"); err == nil || !strings.Contains(err.Error(), "AUTHENTICATION_FAILED") {
		t.Errorf("with a wrong password: %v", err)
	}
}

func checkCurl(t *testing.T, server *httptest.Server) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "curl", "-s", "--user", "analyst:lily pond", server.URL+"/?default_format=CSV", "--data-binary", "SELECT size FROM regions ORDER BY size").CombinedOutput()
	if err != nil || string(out) != "0\n10\n20\n" {
		t.Errorf("curl: %q, %v", out, err)
	}
	out, err = exec.CommandContext(ctx, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", server.URL+"/", "--data-binary", "SELECT 1").CombinedOutput()
	if err != nil || string(out) != "401" {
		t.Errorf("curl without a password: %q, %v", out, err)
	}
}

// A typo is the client's fault: the answer is ClickHouse's own, with its status and with positions in the statement.
func checkTypos(t *testing.T, server *httptest.Server) {
	for _, c := range []struct {
		sql    string
		status int
		want   string
	}{
		{"SELECT sum(size FROM regions", 400, `^Code: 62. DB::Exception: Syntax error: failed at position 11 .*FROM regions. Unmatched parentheses: \(\. \(SYNTAX_ERROR\)\n$`},
		{"SELECT size\nFROMM regions WERE 1", 400, `^Code: 62. DB::Exception: Syntax error: failed at position 19 \(regions\) \(line 2, col 7\): regions WERE 1. Expected one of: .*end of query\. \(SYNTAX_ERROR\)\n$`},
		{"SELECT 1 +", 400, "^Code: 62. DB::Exception: Syntax error"},
		{"SELECT sice FROM regions", 404, "^Code: 47. DB::Exception: .*sice.*UNKNOWN_IDENTIFIER"},
		{"SELECT size FROM region", 404, "^Code: 60. DB::Exception: .*region.*UNKNOWN_TABLE"},
		{"SELECT summ(size) FROM regions", 404, "^Code: 46. DB::Exception: .*summ.*UNKNOWN_FUNCTION"},
		{"SELECT plus(size) FROM regions", 400, "^Code: 42. DB::Exception: "},
		{"SELECT severity, sum(size) FROM regions", 400, "^Code: 215. DB::Exception: "},
	} {
		status, body := ask(t, server, "", c.sql)
		if status != c.status || !regexp.MustCompile("(?s)"+c.want).MatchString(body) {
			t.Errorf("%s: %d %.400s", c.sql, status, body)
		}
	}
}

func checkRefused(t *testing.T, server *httptest.Server) {
	for _, c := range []struct{ query, sql, want string }{
		{"", "INSERT INTO regions VALUES (1, 'Low', 1)", "only SELECT"},
		{"", "-- SELECT\nDROP TABLE regions", "only SELECT"},
		{"", "ALTER TABLE regions DELETE WHERE 1", "only SELECT"},
		{"", "TRUNCATE regions", "only SELECT"}, {"", "SYSTEM FLUSH LOGS", "only SELECT"}, {"", "SHOW TABLES", "only SELECT"}, {"", "SET max_threads = 1", "only SELECT"}, {"", "KILL QUERY WHERE 1", "only SELECT"}, {"", "", "only SELECT"},
		{"", "SELECT 1; DROP TABLE regions", "SYNTAX_ERROR"},
		{"", "SELECT 1 INTO OUTFILE '/tmp/x'", ""},
		{"", "SELECT name FROM system.tables", "system.tables"}, {"", "SELECT name FROM `system` . \"tables\"", "system.tables"}, {"", "SELECT 1 WHERE 'x' IN system.users", "system.users"},
		{"", "SELECT (SELECT count() FROM information_schema.tables)", "information_schema"}, {"", "SELECT * FROM INFORMATION_SCHEMA.TABLES", "INFORMATION_SCHEMA"}, {"", "SELECT * FROM default.secret", "default.secret"},
		{"", "WITH a AS (SELECT * FROM system.query_log) SELECT 1", "system.query_log"}, {"", "SELECT * FROM regions JOIN system.one AS o ON 1 = 1", "system.one"}, {"", "SELECT 1 UNION ALL SELECT dummy FROM system.one", "system.one"},
		{"param_t=system.one", "SELECT * FROM {t:Identifier}", ""}, {"param_d=system", "SELECT * FROM {d:Identifier}.one", ""},
		{"", "SELECT * FROM url('http://127.0.0.1:1/', CSV, 'x String')", "url()"}, {"", "SELECT * FROM file('/etc/passwd', CSV, 'x String')", "file"}, {"", "SELECT * FROM remote('127.0.0.1', system.one)", "remote()"},
		{"", "SELECT * FROM s3('http://x/y')", "s3()"}, {"", "SELECT * FROM merge('system', '.*')", "merge()"}, {"", "SELECT * FROM executable('x', TSV, 'y String')", "executable()"}, {"", "SELECT * FROM cluster('x', system.one)", "cluster()"},
		{"", "SELECT file('/etc/passwd')", "file"}, {"", "SELECT `file`('/etc/passwd')", "file"}, {"", "SELECT * APPLY(file) FROM (SELECT '/etc/passwd' AS x)", "not allowed"}, {"", "SELECT file ('x') AS `a\nb`", "file"},
		{"", "SELECT dictGet('x', 'y', 1)", "dictGet"}, {"", "SELECT joinGet('system.x', 'y', 1)", "joinGet"}, {"", "SELECT hasColumnInTable('system', 'one', 'dummy')", "hasColumnInTable"}, {"", "SELECT sleep(3)", "sleep"},
		{"", "SELECT * FROM (EXPLAIN SELECT * FROM system.one)", "not allowed"},
		{"", "SELECT 1 SETTINGS readonly = 0", "READONLY"}, {"", "SELECT * FROM (SELECT 1 SETTINGS max_execution_time = 0)", "READONLY"},
		{"max_execution_time=0", "SELECT 1", "READONLY"}, {"readonly=0", "SELECT 1", "READONLY"}, {"database=system", "SELECT * FROM one", "only giverny"}, {"session_id=1", "SELECT 1", "READONLY"}, {"compress=1", "SELECT 1", "READONLY"},
	} {
		status, body := ask(t, server, c.query, c.sql)
		if status == http.StatusOK || !strings.Contains(body, c.want) || !strings.HasPrefix(body, "Code: ") {
			t.Errorf("%s %s: %d %.300s", c.query, c.sql, status, body)
		}
	}
	if status, body := ask(t, server, "", "SELECT count() FROM regions"); status != http.StatusOK || strings.TrimSpace(body) != "3" {
		t.Errorf("what was refused has done something: %d %s", status, body)
	}
}
