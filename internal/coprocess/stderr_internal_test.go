package coprocess

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A program that floods its standard error does not flood the log: a window has a limit, and what was left out is counted. A last
// line without a line break, such as that of a program that crashed, is logged.
func TestStandardErrorIsLimited(t *testing.T) {
	var text bytes.Buffer
	now := time.Unix(1_800_000_000, 0)
	l := &lineLogger{log: slog.New(slog.NewTextHandler(&text, nil)), now: func() time.Time { return now }}
	write := func(s string) {
		t.Helper()
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	write(strings.Repeat("noise\n", 5*maxLogLines))
	if n := strings.Count(text.String(), "line=noise"); n != maxLogLines {
		t.Errorf("%d lines in the first window, want %d", n, maxLogLines)
	}
	now = now.Add(logWindow)
	write("calm\nfa")
	write("tal: no device")
	l.close()
	l.close()
	log := text.String()
	if strings.Count(log, "dropped=400") != 1 || strings.Count(log, "line=calm") != 1 || strings.Count(log, `line="fatal: no device"`) != 1 {
		t.Errorf("the end of the log: %s", log[max(0, len(log)-600):])
	}
}
