package coprocess

import (
	"bytes"
	"log/slog"
	"time"
)

// Limits of a program's standard error in the log.
const (
	maxLogBytes = 500              // of a line
	maxLogLines = 100              // in a logWindow
	logWindow   = 10 * time.Second // begins with a line
)

// lineLogger logs lines, truncated, and counts those beyond the limit of a window.
type lineLogger struct {
	log    *slog.Logger
	now    func() time.Time
	part   []byte    // of the line that has not ended
	begun  time.Time // of the window
	logged int       // in the window
	left   int       // lines of the window that were left out
}

// Write never fails: output on standard error must not stop the program.
func (l *lineLogger) Write(text []byte) (int, error) {
	n := len(text)
	for {
		line, rest, complete := bytes.Cut(text, []byte("\n"))
		if room := maxLogBytes - len(l.part); room > 0 {
			l.part = append(l.part, line[:min(len(line), room)]...)
		}
		if !complete {
			return n, nil
		}
		l.end()
		text = rest
	}
}

// end ends a line.
func (l *lineLogger) end() {
	if now := l.now(); now.Sub(l.begun) >= logWindow {
		l.report()
		l.begun, l.logged = now, 0
	}
	if l.logged < maxLogLines {
		l.logged++
		l.log.Info("coprocess: line on standard error", "line", string(l.part))
	} else {
		l.left++
	}
	l.part = l.part[:0]
}

// report logs how many lines were left out.
func (l *lineLogger) report() {
	if l.left > 0 {
		l.log.Warn("coprocess: lines on standard error dropped, too many", "dropped", l.left, "limit", maxLogLines, "within", logWindow)
	}
	l.left = 0
}

// close ends a last line without a line break. The program has ended.
func (l *lineLogger) close() {
	if len(l.part) > 0 {
		l.end()
	}
	l.report()
}
