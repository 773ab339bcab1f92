package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/sysfs"
)

// Collection that starts while Kafka or the store is unavailable uses its spool: in an agent, and in a single process.
func TestCollectingStartsWithoutKafka(t *testing.T) {
	t.Run("collect", func(t *testing.T) { startsWithoutKafka(t, Role{Collect: true}) })
	t.Run("up", func(t *testing.T) { startsWithoutKafka(t, Role{Collect: true, Analyse: true, Serve: true}) })
}

// A process stops promptly although an adapter's driver hangs, names the adapter in /-/ready and goes on reading the others.
func TestStopsWhileAnAdapterHangs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"mlx5_0", "mlx5_1"} {
		sysfs.Adapter(t, filepath.Join(dir, "sys"), "host0", name)
	}
	defer sysfs.Hang(t, filepath.Join(dir, "sys/mlx5_1/ports/1/counters/port_xmit_data"))()
	stop := runWithoutKafka(t, dir, Role{Collect: true, Analyse: true, Serve: true}, `"sources":"ibsysfs: blocked in a read: mlx5_1 since`, `"spool":"records waiting: 3`)
	if took := stop(); took > 2*time.Second {
		t.Errorf("stopped after %v", took)
	}
}

func startsWithoutKafka(t *testing.T, role Role) {
	dir := t.TempDir()
	sysfs.Adapter(t, filepath.Join(dir, "sys"), "host0", "mlx5_0")
	stop := runWithoutKafka(t, dir, role, `"spool":"records waiting: 1`)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil { // ends no role, whether it uses topologies or not
		t.Error(err)
	}
	stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil { // nor while it stops
		t.Error(err)
	}
}

// runWithoutKafka runs a process that reads the adapters below dir/sys until each text
// was seen in /-/ready. stop stops it and returns how long that took.
func runWithoutKafka(t *testing.T, dir string, role Role, texts ...string) (stop func() time.Duration) {
	t.Helper()
	const text = `
data_dir: DIR/data
http: {listen: "127.0.0.1:0", metrics: {listen: "127.0.0.1:0"}}
kafka: {embedded: false, brokers: ["127.0.0.1:1"]}
store: {embedded: false, url: "http://127.0.0.1:1"}
fabrics: [{name: ib0, topology: "fattree:leaves=2,hosts=2,spines=2", interval: 1s}]
collect: {agent: host0, device_timeout: 200ms, ibsysfs: {enabled: true, root: DIR/sys}}
`
	path := filepath.Join(dir, "giverny.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := New(cfg, "test", slog.New(slog.DiscardHandler))
	fabrics, err := LoadFabrics(cfg.Fabrics, p.log)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := p.Make(role, fabrics)
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, l, parts.Steps) }()
	for _, want := range texts {
		for ; !strings.Contains(health(t, l), want); time.Sleep(20 * time.Millisecond) {
			if ctx.Err() != nil {
				t.Fatalf("no %s in %s", want, health(t, l))
			}
		}
	}
	return func() time.Duration {
		began := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
}

// health returns the response of /-/ready.
func health(t *testing.T, l *Listeners) string {
	t.Helper()
	answer, err := http.Get("http://" + l.Metrics.Addr().String() + "/-/ready")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
