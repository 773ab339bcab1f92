//go:build engine || integration

package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/journal"
	"github.com/giverny/giverny/store/engine"
)

// supervised is an engine with access to its parts for tests.
type supervised struct {
	*engine.Engine
	t        *testing.T
	registry *prometheus.Registry
	log      *journal.Journal
	cancel   context.CancelFunc
	ended    chan error
}

// supervise runs an engine and checks, at the end of the test, that it leaks no
// goroutine.
func supervise(t *testing.T, cfg engine.Config) *supervised {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	s := &supervised{t: t, registry: prometheus.NewRegistry(), log: &journal.Journal{}, ended: make(chan error, 1)}
	var err error
	s.Engine, err = engine.New(cfg, engine.Deps{Logger: slog.New(slog.NewTextHandler(s.log, nil)), Registerer: s.registry})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := s.wait(); err != nil {
			t.Errorf("run the engine: %v", err)
		}
		goleak.VerifyNone(t, leaks)
		if t.Failed() {
			t.Logf("log:\n%s", s.log)
		}
	})
	return s
}

// wait waits for Run to end; further calls return the same result.
func (s *supervised) wait() error {
	err := <-s.ended
	s.ended <- err
	return err
}

func (s *supervised) ready() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		s.t.Fatalf("wait for the engine: %v\n%s", err, s.log)
	}
}

func (s *supervised) pid() int {
	s.t.Helper()
	pids := childPIDs(s.t, os.Getpid())
	if len(pids) != 1 {
		s.t.Fatalf("children %v, want one", pids)
	}
	return pids[0]
}

func (s *supervised) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.pid(), sig); err != nil {
		s.t.Fatal(err)
	}
}

// awaitRestart waits until restarts are counted for the reason, and for no other: several if the machine is so busy
// that the engine becomes unresponsive by itself.
func (s *supervised) awaitRestart(reason string) {
	s.t.Helper()
	var restarts map[string]float64
	if !await.Holds(time.Minute, 10*time.Millisecond, func() bool {
		restarts = s.metric("giverny_engine_restarts_total")
		all := 0.
		for _, n := range restarts {
			all += n
		}
		return all > 0 && restarts[reason] == all
	}) {
		s.t.Fatalf("restarts %v, want only such of reason %s", restarts, reason)
	}
}

// metric returns the values of a metric by the value of its label.
func (s *supervised) metric(name string) map[string]float64 {
	s.t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			label := ""
			for _, pair := range m.GetLabel() {
				label = pair.GetValue()
			}
			values[label] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}

func childPIDs(t *testing.T, parent int) []int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // the thread may have ended
		for _, field := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}

func awaitGone(t *testing.T, pid int) {
	t.Helper()
	await.Until(t, fmt.Sprintf("process %d to end", pid), time.Minute, 10*time.Millisecond, func() bool { return gone(pid) })
}
