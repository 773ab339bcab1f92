package chdb_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/store/engine/chdb"
)

func TestOpenRefusesOtherLibraries(t *testing.T) {
	if _, err := chdb.Open("/nonexistent/libchdb.so", t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "/nonexistent/libchdb.so") {
		t.Errorf("missing library: %v", err)
	}
	_, err := chdb.Open("libm.so.6", t.TempDir(), "")
	if err == nil || !strings.Contains(err.Error(), "make deps") {
		t.Errorf("another library: %v", err)
	}
}
