package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ringOfTwo is fct.txt of two ranks, two steps.
const ringOfTwo = `2 3 1 1 3 10000 10000 1300 2000000000 500 500
3 2 1 1 2 10000 10000 1300 2000000000 600 500
2 3 2 3 0 10000 10000 1300 2000000600 500 500
3 2 2 2 2 10000 10000 1300 2000000600 500 500
`

func runCollective(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append([]string{"collective", "diagnose"}, args...))
	err := root.Execute()
	return out.String(), err
}

func TestCollectiveDiagnose(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "fct.txt"), []byte(ringOfTwo), 0o600); err != nil {
		t.Fatal(err)
	}
	svg, trace := filepath.Join(folder, "a.svg"), filepath.Join(folder, "a.json")
	text, err := runCollective(t, "--format", "vedrfolnir", "--json", "--line-rate", "25Gbps", "--svg", svg, "--trace", trace, folder)
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if d["makespan_ns"] != 1100.0 || d["ranks"] != 2.0 || d["steps"] != 2.0 || len(d["critical_path"].([]any)) != 2 {
		t.Errorf("%s", text)
	}
	for _, list := range []string{"culprits", "stopped_ranks", "late_ranks", "missing_ranks"} {
		if _, ok := d[list].([]any); !ok {
			t.Errorf("%s is %v, want a list", list, d[list])
		}
	}
	for _, path := range []string{svg, trace} {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if text, err = runCollective(t, "--format", "vedrfolnir", folder); err != nil || !strings.Contains(text, "critical path") || !strings.Contains(text, "No culprit") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestCollectiveDiagnoseRefuses(t *testing.T) {
	for _, c := range []struct{ want, args string }{
		{`--format "x": want one of`, "--format x ."},
		{"--line-rate", "--format vedrfolnir --line-rate fast ."},
		{"give the folder of a run", "--format vedrfolnir /nonexistent"},
	} {
		if _, err := runCollective(t, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}
