package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The restriction of a launched search is read before anything is sent: an empty one would let agents search the
// whole space.
func TestLaunchReadsItsRestriction(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "no restriction in it",
		"{}":                           "no restriction in it",
		"direction: bi\n---\nqps: 4\n": "more than one YAML document",
		"- direction":                  "want a mapping",
		"qps: {least: 4}":              `unknown key "least"`,
		"qps: {max: 4}":                "",
	} {
		path := filepath.Join(t.TempDir(), "app.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := searchLaunchFlags{model: "MT4129", restrict: path}
		w, err := f.want()
		if want == "" {
			if err != nil || string(w.Restrict["qps"]) != `{"max":4}` {
				t.Errorf("%q: %s, %v", text, w.Restrict, err)
			}
		} else if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
