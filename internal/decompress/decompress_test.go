package decompress

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A file's first bytes tell its form, whatever its name; what its name or first bytes promise, and its content does not
// hold, is an error that names the form.
func TestReader(t *testing.T) {
	const text = "link,credit\n0,1\n"
	var gz, zst bytes.Buffer
	for _, w := range []io.WriteCloser{gzip.NewWriter(&gz), must(zstd.NewWriter(&zst))} {
		io.WriteString(w, text)
		w.Close()
	}
	for name, c := range map[string]struct{ file, content, wrong string }{
		"plain":               {"a.csv", text, ""},
		"gzip":                {"a.csv.gz", gz.String(), ""},
		"gzip without a name": {"/dev/stdin", gz.String(), ""},
		"zstd":                {"a.csv.zst", zst.String(), ""},
		"zstd without a name": {"/dev/stdin", zst.String(), ""},
		"gzip by name only":   {"a.gz", text, "not gzip"},
		"zstd by name only":   {"a.zst", text, "not zstd"},
		"gzip cut off":        {"a.gz", gz.String()[:gz.Len()-9], "not gzip"},
		"zstd cut off":        {"a.zst", zst.String()[:zst.Len()-5], "not zstd"},
	} {
		got := ""
		r, err := Reader(c.file, strings.NewReader(c.content))
		if err == nil {
			var all []byte
			all, err = io.ReadAll(r)
			got = string(all)
		}
		switch {
		case c.wrong == "" && (err != nil || got != text):
			t.Errorf("%s: %q, %v", name, got, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want an error with %q", name, err, c.wrong)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
