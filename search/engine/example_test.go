package engine_test

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

// The program in docs/how-to/search-a-nic.md is an engine, and a search with it finds
// its anomaly.
func TestExampleProgram(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/search-a-nic.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```go\n")
	source, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("the page has no program")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rig.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", "rig", "rig.go")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	e, err := engine.NewExec(engine.DefaultExecConfig([]string{filepath.Join(dir, "rig")}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, e)
	d, err := e.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	s, err := search.New(d, space, search.Config{Algorithm: search.Lift, Budget: 100, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for id := 1; ; id++ {
		w, ok := s.Next(0)
		if !ok {
			break
		}
		m, err := e.Measure(t.Context(), id, w)
		if err != nil {
			t.Fatal(err)
		}
		s.Observe(0, m)
	}
	truth, err := space.ParseMFS([]byte(`{"qps":{"min":64},"sizes":{"all":{"max":1024}}}`))
	if err != nil {
		t.Fatal(err)
	}
	found := s.Anomalies()
	if len(found) != 1 {
		t.Fatalf("%d anomalies; want 1", len(found))
	}
	if _, exact := search.Compare(found[0].MFS, truth); !exact {
		t.Errorf("found %s; want %s", found[0].MFS, truth)
	}
}
