//go:build engine || integration

package chdb_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/store/engine/chdb"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// testEngine is the only engine that a process can have.
var testEngine *chdb.Engine

func TestMain(m *testing.M) {
	enginetest.RunInProcess(m, func(e *chdb.Engine) { testEngine = e })
}

// ask returns the result of a query as text.
func ask(t *testing.T, session *chdb.Session, st chdb.Statement) string {
	t.Helper()
	var result string
	if err := session.Query(st, func(chunk []byte) error { result += string(chunk); return nil }); err != nil {
		t.Fatalf("%s: %v", st.SQL, err)
	}
	return result
}

func TestVersion(t *testing.T) {
	if got := testEngine.Version(); !strings.HasPrefix(got, "26.") {
		t.Errorf("version %q, want 26 of something", got)
	}
}

func TestQuery(t *testing.T) {
	session := enginetest.Session(t, testEngine)
	for _, tt := range []struct {
		name string
		st   chdb.Statement
		want string
	}{
		{"formats", chdb.Statement{SQL: "SELECT 1 AS a", Format: "JSONEachRow"}, "{\"a\":1}\n"},
		{"parameters", chdb.Statement{SQL: "SELECT {x:String}, {y:UInt8}, {z:Array(UInt8)}, {e:String}", Format: "TSV",
			Params: map[string]string{"x": "naïve", "y": "7", "z": "[1,2]", "e": ""}}, "naïve\t7\t[1,2]\t\n"},
		{"zero bytes", chdb.Statement{SQL: "SELECT length('a\x00b')", Format: "TSV"}, "3\n"},
		{"no rows", chdb.Statement{SQL: "SELECT 1 WHERE 0", Format: "TSV"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ask(t, session, tt.st); got != tt.want {
				t.Errorf("result %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExceptions(t *testing.T) {
	session := enginetest.Session(t, testEngine)
	fails := func(name string, err error, code int) {
		t.Helper()
		var exception *chdb.Exception
		if !errors.As(err, &exception) || exception.Code != code {
			t.Errorf("%s: %v, want an exception with code %d", name, err, code)
		}
	}
	drop := func([]byte) error { return nil }
	fails("query", session.Exec("SELECT * FROM nosuch"), 60)
	fails("stream", session.Stream(chdb.Statement{SQL: "SELECT * FROM nosuch", Format: "Native"}, drop), 60)
	fails("middle of a stream", session.Stream(chdb.Statement{SQL: "SELECT throwIf(number = 300000) FROM numbers(400000)", Format: "Native"}, drop), 395)
	_, err := session.Insert(chdb.Statement{SQL: "INSERT INTO nosuch", Format: "CSV"})
	fails("insert", err, 60)
	if got := ask(t, session, chdb.Statement{SQL: "SELECT 1", Format: "TSV"}); got != "1\n" {
		t.Errorf("the session answers %q afterwards", got)
	}
}

func TestStream(t *testing.T) {
	session := enginetest.Session(t, testEngine)
	chunks, rows := 0, 0
	err := session.Stream(chdb.Statement{SQL: "SELECT 1 FROM numbers(300000)", Format: "TSV"}, func(chunk []byte) error {
		chunks++
		rows += strings.Count(string(chunk), "\n")
		return nil
	})
	if err != nil || rows != 300000 || chunks < 2 {
		t.Errorf("%d rows in %d chunks, %v", rows, chunks, err)
	}
}

func TestStreamStopsWhenTold(t *testing.T) {
	session := enginetest.Session(t, testEngine)
	enough := errors.New("enough")
	err := session.Stream(chdb.Statement{SQL: "SELECT number FROM system.numbers", Format: "TSV"}, func([]byte) error { return enough })
	if err != enough {
		t.Errorf("error %v, want that of emit", err)
	}
	if got := ask(t, session, chdb.Statement{SQL: "SELECT 1", Format: "TSV"}); got != "1\n" {
		t.Errorf("the session answers %q afterwards", got)
	}
}

func TestInsert(t *testing.T) {
	session := enginetest.Session(t, testEngine)
	if err := session.Exec("CREATE TABLE inserted (a UInt32) ENGINE = MergeTree ORDER BY a"); err != nil {
		t.Fatal(err)
	}
	begin := func() *chdb.Insert {
		t.Helper()
		insert, err := session.Insert(chdb.Statement{SQL: "INSERT INTO inserted", Format: "CSV"})
		if err != nil {
			t.Fatal(err)
		}
		return insert
	}

	insert := begin()
	for _, piece := range []string{"1\n2", "2\n", "", "3\n"} { // pieces may end anywhere
		if _, err := insert.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if rows, err := insert.Commit(); rows != 3 || err != nil {
		t.Errorf("commit: %d rows, %v", rows, err)
	}

	insert = begin()
	insert.Write([]byte("4\n5\n"))
	insert.Cancel()

	insert = begin()
	insert.Write([]byte("6\nx\n"))
	if _, err := insert.Commit(); err == nil {
		t.Error("commit of bad data succeeds")
	}

	if got := ask(t, session, chdb.Statement{SQL: "SELECT a FROM inserted ORDER BY a", Format: "TSV"}); got != "1\n3\n22\n" {
		t.Errorf("stored %q, want what was committed", got)
	}
}

func TestClassify(t *testing.T) {
	session := enginetest.Session(t, testEngine)
	for sql, want := range map[string]chdb.Analysis{
		"SELECT 1":                            {Class: chdb.ReadOnly, Statements: 1},
		"SHOW TABLES;":                        {Class: chdb.ReadOnly, Statements: 1},
		"SELECT 1; SELECT 2":                  {Class: chdb.ReadOnly, Statements: 2},
		"INSERT INTO t VALUES (1, 'a;b\n\n')": {Class: chdb.Mutating, Statements: 1},
		"CREATE USER u":                       {Class: chdb.Global, Statements: 1},
		"SET max_threads = 1":                 {Class: chdb.Control, Statements: 1},
		"SELECT 1 INTO OUTFILE '/x'":          {Class: chdb.Control, Statements: 1},
		"INSERT INTO":                         {Class: chdb.Unknown},
	} {
		got, err := session.Classify(sql)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sql, diff)
		}
	}
}

// TestSessionsAreApart: settings and current database belong to one session.
func TestSessionsAreApart(t *testing.T) {
	a, b := enginetest.Session(t, testEngine), enginetest.Session(t, testEngine)
	if err := errors.Join(a.Exec("SET max_block_size = 1234"), a.Exec("USE system")); err != nil {
		t.Fatal(err)
	}
	const state = "SELECT getSetting('max_block_size') = 1234, currentDatabase()"
	if got := ask(t, a, chdb.Statement{SQL: state, Format: "TSV"}); got != "1\tsystem\n" {
		t.Errorf("first session: %q", got)
	}
	if got := ask(t, b, chdb.Statement{SQL: state, Format: "TSV"}); got != "0\tdefault\n" {
		t.Errorf("second session: %q", got)
	}
}

// TestConcurrentSessions runs statements from many goroutines while the garbage
// collector works on the memory that they pass.
func TestConcurrentSessions(t *testing.T) {
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			for i := range 50 {
				session, err := testEngine.Session()
				if err != nil {
					t.Error(err)
					return
				}
				want, got := fmt.Sprintf("%d-%d", worker, i), ""
				echo := chdb.Statement{SQL: "SELECT {x:String}", Format: "TSVRaw", Params: map[string]string{"x": want}}
				err = session.Query(echo, func(chunk []byte) error { got = string(chunk); return nil })
				session.Close()
				if got != want+"\n" || err != nil {
					t.Errorf("result %q, %v; want %q", got, err, want)
				}
				if i%10 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wait.Wait()
}

func BenchmarkSession(b *testing.B) {
	for b.Loop() {
		session, err := testEngine.Session()
		if err != nil {
			b.Fatal(err)
		}
		session.Close()
	}
}
