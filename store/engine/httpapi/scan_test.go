package httpapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func scanAll(sql string) []token {
	var tokens []token
	s := scanner{sql: sql}
	for t, ok := s.next(); ok; t, ok = s.next() {
		tokens = append(tokens, t)
	}
	return tokens
}

func TestScanner(t *testing.T) {
	for _, tt := range []struct {
		name, sql, want string // kind:text, separated by spaces
	}{
		{"words and punctuation", "SELECT a1+_b", "w:SELECT w:a1 o:+ w:_b"},
		{"doubled quote", `'it''s' x`, `s:it''s w:x`},
		{"escaped quote", `'it\'s' x`, `s:it\'s w:x`},
		{"escape at the end", `'it\`, `s:it\`},
		{"names", "`a b`.\"c\"", "q:a_b o:. q:c"},
		{"unclosed", "'abc", "s:abc"},
		{"line comments", "a -- 'x\nb # 'y\nc #!'z\nd // 'u\ne", "w:a w:b w:c w:d w:e"},
		{"hash is no comment", "a #b", "w:a o:# w:b"},
		{"nested comment", "a /* /* */ ' */ b", "w:a w:b"},
		{"unclosed comment", "a /* b", "w:a"},
		{"heredoc", "$$it's$$ $x$ $$ $x$ b", "s:$$it's$$ s:$x$_$$_$x$ w:b"},
		{"dollar in a word", "a$b $c", "w:a$b w:$c"},
		{"typographic quotes know no escape", `‘a\’ “b” c`, `s:a\ q:b w:c`},
		{"odd space", "file\u00a0(", "w:file o:("},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, tok := range scanAll(tt.sql) {
				got = append(got, string("wqso"[tok.kind])+":"+strings.ReplaceAll(tok.text, " ", "_"))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("tokens of %q (-want +got):\n%s", tt.sql, diff)
			}
		})
	}
}

func TestScannerDepth(t *testing.T) {
	var depths []int
	for _, tok := range scanAll("a (b [c {d}]) e") {
		depths = append(depths, tok.depth)
	}
	want := []int{0, 0, 1, 1, 2, 2, 3, 2, 1, 0, 0}
	if diff := cmp.Diff(want, depths); diff != "" {
		t.Errorf("depths (-want +got):\n%s", diff)
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{"SELECT 'a' /* x */ FROM `t`", "$a$b$a$", "'\\", "“x”‘y’", "/*/**/", "INSERT INTO t FORMAT CSV\n1,2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		end := 0
		for _, tok := range scanAll(sql) {
			if tok.start < end || tok.end <= tok.start || tok.end > len(sql) {
				t.Fatalf("token %+v after byte %d of %q", tok, end, sql)
			}
			end = tok.end
		}
		st := scanStatement(sql)
		if st.insertFormat != "" && !strings.HasPrefix(sql, st.insertHead) {
			t.Fatalf("head %q is not the beginning of %q", st.insertHead, sql)
		}
	})
}
