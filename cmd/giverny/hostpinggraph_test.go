package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A description beyond the limit is an error that names the limit, not a graph of its beginning.
func TestATooLargeHostDescriptionIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.xml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxHostFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := readHost(path, ""); err == nil || !strings.Contains(err.Error(), "more than 33554432 bytes") {
		t.Error(err)
	}
}
