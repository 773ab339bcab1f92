package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// relay receives the output of a child. It turns lines of the child's JSON
// logger and of ClickHouse's logger into log records, and the trace of a crash
// into a single one; it keeps the last warning or error to explain why the
// child ended.
type relay struct {
	log *slog.Logger

	mu      sync.Mutex
	partial []byte   // an incomplete line; guarded by mu
	trace   []string // the lines of a crash; guarded by mu
	last    string   // text of the last warning or error; guarded by mu
}

// maxLine and maxTrace limit what is kept of endless output.
const (
	maxLine  = 64 << 10 // bytes
	maxTrace = 400      // lines
)

var (
	// engineLine is a line of ClickHouse's logger: time, thread, query, level,
	// source and text.
	engineLine = regexp.MustCompile(`^\d{4}\.\d\d\.\d\d [\d:.]+ \[ \d+ \] \{[^}]*\} <(\w+)> (.+?): (.*)$`)
	// engineRest matches lines that may follow such a line: a stack trace, or
	// the contents of the status file that a killed engine leaves.
	engineRest = regexp.MustCompile(`^(\d+\. .* @ 0x|PID: |Started at: |Revision: )`)
	// crashLine matches the first line of a crash report of the Go runtime.
	crashLine = regexp.MustCompile(`^(panic: |fatal error: |SIG[A-Z]+: )`)
)

func (r *relay) Write(output []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.partial = append(r.partial, output...)
	for {
		line, rest, found := bytes.Cut(r.partial, []byte("\n"))
		if !found && len(r.partial) < maxLine {
			return len(output), nil
		}
		r.line(strings.TrimSpace(string(line)))
		r.partial = append(r.partial[:0], rest...)
	}
}

// end relays what is left once the child has ended, and returns its last
// warning or error.
func (r *relay) end() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line(strings.TrimSpace(string(r.partial)))
	r.partial = nil
	if len(r.trace) > 0 {
		r.emit(slog.LevelError, r.trace[0], slog.String("trace", strings.Join(r.trace, "\n")))
	}
	return r.last
}

func (r *relay) line(line string) {
	if crashLine.MatchString(line) || len(r.trace) > 0 {
		if len(r.trace) < maxTrace {
			r.trace = append(r.trace, line)
		}
		return
	}
	if line == "" || engineRest.MatchString(line) {
		return
	}
	if m := engineLine.FindStringSubmatch(line); m != nil {
		r.emit(engineLevel(m[1]), m[3], slog.String("source", m[2]))
		return
	}
	var fields map[string]any
	if json.Unmarshal([]byte(line), &fields) != nil {
		r.emit(slog.LevelWarn, strings.TrimPrefix(line, "Error: "))
		return
	}
	var level slog.Level
	name, _ := fields["level"].(string)
	if level.UnmarshalText([]byte(name)) != nil {
		level = slog.LevelWarn
	}
	text, _ := fields["msg"].(string)
	var attrs []slog.Attr
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != "level" && key != "msg" && key != "time" {
			attrs = append(attrs, slog.Any(key, fields[key]))
		}
	}
	r.emit(level, text, attrs...)
}

func engineLevel(name string) slog.Level {
	switch name {
	case "Fatal", "Critical", "Error":
		return slog.LevelError
	case "Warning":
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

func (r *relay) emit(level slog.Level, text string, attrs ...slog.Attr) {
	if level >= slog.LevelWarn {
		r.last = text
	}
	r.log.LogAttrs(context.Background(), level, "engine: message of the engine process", append([]slog.Attr{slog.String("said", text)}, attrs...)...)
}
