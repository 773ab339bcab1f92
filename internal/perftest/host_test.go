package perftest_test

import (
	"testing"

	"github.com/giverny/giverny/internal/perftest"
)

// The output of a command is kept in part, whatever its size.
func TestOutputIsBounded(t *testing.T) {
	out, err := perftest.Host{}.Run(t.Context(), "sh", "-c", "head -c 9000000 /dev/zero")
	if err != nil || len(out) != 4<<20 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}
