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

// relay is where the output of a child goes. Lines of its own logger, in JSON,
// and of ClickHouse's become records of ours; the trace of a crash becomes
// one; and the last complaint is kept to explain why the child ended.
type relay struct {
	log *slog.Logger

	mu      sync.Mutex
	partial []byte   // a line that has not ended; guarded by mu
	trace   []string // what follows the first line of a crash; guarded by mu
	last    string   // complaint; guarded by mu
}

// maxLine and maxTrace bound what is kept of output without end.
const (
	maxLine  = 64 << 10 // bytes
	maxTrace = 400      // lines
)

var (
	// engineLine is a line of ClickHouse's logger: time, thread, query, level,
	// source and text.
	engineLine = regexp.MustCompile(`^\d{4}\.\d\d\.\d\d [\d:.]+ \[ \d+ \] \{[^}]*\} <(\w+)> (.+?): (.*)$`)
	// engineRest is what such a line may go on with: a stack trace, or the file
	// that an engine leaves when it is killed.
	engineRest = regexp.MustCompile(`^(\d+\. .* @ 0x|PID: |Started at: |Revision: )`)
	// crashLine begins the last words of the Go runtime.
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
// complaint.
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
