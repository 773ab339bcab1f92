package httpapi

import (
	"strings"

	"github.com/giverny/giverny/store/engine/chdb"
)

// statement is what the scanner finds in a text before the engine parses it.
type statement struct {
	verb         string // the first word in upper case: SELECT, INSERT, ...
	hasFormat    bool   // names its own output format
	readsFile    bool   // would access a file of the host despite the grants
	insertFormat string // of INSERT ... FORMAT name <data>, else empty
	insertHead   string // the text before that FORMAT
	insertData   string // the text after it
}

// scanStatement finds what determines how a text is run.
func scanStatement(sql string) statement {
	var st statement
	var before, previous token
	seen, withSource := false, false
	for s := (scanner{sql: sql}); ; {
		t, ok := s.next()
		if !ok {
			return st
		}
		switch {
		case !seen && t.text != "(":
			st.verb, seen = strings.ToUpper(t.text), true
		case opensFile(previous, t):
			st.readsFile = true
		case t.depth == 0 && (t.is("SELECT") || t.is("VALUES") || t.is("WITH")):
			withSource = true
		case t.depth == 0 && t.kind == wordToken && previous.is("FORMAT") && before.text != ".":
			st.hasFormat = true
			if st.verb == "INSERT" && !withSource {
				st.insertFormat, st.insertHead, st.insertData = t.text, sql[:previous.start], sql[t.end:]
				return st // what follows is data, not SQL
			}
		}
		before, previous = previous, t
	}
}

// opensFile reports whether two successive tokens access a file in a way that
// no grant forbids: the function file(), FROM INFILE and INTO OUTFILE. A quoted
// name with an escape could spell any name.
func opensFile(a, b token) bool {
	if b.kind == stringToken {
		return a.is("INFILE") || a.is("OUTFILE")
	}
	if b.text != "(" || b.kind != otherToken {
		return false
	}
	return a.is("file") || a.kind == quotedToken && (strings.EqualFold(a.text, "file") || strings.Contains(a.text, `\`))
}

// refuse returns why a statement may not run, or nil. This is in addition to
// the user's grants, which forbid the table functions and table engines that
// reach outside the data directory.
func (st statement) refuse(a chdb.Analysis) error {
	switch {
	case a.Statements > 1:
		return chdb.NewException(62, "SYNTAX_ERROR", "Multi-statements are not allowed: send one statement at a time")
	case st.readsFile:
		return chdb.NewException(497, "ACCESS_DENIED", "the embedded store reads and writes no files of the host: file(), INFILE and OUTFILE are refused")
	case a.Class == chdb.Control && st.verb != "SET" && st.verb != "USE" && st.verb != "SYSTEM" && st.verb != "KILL":
		return chdb.NewException(497, "ACCESS_DENIED", "the embedded store does not allow "+st.verb+" statements of this kind")
	}
	return nil
}

// streams reports whether the engine can return the result block by block. It
// streams only SELECT, and formats each block separately, so the format must be
// one whose blocks can be concatenated.
func (st statement) streams(a chdb.Analysis, format string) bool {
	if a.Class != chdb.ReadOnly || st.hasFormat {
		return false
	}
	switch st.verb {
	case "SELECT", "WITH", "FROM":
	default:
		return false
	}
	switch format {
	case "Native", "RowBinary", "JSONEachRow", "TabSeparated", "TSV", "CSV":
		return true
	}
	return false
}
