package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A demo needs free disk space; if the amount is unknown, it starts.
func TestADemonstrationNeedsRoom(t *testing.T) {
	free := func(bytes uint64, err error) func(string) (uint64, error) {
		return func(string) (uint64, error) { return bytes, err }
	}
	if err := checkRoom("/x", demoBytes, free(demoBytes-1, nil)); err == nil || !strings.HasPrefix(err.Error(), "disk full: /x has 63 MB free and the demo needs 64 MB; ") {
		t.Errorf("%v", err)
	}
	for _, f := range []func(string) (uint64, error){free(demoBytes, nil), free(0, errors.New("odd"))} {
		if err := checkRoom("/x", demoBytes, f); err != nil {
			t.Error(err)
		}
	}
	if left, err := freeBytes(t.TempDir()); err != nil || left == 0 {
		t.Errorf("%d bytes free: %v", left, err)
	}
}

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
