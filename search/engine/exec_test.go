package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/coprocess"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

func openProgram(t *testing.T, log *slog.Logger, errs ...string) *engine.Exec {
	t.Helper()
	cfg := engine.DefaultExecConfig(program(errs...))
	cfg.Restarts, cfg.Backoff = 3, time.Millisecond
	e, err := engine.NewExec(cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Protocol violations are named, and the next measurement works.
func TestFaultsOfPrograms(t *testing.T) {
	for what, want := range map[string]struct {
		reason engine.Reason
		says   string
	}{
		"text@2":     {engine.InvalidAnswer, `warming up`},
		"wrongid@2":  {engine.InvalidAnswer, "it answered 1002 when asked for 2"},
		"noid@2":     {engine.InvalidAnswer, "the answer has no id"},
		"status@2":   {engine.InvalidAnswer, `status "splendid"`},
		"negative@2": {engine.InvalidAnswer, "-100 Gb/s"},
		"beyond@2":   {engine.InvalidAnswer, "1e+12 Gb/s"},
		"forever@2":  {engine.InvalidAnswer, "seconds is 1e+308"},
		"missing@2":  {engine.InvalidAnswer, "lacks gbps or mpps"},
		"nopause@2":  {engine.InvalidAnswer, "no tx_pause_percent"},
		"nan@2":      {engine.InvalidAnswer, "not a JSON object: "},
		"three@2":    {engine.InvalidAnswer, "3 directions"},
		"onepause@2": {engine.InvalidAnswer, "tx_pause_percent has 0 values for 1 directions"},
		"null@2":     {engine.InvalidAnswer, `counter "x" is null`},
		"below@2":    {engine.InvalidAnswer, `counter "x" is -5`},
		"again@2":    {engine.DuplicateAnswer, "it answered describe again"},
		"doubled@1":  {engine.DuplicateAnswer, "it answered 1 again when asked for 2"},
		"dead@2":     {engine.Died, "it ended (exit status 3)"},
		"huge@2":     {engine.AnswerTooLarge, "longer than 1048576 bytes"},
		"flood@2":    {engine.AnswerTooLarge, "longer than 1048576 bytes"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := openProgram(t, slog.New(slog.DiscardHandler), what)
			defer closed(t, e)
			ask := asker(t, e)
			if _, err := ask(); err != nil {
				t.Fatal(err)
			}
			_, err := ask()
			var fault *engine.Fault
			if !errors.As(err, &fault) || fault.Reason != want.reason || !strings.Contains(err.Error(), want.says) {
				t.Fatalf("%v; want a fault %s that says %q", err, want.reason, want.says)
			}
			if !strings.HasPrefix(err.Error(), "engine F: measure: ") {
				t.Errorf("%v: want the engine and the request named", err)
			}
			if _, err := ask(); err != nil {
				t.Errorf("after the restart: %v", err)
			}
		})
	}
}

// A program that does not answer in time is late.
func TestLateProgram(t *testing.T) {
	t.Parallel()
	cfg := engine.DefaultExecConfig(program("late@1"))
	var e *engine.Exec
	for cfg.Timeout = 500 * time.Millisecond; ; cfg.Timeout *= 2 { // on a busy machine a program takes longer to start and to describe itself
		var err error
		if e, err = engine.NewExec(cfg, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		defer closed(t, e)
		if _, err := e.Describe(t.Context()); err == nil || cfg.Timeout > 10*time.Second {
			break
		}
	}
	_, err := asker(t, e)()
	var fault *engine.Fault
	if !errors.As(err, &fault) || fault.Reason != engine.Late {
		t.Fatalf("%v; want it to be late", err)
	}
}

// A workload that kills the program each time does not end the engine: others are measured.
func TestWorkloadThatKillsTheProgram(t *testing.T) {
	var log bytes.Buffer
	e := openProgram(t, slog.New(slog.NewTextHandler(&log, nil)), "only="+filepath.Join(t.TempDir(), "good"))
	defer closed(t, e)
	ask := asker(t, e)
	if m, err := ask(); err != nil || m.Status != search.OK {
		t.Fatalf("the first is %+v, %v", m, err)
	}
	for range 7 {
		if _, err := ask(); errors.Is(err, engine.ErrGone) {
			t.Fatal(err)
		}
	}
	if !strings.Contains(log.String(), "the engine is healthy but fails on this workload") {
		t.Errorf("the log: %s", log.String())
	}
}

// A program that keeps failing is given up.
func TestProgramThatIsGone(t *testing.T) {
	e := openProgram(t, slog.New(slog.DiscardHandler), "dead@1", "dead@2", "dead@3", "dead@4")
	defer closed(t, e)
	ask := asker(t, e)
	for n := range 4 {
		_, err := ask()
		var fault *engine.Fault
		if !errors.As(err, &fault) || errors.Is(err, engine.ErrGone) != (n == 3) {
			t.Fatalf("measurement %d: %v", n+1, err)
		}
	}
	if _, err := ask(); !errors.Is(err, engine.ErrGone) {
		t.Errorf("%v; want %v", err, engine.ErrGone)
	}
}

func TestProgramsThatCannotDescribe(t *testing.T) {
	for name, c := range map[string]struct {
		command []string
		says    string
	}{
		"absent":   {[]string{"/no/such/program"}, "start: fork/exec /no/such/program: no such file or directory"},
		"no shell": {[]string{"/bin/echo", "$HOME;", "rm"}, `not a JSON object: "$HOME; rm\n"`},
		"ends":     {[]string{"/bin/true"}, "it "},
		"text":     {program("text@0"), "warming up"},
		"empty":    {[]string{"/bin/echo", `{"name":"x"}`}, "line_rate_gbps 0"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := engine.NewExec(engine.DefaultExecConfig(c.command), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer closed(t, e)
			if _, err = e.Describe(context.Background()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want it to say %q", err, c.says)
			}
		})
	}
}

// Standard error of a program is logged.
func TestStandardErrorIsLogged(t *testing.T) {
	var log bytes.Buffer
	e := openProgram(t, slog.New(slog.NewTextHandler(&log, nil)))
	if _, err := e.Describe(context.Background()); err != nil {
		t.Fatal(err)
	}
	closed(t, e)
	if !strings.Contains(log.String(), `line="program begins"`) {
		t.Errorf("the log: %s", log.String())
	}
}

// A program that does not stop is killed, with all its children.
func TestDeafProgramIsKilled(t *testing.T) {
	cfg := engine.DefaultExecConfig(program("deaf@-1"))
	cfg.StopTimeout = 50 * time.Millisecond
	e, err := engine.NewExec(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Describe(context.Background()); err != nil {
		t.Fatal(err)
	}
	closed(t, e)
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); err == nil && pid >= 0 {
		t.Errorf("a child is left: %d", pid)
	}
}

func TestExecConfigIsChecked(t *testing.T) {
	_, err := engine.NewExec(coprocess.Config{Restarts: -1}, nil)
	for _, want := range []string{"command: ", "timeout: ", "stop_timeout: ", "restarts: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func closed(t *testing.T, e engine.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// randomSearch is a random search of the engine's space.
func randomSearch(t *testing.T, e engine.Engine) (search.Description, *search.Search) {
	t.Helper()
	d, err := e.Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	s, err := search.New(d, space, search.Config{Algorithm: search.Random, Budget: 1000, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return d, s
}

// asker measures workloads of a random search, one after the other.
func asker(t *testing.T, e engine.Engine) func() (search.Measurement, error) {
	t.Helper()
	d, s := randomSearch(t, e)
	id := 0
	return func() (search.Measurement, error) {
		w, ok := s.Next(0)
		if !ok {
			t.Fatal("the search has ended")
		}
		id++
		m, err := e.Measure(context.Background(), id, w)
		if err != nil {
			m = search.Measurement{Status: search.SetupFailed}
		} else if err := engine.CheckMeasurement(&d, &m); err != nil {
			t.Errorf("measurement %d: %v", id, err)
		}
		s.Observe(0, m)
		return m, err
	}
}
