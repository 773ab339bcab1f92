package logs_test

import (
	"bytes"
	"log/slog"
	"testing"
)

// logger is a logger under test, with its output.
type logger struct {
	tb testing.TB
	*slog.Logger
	out *bytes.Buffer
}

func (l *logger) lines() int { return bytes.Count(l.out.Bytes(), []byte("\n")) }
