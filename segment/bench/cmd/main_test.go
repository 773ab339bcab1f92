package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	runs, err := chosen(false, []string{"fattree", "cube2"})
	if err != nil {
		t.Fatal(err)
	}
	for _, markdown := range []bool{false, true} {
		var out bytes.Buffer
		o := options{samples: 2, seed: 1, methods: []string{"oracle", "paper", "statistical", "overlap"}, markdown: markdown}
		if err := o.print(&out, runs); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		want := 1 + 2*4
		if markdown {
			want++
		}
		if len(lines) != want {
			t.Errorf("%d lines, want %d:\n%s", len(lines), want, out.String())
		}
		for _, l := range lines {
			if bars := strings.Count(l, "|"); markdown && bars != len(columns)+1 {
				t.Errorf("%d bars in %q", bars, l)
			}
		}
	}
}

func TestNoiseCurve(t *testing.T) {
	runs, err := chosen(true, nil)
	if err != nil || len(runs) != len(noiseSigmas) || runs[2].name != "2.5" {
		t.Errorf("runs %+v, error %v", runs, err)
	}
}

func TestRefused(t *testing.T) {
	if _, err := chosen(false, []string{"cubes"}); err == nil || !strings.Contains(err.Error(), "torus2") {
		t.Errorf("an unknown set: error %v, want one that lists the sets", err)
	}
	runs, err := chosen(false, []string{"fattree"})
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]options{"no samples": {methods: []string{"paper"}}, "method": {samples: 1, methods: []string{"magic"}}} {
		if err := o.print(new(bytes.Buffer), runs); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
