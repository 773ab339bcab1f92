//go:build integration

package main

import (
	"testing"

	"github.com/giverny/giverny/store/engine"
)

// The scripts that require the embedded engine.
func TestScriptsWithEngine(t *testing.T) {
	library, err := engine.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, "engine", "GIVERNY_LIBCHDB="+library)
}
