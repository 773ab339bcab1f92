//go:build engine || integration

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/store/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func mustExec(t testing.TB, conn driver.Conn, sql string, args ...any) {
	t.Helper()
	if err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// scalar returns the one value of a query.
func scalar[T any](t testing.TB, conn driver.Conn, sql string, args ...any) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// row has the column types that Giverny stores.
type row struct {
	ID       uint32            `ch:"id"`
	Big      uint64            `ch:"big"`
	Signed   int64             `ch:"signed"`
	Percent  float32           `ch:"percent"`
	Exact    float64           `ch:"exact"`
	Links    []uint32          `ch:"links"`
	Fabric   string            `ch:"fabric"`
	Text     string            `ch:"text"`
	At       time.Time         `ch:"at"`
	Labels   map[string]string `ch:"labels"`
	Maybe    *float32          `ch:"maybe"`
	Severity string            `ch:"severity"`
	Flag     bool              `ch:"flag"`
}

const rowTable = `CREATE TABLE rows (
	id UInt32, big UInt64, signed Int64, percent Float32, exact Float64, links Array(UInt32), fabric LowCardinality(String), text String,
	at DateTime64(9, 'UTC'), labels Map(LowCardinality(String), String), maybe Nullable(Float32), severity Enum8('low' = 1, 'high' = 2), flag Bool
) ENGINE = MergeTree ORDER BY id`

func makeRows(n int) []row {
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, n)
	for i := range rows {
		r := &rows[i]
		*r = row{
			ID: uint32(i), Big: random.Uint64(), Signed: random.Int64() - 1<<62, Percent: random.Float32() * 100, Exact: random.NormFloat64(),
			Links: []uint32{}, Fabric: fmt.Sprintf("plane%d", i%4), Text: strings.Repeat("naïve\n\n'", i%3),
			At:     time.Unix(1700000000, int64(random.Uint64()%1e9)).UTC(),
			Labels: map[string]string{}, Severity: []string{"low", "high"}[i%2], Flag: i%5 == 0,
		}
		for range i % 4 {
			r.Links = append(r.Links, random.Uint32())
			r.Labels[fmt.Sprint("k", len(r.Links))] = fmt.Sprint(r.Links)
		}
		if i%3 == 0 {
			r.Maybe = &r.Percent
		}
	}
	return rows
}

// TestRoundTrip writes 100,000 rows of all types as one native batch and reads
// them back into structs.
func TestRoundTrip(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	mustExec(t, conn, rowTable)
	want := makeRows(10_000)
	ctx := context.Background()
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO rows")
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if err := batch.AppendStruct(&want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Send(); err != nil {
		t.Fatal(err)
	}
	var got []row
	if err := conn.Select(ctx, &got, "SELECT * FROM rows ORDER BY id"); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].At = got[i].At.UTC() // the same zone, but a different pointer
	}
	if !reflect.DeepEqual(want, got) { // much faster than cmp
		t.Errorf("rows (-want +got):\n%.2000s", cmp.Diff(want, got))
	}
}

func TestRowsStream(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	rows, err := conn.Query(context.Background(), "SELECT number FROM numbers(1000000)")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	next := uint64(0)
	for ; rows.Next(); next++ {
		var got uint64
		if err := rows.Scan(&got); err != nil || got != next {
			t.Fatalf("row %d is %d, %v", next, got, err)
		}
	}
	if err := rows.Err(); err != nil || next != 1_000_000 {
		t.Errorf("%d rows, %v", next, err)
	}
}

func TestNoRows(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	var got []struct {
		Number uint64 `ch:"number"`
	}
	if err := conn.Select(context.Background(), &got, "SELECT number FROM numbers(0)"); err != nil || len(got) != 0 {
		t.Errorf("select: %v, %v", got, err)
	}
	if err := conn.QueryRow(context.Background(), "SELECT 1 WHERE 0").Scan(new(uint8)); err == nil {
		t.Error("scan of no row succeeds")
	}
}

func TestParametersAndSettings(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	ctx := clickhouse.Context(context.Background(), clickhouse.WithParameters(clickhouse.Parameters{"name": "it's", "n": "3"}),
		clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 77}))
	var name string
	var n uint8
	var size uint64
	if err := conn.QueryRow(ctx, "SELECT {name:String}, {n:UInt8}, toUInt64(getSetting('max_block_size'))").Scan(&name, &n, &size); err != nil {
		t.Fatal(err)
	}
	if name != "it's" || n != 3 || size != 77 {
		t.Errorf("got %q, %d, %d", name, n, size)
	}
	if got := scalar[uint64](t, conn, "SELECT toUInt64(getSetting('max_block_size')) SETTINGS max_block_size = 78"); got != 78 {
		t.Errorf("setting in the statement: %d", got)
	}
	if got := scalar[string](t, conn, "SELECT ? || toString(?)", "a'b\\", 5); got != "a'b\\5" {
		t.Errorf("bound values: %q", got)
	}
}

