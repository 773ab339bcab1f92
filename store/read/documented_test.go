//go:build engine || integration

package read

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// documented returns the statements of docs/reference/tables.md, by their comments.
func documented(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/tables.md")
	if err != nil {
		t.Fatal(err)
	}
	statements := map[string]string{}
	for _, block := range sqlBlock.FindAllStringSubmatch(string(page), -1) {
		for statement := range strings.SplitSeq(strings.TrimSpace(block[1]), ";\n") {
			about, text, _ := strings.Cut(strings.TrimSpace(statement), "\n")
			statements[about] = strings.TrimSuffix(text, ";")
		}
	}
	return statements
}

func TestDocumentedStatementsRun(t *testing.T) {
	m := newModel(t)
	statements := documented(t)
	if len(statements) < 5 {
		t.Fatalf("%d statements", len(statements))
	}
	for about, text := range statements {
		rows, err := m.conn.Query(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %v", about, err)
			continue
		}
		if err := rows.Close(); err != nil {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// Port errors include those since a reset of the counter, and accused jobs count once per interval.
func TestDocumentedStatementsCountRight(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	statements := documented(t)
	const today = "toDateTime64(today(), 9, 'UTC')"
	exec := func(statement string, args ...any) {
		t.Helper()
		if err := m.conn.Exec(ctx, statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	for revision := range 2 {
		exec("INSERT INTO intervals (fabric, time, graph_version, revision, duration_ms, stored_at) SELECT 'ib0', "+today+", 1, {revision:UInt32}, 10000, now()", clickhouse.Named("revision", revision))
		exec("INSERT INTO diagnoses (fabric, time, graph_version, revision, rank, region_id, job_ids, blames, stored_at) SELECT 'ib0', "+today+", 1, {revision:UInt32}, number, number, ['17'], [0.5], now() FROM numbers(2)",
			clickhouse.Named("revision", revision))
	}
	exec("INSERT INTO regions (fabric, time, graph_version, revision, rank, region_id, severity, stored_at) SELECT 'ib0', " + today + ", 1, number % 2, number, number, 'High', now() FROM numbers(4)")
	exec("INSERT INTO rollups (fabric, time, made_of, samples, kinds, stored_at) SELECT 'ib0', today(), 7, true, 9, now()")
	exec("INSERT INTO hour_counts (fabric, time, graph_version, made_of, kind, metric, x, y, n, total, other, stored_at) SELECT 'ib0', today(), 1, 7, 'network_state', '', 3, 0, 2, 20000, 0, now()")
	for about, want := range map[string]float64{"-- minutes with a High region, by day": .2, "-- minutes in which the network was High, by day, without the last two hours": .3} {
		var minutes float64
		if err := m.conn.QueryRow(ctx, "SELECT minutes FROM (\n"+statements[about]+"\n)").Scan(&minutes); err != nil || minutes != want {
			t.Errorf("%s: %v, %v, want %v", about, minutes, err, want)
		}
	}
	for second, value := range []int{1000, 1010, 5, 9} {
		exec("INSERT INTO port_readings (fabric, device, port, time, counters, values, interval_start, graph_version, revision, stored_at) SELECT 'ib0', 'leaf', '1', "+today+" + {second:UInt8}, ['ib.symbol_error'], [{value:UInt64}], "+today+", 1, 1, now()",
			clickhouse.Named("second", second), clickhouse.Named("value", value))
	}
	for about, want := range map[string]uint64{"-- the ports with the most symbol errors today; a counter that falls was reset": 19, "-- the jobs that were accused in most intervals of the last week": 1} {
		var count uint64
		column := "errors"
		if strings.Contains(about, "jobs") {
			column = "intervals"
		}
		if err := m.conn.QueryRow(ctx, "SELECT "+column+" FROM (\n"+statements[about]+"\n)").Scan(&count); err != nil || count != want {
			t.Errorf("%s: %d, %v, want %d", about, count, err, want)
		}
	}
}

// A job that is accused of two regions in one interval is accused for one interval.
func TestDocumentedMinutesOfJobs(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	for _, statement := range []string{
		"INSERT INTO intervals (fabric, time, graph_version, revision, duration_ms, stored_at) SELECT 'ib0', now64(3) - number * 60, 1, 0, 60000, now() FROM numbers(3)",
		"INSERT INTO diagnoses (fabric, time, graph_version, revision, rank, region_id, severity, job_ids, blames, stored_at) SELECT fabric, time, 1, 0, number, number, 'Low', ['17'], [0.5], now() FROM intervals CROSS JOIN numbers(2) AS n",
	} {
		if err := m.conn.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	var minutes float64
	if err := m.conn.QueryRow(ctx, "SELECT minutes FROM (\n"+documented(t)["-- for how many minutes each job was accused in the last 30 days, of regions how severe"]+"\n)").Scan(&minutes); err != nil || minutes != 3 {
		t.Errorf("%g minutes, %v; want 3", minutes, err)
	}
}

// storage is what the page leaves out of types: how strings are stored, and the values of an enumeration.
var storage = regexp.MustCompile(`LowCardinality\((\w+)\)|(Enum8)\([^)]*\)`)

// The page lists the columns of all tables and views, because the read-only listener refuses DESCRIBE.
func TestColumnsAreDocumented(t *testing.T) {
	m, ctx := newModel(t), t.Context()
	page, err := os.ReadFile("../../docs/reference/tables.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := m.conn.Query(ctx, `SELECT table, arrayStringConcat(groupArray(concat(name, ' ', type)), ', ')
		FROM (SELECT table, name, type FROM system.columns WHERE database = currentDatabase() AND table != 'giverny_migrations' ORDER BY table, position) GROUP BY table ORDER BY table`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, columns string
		if err := rows.Scan(&table, &columns); err != nil {
			t.Fatal(err)
		}
		if line := "- `" + table + "`: " + storage.ReplaceAllString(columns, "$1$2") + "\n"; !strings.Contains(string(page), line) {
			t.Errorf("docs/reference/tables.md lacks:\n%s", line)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestDocumentedExportsHaveOneRevision: a statement on regions without the valid revisions counts some twice.
func TestDocumentedExportsHaveOneRevision(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/ask-the-past.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(page)) {
		if strings.Contains(line, "FROM regions") {
			found++
			if !strings.Contains(line, "FROM current_intervals") && !strings.Contains(line, "{current}") {
				t.Errorf("all revisions: %s", line)
			}
		}
	}
	if found < 3 {
		t.Errorf("%d statements", found)
	}
}
