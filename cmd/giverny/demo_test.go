package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The story may be a file, like that of simulate run. One that is shorter than two intervals is refused before anything starts.
func TestADemonstrationPlaysAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.yaml")
	story := "name: own\nabout: Nothing happens.\nfabric: {topology: \"torus:4x4\"}\ninterval: 7s\nduration: 1m\n"
	if err := os.WriteFile(file, []byte(story), 0o600); err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	root.SetArgs([]string{"demo", "--story", file, "--for", "13s"})
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "want at least 14s, two intervals of the story") {
		t.Errorf("a demonstration of a file: %v", err)
	}
}
