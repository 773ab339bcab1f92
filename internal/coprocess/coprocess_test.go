package coprocess_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/coprocess"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/journal"
)

// answers answers every line with itself.
const answers = `while read -r line; do echo "$line"; done`

// supervise returns a program of the shell, and its log.
func supervise(t *testing.T, script string, change func(*coprocess.Config)) (*coprocess.Supervised, *journal.Journal) {
	t.Helper()
	cfg := coprocess.Config{Command: []string{"/bin/sh", "-c", script}, Timeout: 5 * time.Second, StopTimeout: 5 * time.Second, Backoff: time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	log := &journal.Journal{}
	s, err := coprocess.Supervise(cfg, "program", slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// ask starts the program unless it runs, and asks it.
func ask(ctx context.Context, s *coprocess.Supervised) (string, error) {
	if _, err := s.Start(ctx); err != nil {
		return "", err
	}
	line, err := s.Ask(ctx, "question")
	return string(line), err
}

func TestAnswers(t *testing.T) {
	s, log := supervise(t, "echo started >&2; head -c 2000 /dev/zero | tr '\\0' x >&2; echo >&2; "+answers, nil)
	for i := range 3 {
		fresh, err := s.Start(t.Context())
		if err != nil || fresh != (i == 0) {
			t.Fatalf("start %d: fresh %v, %v", i, fresh, err)
		}
		if got, err := ask(t.Context(), s); got != "\"question\"\n" || err != nil {
			t.Errorf("answer %q, %v", got, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "line=started") || strings.Count(text, "x") < 500 || strings.Count(text, "x") > 600 {
		t.Errorf("standard error, cut to 500 bytes a line, is not in the log: %s", text)
	}
	if err := s.Close(); err != nil { // nothing runs
		t.Error(err)
	}
}

// Every way to fail has its reason, and the last restart that is allowed is the last: a valid answer in between starts the
// count again.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		timeout time.Duration
		reason  coprocess.Reason
		text    string
	}{
		"exits":          {"read -r line; exit 7", 5 * time.Second, coprocess.Died, "it ended (exit status 7)"},
		"exits at once":  {"exit 7", 5 * time.Second, coprocess.Died, "exit status 7"},
		"hangs":          {"exec sleep 60", 200 * time.Millisecond, coprocess.Late, "timed out after 200ms"},
		"answers a part": {"printf half; exec sleep 60", 200 * time.Millisecond, coprocess.Late, "timed out after 200ms"},
		"never ends":     {"exec cat /dev/zero", 5 * time.Second, coprocess.AnswerTooLarge, "longer than 1048576 bytes"},
		"is not there":   {"", 5 * time.Second, coprocess.Died, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := supervise(t, c.script, func(cfg *coprocess.Config) {
				if cfg.Timeout, cfg.StopTimeout, cfg.Restarts = c.timeout, 100*time.Millisecond, 1; c.script == "" {
					cfg.Command = []string{filepath.Join(t.TempDir(), "none")}
				}
			})
			for _, gone := range []bool{false, true} {
				_, err := ask(t.Context(), s)
				if fault, ok := errors.AsType[*coprocess.Fault](err); !ok || fault.Reason != c.reason || fault.Gone != gone || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%+v, want %s with %q, gone %v", err, c.reason, c.text, gone)
				}
			}
			if _, err := ask(t.Context(), s); !errors.Is(err, coprocess.ErrGone) {
				t.Errorf("after too many failures: %v", err)
			}
			if s.Worked(); c.script != "" {
				if _, err := s.Start(t.Context()); err != nil {
					t.Errorf("after a valid answer: %v", err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// When the context ends, so does the question; the program and its children are killed then, and after a stop that it ignores.
func TestNothingIsLeftBehind(t *testing.T) {
	for name, end := range map[string]func(s *coprocess.Supervised){
		"context ends": func(s *coprocess.Supervised) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := ask(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		},
		"stop is ignored": func(*coprocess.Supervised) {},
	} {
		pid := filepath.Join(t.TempDir(), "child")
		s, _ := supervise(t, "sleep 600 & echo $! > '"+pid+".new'; mv '"+pid+".new' '"+pid+"'; exec sleep 600", func(c *coprocess.Config) { c.StopTimeout = 100 * time.Millisecond })
		if _, err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var child int
		await.Until(t, name+": the program to start its child", 10*time.Second, time.Millisecond, func() bool {
			text, _ := os.ReadFile(pid)
			child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			return child != 0
		})
		end(s)
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		await.Until(t, name+": the program's child to end", 10*time.Second, time.Millisecond, func() bool { return !running(child) })
	}
}

// running reports whether a process runs; one that has exited but was not waited for does not.
func running(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(state, "Z") && syscall.Kill(pid, 0) == nil
}