func TestMetadataStatements(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	mustExec(t, conn, "CREATE DATABASE giverny ENGINE = Atomic")
	mustExec(t, conn, "CREATE TABLE giverny.base (a UInt32) ENGINE = MergeTree ORDER BY a")
	mustExec(t, conn, "CREATE TABLE giverny.sums (a UInt32, n AggregateFunction(count)) ENGINE = AggregatingMergeTree ORDER BY a")
	mustExec(t, conn, "CREATE MATERIALIZED VIEW giverny.feed TO giverny.sums AS SELECT a, countState() AS n FROM giverny.base GROUP BY a")
	mustExec(t, conn, "CREATE VIEW giverny.seen AS SELECT a, countMerge(n) AS n FROM giverny.sums GROUP BY a")
	mustExec(t, conn, "ALTER TABLE giverny.base ADD COLUMN b String DEFAULT 'x'")
	mustExec(t, conn, "INSERT INTO giverny.base (a) VALUES (1), (1), (2)")
	mustExec(t, conn, "OPTIMIZE TABLE giverny.sums FINAL")
	mustExec(t, conn, "SYSTEM STOP MERGES giverny.base")
	if got := scalar[uint64](t, conn, "SELECT n FROM giverny.seen WHERE a = 1"); got != 2 {
		t.Errorf("the view counts %d rows, want 2", got)
	}
	var tables []struct {
		Name string `ch:"name"`
	}
	if err := conn.Select(context.Background(), &tables, "SHOW TABLES FROM giverny"); err != nil || len(tables) != 4 {
		t.Errorf("tables %v, %v", tables, err)
	}
	mustExec(t, conn, "DROP TABLE giverny.feed SYNC")
	mustExec(t, conn, "DROP DATABASE giverny SYNC")
}

// TestLargeValues: the rows of INSERT ... VALUES do not count as query text.
func TestLargeValues(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	mustExec(t, conn, "CREATE TABLE t (a UInt32, s String) ENGINE = MergeTree ORDER BY a")
	var sql strings.Builder
	sql.WriteString("INSERT INTO t VALUES ")
	for i := range 20000 {
		fmt.Fprintf(&sql, "(%d, '%s'),", i, strings.Repeat("it\\'s;\n\n", 10))
	}
	mustExec(t, conn, sql.String())
	if got := scalar[uint64](t, conn, "SELECT count() FROM t"); got != 20000 {
		t.Errorf("%d rows stored, want 20000", got)
	}
}

func TestAsyncInsert(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	mustExec(t, conn, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
	ctx := clickhouse.Context(context.Background(), clickhouse.WithAsync(true))
	if err := conn.Exec(ctx, "INSERT INTO t VALUES (1), (2)"); err != nil {
		t.Fatal(err)
	}
	if got := scalar[uint64](t, conn, "SELECT count() FROM t"); got != 2 {
		t.Errorf("%d rows stored, want 2", got)
	}
}

// TestDatabaseSQL uses database/sql, like migration tools.
func TestDatabaseSQL(t *testing.T) {
	db := clickhouse.OpenDB(enginetest.Start(t).Options("default"))
	defer db.Close()
	ctx := context.Background()
	if err := db.PingContext(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, "CREATE TABLE versions (id Int64, applied UInt8, at DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY id"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO versions (id, applied) VALUES (?, ?)", 7, 1); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	var id int64
	if err := db.QueryRowContext(ctx, "SELECT id FROM versions WHERE applied = ?", 1).Scan(&id); err != nil || id != 7 {
		t.Errorf("version %d, %v", id, err)
	}
}

func TestExceptionsHaveCodes(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	ctx := context.Background()
	mustExec(t, conn, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
	_, missing := conn.PrepareBatch(ctx, "INSERT INTO nosuch")
	middle := func() error {
		rows, err := conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 1000})),
			"SELECT throwIf(number = 500000) FROM numbers(1000000)")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
		}
		return rows.Err()
	}
	for _, tt := range []struct {
		name     string
		err      error
		wantCode int32
	}{
		{"query", conn.Exec(ctx, "SELECT * FROM nosuch"), 60},
		{"batch", missing, 60},
		{"in the middle of a result", middle(), 395},
		{"two statements", conn.Exec(ctx, "DROP TABLE t; SELECT 1"), 62},
		{"unknown setting", conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"nosuch": 1})), "SELECT 1"), 115},
		{"memory", conn.Exec(ctx, "SELECT groupArray(number) FROM numbers(1e9) SETTINGS max_memory_usage = 10000000"), 241},
		{"time", conn.Exec(ctx, "SELECT count() FROM numbers(1e13) WHERE sipHash64(number) = 7 SETTINGS max_execution_time = 0.2"), 159},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var exception *clickhouse.Exception
			if !errors.As(tt.err, &exception) || exception.Code != tt.wantCode {
				t.Errorf("error %v, want an exception with code %d", tt.err, tt.wantCode)
			}
		})
	}
	if got := scalar[uint8](t, conn, "EXISTS TABLE t"); got != 1 {
		t.Error("a refused text dropped the table")
	}
}

