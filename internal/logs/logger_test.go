package logs_test

import (
	"bytes"
	"log/slog"
	"testing"
)

// logger is one under test, with what it has written.
type logger struct {
	tb testing.TB
	*slog.Logger
	out *bytes.Buffer
}

func (l *logger) lines() int { return bytes.Count(l.out.Bytes(), []byte("\n")) }
