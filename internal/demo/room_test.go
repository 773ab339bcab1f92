package demo

import (
	"errors"
	"strings"
	"testing"
)

// A demo needs free disk space; if the amount is unknown, it starts.
func TestADemonstrationNeedsRoom(t *testing.T) {
	free := func(bytes uint64, err error) func(string) (uint64, error) {
		return func(string) (uint64, error) { return bytes, err }
	}
	if err := checkRoom("/x", startBytes, free(startBytes-1, nil)); err == nil || !strings.HasPrefix(err.Error(), "disk full: /x has 63 MB free and the demo needs 64 MB; ") {
		t.Errorf("%v", err)
	}
	for _, f := range []func(string) (uint64, error){free(startBytes, nil), free(0, errors.New("odd"))} {
		if err := checkRoom("/x", startBytes, f); err != nil {
			t.Error(err)
		}
	}
	if left, err := freeBytes(t.TempDir()); err != nil || left == 0 {
		t.Errorf("%d bytes free: %v", left, err)
	}
}