// TestOutsideIsClosed: no statement reaches a file, a host or a program.
func TestOutsideIsClosed(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	ctx := context.Background()
	mustExec(t, conn, "CREATE TABLE t (s String) ENGINE = MergeTree ORDER BY s")
	out := t.TempDir() + "/out"
	for _, sql := range []string{
		"SELECT file('/etc/passwd')",
		"SELECT * FROM file('/etc/passwd', 'LineAsString')",
		"SELECT * FROM `/etc/passwd`",
		"SELECT * FROM url('http://localhost/', 'LineAsString')",
		"SELECT * FROM s3('http://localhost/x', 'LineAsString')",
		"SELECT * FROM remote('127.0.0.1', 'system.one')",
		"SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')",
		"SELECT * FROM executable('id', 'TSV', 's String')",
		"SELECT 1 INTO OUTFILE '" + out + "'",
		"KILL QUERY WHERE 1 INTO OUTFILE '" + out + "'",
		"EXPLAIN SELECT 1 INTO OUTFILE '" + out + "'",
		"INSERT INTO t FROM INFILE '/etc/passwd' FORMAT LineAsString",
		"INSERT INTO FUNCTION file('" + out + "', 'CSV', 's String') SELECT 'x'",
		"CREATE TABLE f (s String) ENGINE = File(CSV)",
		"CREATE TABLE f (s String) ENGINE = URL('http://localhost/', CSV)",
		"CREATE DATABASE d ENGINE = Filesystem('/etc')",
		"CREATE DATABASE d ENGINE = MySQL('127.0.0.1:1', 'd', 'u', 'p')",
		"CREATE DICTIONARY d (a UInt64) PRIMARY KEY a SOURCE(HTTP(url 'http://localhost/' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)",
		"CREATE TABLE f (s String) ENGINE = MergeTree ORDER BY s SETTINGS disk = disk(type = local, path = '/tmp/x/')",
		"BACKUP TABLE t TO File('" + out + "')",
		"ATTACH TABLE f FROM '/tmp' (s String) ENGINE = MergeTree ORDER BY s",
		"CREATE FUNCTION f AS x -> file(x)",
		"CREATE USER u",
		"GRANT ALL ON *.* TO default",
		"SYSTEM SHUTDOWN",
		"SYSTEM KILL",
	} {
		if err := conn.Exec(ctx, sql); err == nil {
			t.Errorf("%s: allowed", sql)
		}
	}
	if got := scalar[uint64](t, conn, "SELECT count() FROM t"); got != 0 {
		t.Errorf("%d rows came from a file", got)
	}
}

func TestCancelKillsTheQuery(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	started := time.Now()
	err := conn.Exec(ctx, "SELECT count() FROM numbers(1e13) WHERE sipHash64(number) = 7")
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(started) > time.Minute {
		t.Fatalf("error %v after %v", err, time.Since(started))
	}
	const running = "SELECT count() FROM system.processes WHERE query LIKE '%sipHash64(number)%' AND query NOT LIKE '%system.processes%'"
	await.Until(t, "the query to end", time.Minute, 20*time.Millisecond, func() bool { return scalar[uint64](t, conn, running) == 0 })
}

// TestDeduplication: an insert that is repeated with its token counts once,
// however the token is sent, and however many tokens there are.
func TestDeduplication(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "default")
	mustExec(t, conn, "CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 1000")
	send := func(token string, values ...uint32) {
		t.Helper()
		ctx := clickhouse.Context(context.Background(), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": token}))
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO t")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if err := batch.Append(v); err != nil {
				t.Fatal(err)
			}
		}
		if err := batch.Send(); err != nil {
			t.Fatal(err)
		}
	}
	count := func() uint64 { return scalar[uint64](t, conn, "SELECT count() FROM t") }

	send("fabric/1", 1, 2)
	send("fabric/1", 1, 2)
	send("fabric/1", 3) // the token decides, not the rows
	if got := count(); got != 2 {
		t.Errorf("%d rows after a repeated batch, want 2", got)
	}
	send("fabric/2", 1, 2)
	if got := count(); got != 4 {
		t.Errorf("%d rows after another token, want 4", got)
	}
	for range 2 {
		mustExec(t, conn, "INSERT INTO t SETTINGS insert_deduplication_token = 'fabric/3' VALUES (5), (6)")
	}
	if got := count(); got != 6 {
		t.Errorf("%d rows after a token in the statement, want 6", got)
	}
	for i := range 100 {
		send(fmt.Sprint("many/", i), uint32(i))
	}
	if got := count(); got != 106 {
		t.Errorf("%d rows after 100 tokens, want 106", got)
	}
}

func TestUnknownDatabase(t *testing.T) {
	conn := enginetest.Connect(t, enginetest.Start(t), "nosuch")
	var exception *clickhouse.Exception
	if err := conn.Exec(context.Background(), "SELECT 1"); !errors.As(err, &exception) || exception.Code != 81 {
		t.Errorf("error %v, want an exception with code 81", err)
	}
}
