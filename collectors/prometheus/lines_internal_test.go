package prometheus

import (
	"strings"
	"testing"
)

// Whatever the text, it is read to its end: what is broken is counted, and the lines around it are not lost.
func FuzzParseLines(f *testing.F) {
	f.Add("tx 1\n")
	f.Add("# TYPE tx histogram\ntx_bucket{le=\"x\"} 1\n")
	f.Add("tx{a=\"\\q\"} 1 2 3\n# HELP tx \\\n{")
	f.Fuzz(func(t *testing.T, text string) {
		families, broken, err := parseLines(strings.NewReader(text))
		if err == nil && len(broken) > 1+strings.Count(text, "\n") {
			t.Errorf("%d of %d lines are broken", len(broken), 1+strings.Count(text, "\n"))
		}
		around, _, err := parseLines(strings.NewReader("first_metric 1\n" + text + "\nlast_metric 2\n"))
		if err != nil || around["first_metric"] == nil || around["last_metric"] == nil {
			t.Errorf("%q: the lines around it: %v, %v", text, around, err)
		}
		for name := range families {
			if around[name] == nil {
				t.Errorf("%q: %s is lost where there are other lines", text, name)
			}
		}
	})
}
