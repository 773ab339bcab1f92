//go:build engine || integration

package engine_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// TestAcknowledgedIsStored kills the engine repeatedly while batches are
// inserted. A failed batch is sent again with its token, as the writer does it.
// At the end every batch is stored, once.
func TestAcknowledgedIsStored(t *testing.T) {
	cfg := enginetest.Config(t)
	cfg.MinBackoff, cfg.MaxBackoff = 10*time.Millisecond, 50*time.Millisecond
	s := supervise(t, cfg)
	s.ready()
	conn, err := clickhouse.Open(s.Options("default"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	mustExec(t, conn, "CREATE TABLE t (batch UInt32, row UInt32) ENGINE = MergeTree ORDER BY (batch, row) SETTINGS non_replicated_deduplication_window = 1000")

	const kills, rowsPerBatch = 4, 5000
	killed := make(chan error, 1)
	var failures atomic.Int64
	go func() {
		for i := 0; i < kills || failures.Load() == 0; i++ { // until one has interrupted a batch
			time.Sleep(time.Duration(150+37*i) * time.Millisecond)
			if err := s.Ready(context.Background()); err != nil {
				killed <- err
				return
			}
			for _, pid := range childPIDs(t, os.Getpid()) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		killed <- nil
	}()
	batches := uint32(0)
	for killing, more := true, true; more; batches++ {
		more = killing // the batch after the last kill is stored once the engine runs again
		for attempt := 0; ; attempt++ {
			err := sendBatch(conn, batches, rowsPerBatch)
			if err == nil {
				break
			}
			failures.Add(1)
			if attempt > 100 {
				t.Fatalf("batch %d: %v", batches, err)
			}
		}
		select {
		case err := <-killed:
			if err != nil {
				t.Fatal(err)
			}
			killing = false
		default:
		}
	}
	t.Logf("%d batches, %d failed attempts", batches, failures.Load())
	rows, distinct := scalar[uint64](t, conn, "SELECT count() FROM t"), scalar[uint64](t, conn, "SELECT uniqExact(batch, row) FROM t")
	if want := uint64(batches) * rowsPerBatch; rows != want || distinct != want {
		t.Errorf("%d rows stored, %d distinct, %d acknowledged", rows, distinct, want)
	}
}

func sendBatch(conn driver.Conn, number uint32, rows int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": fmt.Sprint(number)}))
	batch, err := conn.PrepareBatch(ctx, "INSERT INTO t")
	if err != nil {
		return err
	}
	for i := range rows {
		if err := batch.Append(number, uint32(i)); err != nil {
			return err
		}
	}
	return batch.Send()
}

func TestRestartAfterCrash(t *testing.T) {
	cfg := enginetest.Config(t)
	s := supervise(t, cfg)
	s.ready()
	conn, err := clickhouse.Open(s.Options("default"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	mustExec(t, conn, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
	mustExec(t, conn, "INSERT INTO t VALUES (1)")
	s.signal(syscall.SIGSEGV)
	s.awaitRestart("crash")
	if got := scalar[uint64](t, conn, "SELECT count() FROM t"); got != 1 { // waits for the restart
		t.Errorf("%d rows after the restart", got)
	}
	if !strings.Contains(s.log.String(), "engine: ended, restarting") {
		t.Error("the log does not mention the restart")
	}
}

func TestRestartWhenUnresponsive(t *testing.T) {
	cfg := enginetest.Config(t)
	cfg.HealthInterval, cfg.HealthTimeout = 50*time.Millisecond, 500*time.Millisecond
	s := supervise(t, cfg)
	s.ready()
	s.signal(syscall.SIGSTOP)
	s.awaitRestart("unresponsive")
	s.ready()
}

// If a cleaner of temporary files removes the socket, the engine restarts, and the store survives.
func TestRestartWhenTheSocketIsGone(t *testing.T) {
	cfg := enginetest.Config(t)
	cfg.HealthInterval, cfg.RuntimeDir = 50*time.Millisecond, t.TempDir()
	s := supervise(t, cfg)
	s.ready()
	sockets, err := filepath.Glob(filepath.Join(cfg.RuntimeDir, "giverny-engine-*"))
	if err != nil || len(sockets) != 1 {
		t.Fatal(sockets, err)
	}
	if err := os.RemoveAll(sockets[0]); err != nil {
		t.Fatal(err)
	}
	s.awaitRestart("unresponsive")
	s.ready()
	if n := scalar[uint8](t, enginetest.Connect(t, s.Engine, "default"), "SELECT 42"); n != 42 {
		t.Errorf("the engine answers %d", n)
	}
	options, err := engine.Reach(cfg.DataDir, "default")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n := scalar[uint8](t, conn, "SELECT 43"); n != 43 {
		t.Errorf("to another process the engine answers %d", n)
	}
}

// TestSignalsAreTheParents: a signal of a terminal or a service manager to the
// whole group does not stop the engine before its parent does.
func TestSignalsAreTheParents(t *testing.T) {
	s := supervise(t, enginetest.Config(t))
	s.ready()
	pid := s.pid()
	s.signal(syscall.SIGTERM)
	s.signal(syscall.SIGINT)
	conn := enginetest.Connect(t, s.Engine, "default")
	for range 5 {
		time.Sleep(20 * time.Millisecond)
		scalar[uint8](t, conn, "SELECT 1")
	}
	if s.pid() != pid {
		t.Error("a signal ended the engine")
	}
}

// TestStopLetsStatementsFinish: an insert that is running when the engine has
// to stop is stored.
func TestStopLetsStatementsFinish(t *testing.T) {
	cfg := enginetest.Config(t)
	cfg.StopTimeout = time.Minute // for a busy machine
	s := supervise(t, cfg)
	s.ready()
	conn, err := clickhouse.Open(s.Options("default"))
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a")
	result := make(chan error, 1)
	go func() {
		result <- conn.Exec(context.Background(), "INSERT INTO t SELECT number + sleepEachRow(0.1) FROM numbers(25) SETTINGS max_block_size = 1") // long enough to be observed
	}()
	awaitStatement(t, conn, "sleepEachRow")
	s.cancel()
	if err := <-result; err != nil {
		t.Errorf("the insert: %v", err)
	}
	conn.Close()
	if err := s.wait(); err != nil {
		t.Errorf("run: %v", err)
	}
	if err := s.Ready(context.Background()); err == nil || !strings.Contains(err.Error(), "has stopped") {
		t.Errorf("ready after the end: %v", err)
	}

	again := supervise(t, cfg)
	again.ready()
	conn, err = clickhouse.Open(again.Options("default"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := scalar[uint64](t, conn, "SELECT count() FROM t"); got != 25 {
		t.Errorf("%d rows stored, want 25", got)
	}
}

// TestStopKillsWhatDoesNotFinish: a statement that never ends does not block
// the stop forever.
func TestStopKillsWhatDoesNotFinish(t *testing.T) {
	cfg := enginetest.Config(t)
	cfg.StopTimeout = 300 * time.Millisecond
	s := supervise(t, cfg)
	s.ready()
	conn, err := clickhouse.Open(s.Options("default"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	result := make(chan error, 1)
	go func() {
		result <- conn.Exec(context.Background(), "SELECT count() FROM numbers(1e13) WHERE sipHash64(number) = 7")
	}()
	awaitStatement(t, conn, "sipHash64")
	started := time.Now()
	s.cancel()
	if err := <-result; err == nil {
		t.Error("the endless query succeeds")
	}
	if err := s.wait(); err != nil || time.Since(started) > time.Minute {
		t.Errorf("run ends with %v after %v", err, time.Since(started))
	}
}

// awaitStatement waits until a statement that contains the word runs.
func awaitStatement(t *testing.T, conn clickhouse.Conn, word string) {
	t.Helper()
	const query = "SELECT count() FROM system.processes WHERE position(query, ?) > 0 AND position(query, 'system.processes') = 0"
	await.Until(t, "a statement with "+word, time.Minute, 10*time.Millisecond, func() bool { return scalar[uint64](t, conn, query, word) > 0 })
}

func TestDataDirHasOneOwner(t *testing.T) {
	cfg := enginetest.Config(t)
	first := supervise(t, cfg)
	first.ready()
	second, err := engine.New(cfg, engine.Deps{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	err = second.Run(context.Background())
	want := fmt.Sprintf("directory %s is in use by process %d: stop that process", cfg.DataDir, first.pid())
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one that says %q", err, want)
	}
}

func TestStartThatCannotSucceed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*engine.Config)
		want  string
	}{
		{"library", func(c *engine.Config) { c.LibraryPath = "libm.so.6" }, "libm.so.6 has no chdb_"},
		{"command", func(c *engine.Config) { c.Command = []string{"/nonexistent"} }, "/nonexistent"},
		{"other program", func(c *engine.Config) { c.Command = []string{"/bin/true"} }, "exit status 0"},
		{"silent program", func(c *engine.Config) {
			c.Command = []string{"/bin/sh", "-c", "sleep 60"}
			c.StartTimeout = 200 * time.Millisecond
		}, "timed out after 200ms"},
		{"data", func(c *engine.Config) { c.DataDir = "/proc/nonexistent" }, "/proc/nonexistent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			cfg := enginetest.Config(t)
			tt.spoil(&cfg)
			e, err := engine.New(cfg, engine.Deps{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry()})
			if err != nil {
				t.Fatal(err)
			}
			if err = e.Run(context.Background()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
			if err := e.Ready(context.Background()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ready: %v", err)
			}
		})
	}
}

// TestParentDeath: an engine does not outlive a parent that is killed.
func TestParentDeath(t *testing.T) {
	parent := exec.Command(os.Args[0], "-test.run=^TestParentThatDies$")
	parent.Env = append(os.Environ(), "GIVERNY_TEST_PARENT="+t.TempDir())
	parent.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanf(output, "engine %d\n", &pid); err != nil {
		t.Fatalf("the parent does not name its child: %v", err)
	}
	if gone(pid) {
		t.Fatalf("engine %d does not run", pid)
	}
	parent.Process.Kill()
	parent.Wait()
	awaitGone(t, pid)
}

// TestParentThatDies is the parent process of TestParentDeath; otherwise it does nothing.
func TestParentThatDies(t *testing.T) {
	dir := os.Getenv("GIVERNY_TEST_PARENT")
	if dir == "" {
		return
	}
	cfg := enginetest.Config(t)
	cfg.DataDir, cfg.RuntimeDir = dir, dir // no one else would remove another folder
	s := supervise(t, cfg)
	s.ready()
	fmt.Printf("engine %d\n", s.pid())
	time.Sleep(time.Minute)
}

func TestMetricsFromTheStart(t *testing.T) {
	s := supervise(t, enginetest.Config(t))
	s.ready()
	if got := s.metric("giverny_engine_ready")[""]; got != 1 {
		t.Errorf("ready is %v", got)
	}
	for _, name := range []string{"giverny_engine_start_seconds", "giverny_engine_process_resident_memory_bytes"} {
		if got := s.metric(name)[""]; got <= 0 {
			t.Errorf("%s is %v", name, got)
		}
	}
	if got := s.metric("giverny_engine_restarts_total"); len(got) != 5 {
		t.Errorf("restarts %v, want five reasons", got)
	}
}
