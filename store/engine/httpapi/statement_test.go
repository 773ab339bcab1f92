package httpapi

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/store/engine/chdb"
)

func TestScanStatement(t *testing.T) {
	for _, tt := range []struct {
		sql  string
		want statement
	}{
		{"SELECT 1", statement{verb: "SELECT"}},
		{"  (select 1) union all (select 2)", statement{verb: "SELECT"}},
		{"SELECT 1 FORMAT CSV", statement{verb: "SELECT", hasFormat: true}},
		{"SELECT format, 'FORMAT CSV' FROM t", statement{verb: "SELECT"}},
		{"SELECT x FROM (SELECT 1 AS format) y", statement{verb: "SELECT"}},
		{"SELECT t.format x FROM t", statement{verb: "SELECT"}},
		{"-- why\nINSERT INTO t (a, format) FORMAT Native", statement{verb: "INSERT", hasFormat: true, insertFormat: "Native", insertHead: "-- why\nINSERT INTO t (a, format) "}},
		{"insert into t settings x='a' format CSV\n1,'\n2", statement{verb: "INSERT", hasFormat: true, insertFormat: "CSV", insertHead: "insert into t settings x='a' ", insertData: "\n1,'\n2"}},
		{"INSERT INTO t VALUES (1, 'FORMAT x')", statement{verb: "INSERT"}},
		{"INSERT INTO t SELECT * FROM input('a UInt8') FORMAT CSV", statement{verb: "INSERT", hasFormat: true}},
		{"INSERT INTO t FROM INFILE 'x' FORMAT CSV", statement{verb: "INSERT", readsFile: true, hasFormat: true, insertFormat: "CSV", insertHead: "INSERT INTO t FROM INFILE 'x' "}},
		{"SELECT 1 INTO/**/OUTFILE--\n'x'", statement{verb: "SELECT", readsFile: true}},
		{"SELECT 1 INTO OUTFILE $$x$$", statement{verb: "SELECT", readsFile: true}},
		{"SELECT 'INTO OUTFILE \\'x\\''", statement{verb: "SELECT"}},
		{"SELECT file FROM t", statement{verb: "SELECT"}},
		{"SELECT arrayMap(x -> file (x), ['y'])", statement{verb: "SELECT", readsFile: true}},
		{"SELECT `file`('x')", statement{verb: "SELECT", readsFile: true}},
		{"SELECT `\\x66ile`('x')", statement{verb: "SELECT", readsFile: true}},
		{"SELECT profile('x'), filename(1)", statement{verb: "SELECT"}},
		{"", statement{}},
	} {
		t.Run(tt.sql, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, scanStatement(tt.sql), cmp.AllowUnexported(statement{})); diff != "" {
				t.Errorf("statement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	for _, tt := range []struct {
		sql      string
		analysis chdb.Analysis
		wantCode int // 0: allowed
	}{
		{"SELECT 1", chdb.Analysis{Class: chdb.ReadOnly, Statements: 1}, 0},
		{"CREATE TABLE t (a UInt8) ENGINE = Memory", chdb.Analysis{Class: chdb.Mutating, Statements: 1}, 0},
		{"SET a = 1", chdb.Analysis{Class: chdb.Control, Statements: 1}, 0},
		{"KILL QUERY WHERE 1", chdb.Analysis{Class: chdb.Control, Statements: 1}, 0},
		{"BACKUP TABLE t TO Disk('x', 'y')", chdb.Analysis{Class: chdb.Control, Statements: 1}, 497},
		{"SELECT 1 INTO OUTFILE 'x'", chdb.Analysis{Class: chdb.Control, Statements: 1}, 497},
		{"KILL QUERY WHERE 1 INTO OUTFILE 'x'", chdb.Analysis{Class: chdb.Control, Statements: 1}, 497},
		{"SELECT 1; SELECT 2", chdb.Analysis{Class: chdb.ReadOnly, Statements: 2}, 62},
	} {
		t.Run(tt.sql, func(t *testing.T) {
			err := scanStatement(tt.sql).refuse(tt.analysis)
			var exception *chdb.Exception
			if !errors.As(err, &exception) {
				exception = &chdb.Exception{}
			}
			if exception.Code != tt.wantCode {
				t.Errorf("refused with code %d (%v), want %d", exception.Code, err, tt.wantCode)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	readOnly := chdb.Analysis{Class: chdb.ReadOnly, Statements: 1}
	for _, tt := range []struct {
		sql, format string
		want        bool
	}{
		{"SELECT 1", "Native", true},
		{"WITH 1 AS x SELECT x", "Native", true},
		{"(SELECT 1) UNION ALL (SELECT 2)", "JSONEachRow", true},
		{"SELECT 1", "CSVWithNames", false}, // would repeat the header
		{"SELECT 1 FORMAT JSON", "Native", false},
		{"SHOW TABLES", "Native", false}, // the engine rejects it
	} {
		if got := scanStatement(tt.sql).streams(readOnly, tt.format); got != tt.want {
			t.Errorf("streams(%q, %s) = %v, want %v", tt.sql, tt.format, got, tt.want)
		}
	}
	if scanStatement("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x").streams(chdb.Analysis{Class: chdb.Mutating}, "Native") {
		t.Error("an INSERT is streamed")
	}
}
