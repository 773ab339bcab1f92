//go:build engine || integration

package httpapi_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/store/engine/chdb"
	"github.com/giverny/giverny/store/engine/enginetest"
	"github.com/giverny/giverny/store/engine/httpapi"
)

// TestScannerHidesNoFileFunction lets the engine's own parser decide whether a
// text full of quotes and comments calls file(). The scanner must see every
// call that the parser sees.
func TestScannerHidesNoFileFunction(t *testing.T) {
	session := enginetest.Session(t, testEngine)
	pieces := []string{"file", "file(", "(", ")", "'", "''", "`", `"`, `\`, "/*", "*/", "--", "//", "#", "# ", "\n", "$", "$$", "$a$",
		"a", "1", " ", ",", "+", "‘", "’", "“", "”", "\u00a0", "x'", "[", "]", ".", "AS"}
	parsed, called := 0, 0
	check := func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6)
		before, after := strings.Join(parts.Draw(rt, "before"), ""), strings.Join(parts.Draw(rt, "after"), "")
		opening := rapid.SampledFrom([]string{"", "1,", "1 AS", "'',", "/* */", "$$a$$,", "'\\'',"}).Draw(rt, "opening")
		sql := "SELECT " + opening + before + "file('x')" + after
		var tree string
		err := session.Query(chdb.Statement{SQL: "EXPLAIN AST " + sql, Format: "TSVRaw"}, func(chunk []byte) error {
			tree = string(chunk)
			return nil
		})
		if err != nil {
			return // does not parse
		}
		parsed++
		if !strings.Contains(tree, "Function file ") {
			return
		}
		called++
		if !httpapi.ReadsFile(sql) {
			rt.Fatalf("the engine calls file() in %q, and the scanner does not see it:\n%s", sql, tree)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range 20 { // most texts do not parse
			check(rt)
		}
	})
	t.Logf("%d texts parsed, %d of them call file()", parsed, called)
	if called == 0 {
		t.Error("no text called file(): the test shows nothing")
	}
}
