package pipeline

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A fault that repeats is an error in the log once, and again when it changes.
func TestARepeatedFaultIsLoggedOnce(t *testing.T) {
	r := newRig()
	var said strings.Builder
	h := newHealth("f", r.metrics, slog.New(slog.NewTextHandler(&said, nil)))
	for _, text := range []string{"away", "away", "away", "refused", "away"} {
		h.failed("sink topic", errors.New(text), time.Second)
	}
	if n := strings.Count(said.String(), "level=ERROR"); n != 3 || strings.Count(said.String(), "error=away") != 2 {
		t.Errorf("%d errors logged, want away, refused, away:\n%s", n, &said)
	}
	if h.err() == nil || !strings.Contains(h.err().Error(), "away") {
		t.Errorf("the fault is %v", h.err())
	}
}
