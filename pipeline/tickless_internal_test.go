package pipeline

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Without the length of a tick an InfiniBand fabric looks calm, so this is logged once, and said while it lasts.
func TestTicklessSaysSo(t *testing.T) {
	var log bytes.Buffer
	s := tickless{log: slog.New(slog.NewTextHandler(&log, nil))}
	if s.see(map[string]uint64{"no_tick": 0, "gap": 3}); s.describe() != "" || log.Len() > 0 {
		t.Errorf("nothing was dropped: %s, %s", s.describe(), log.String())
	}
	for n := range uint64(3) {
		s.see(map[string]uint64{"no_tick": n + 1})
	}
	if !strings.Contains(s.describe(), "tick_bytes") || strings.Count(log.String(), "tick_bytes") != 1 {
		t.Errorf("%s, %s", s.describe(), log.String())
	}
}
