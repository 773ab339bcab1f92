package agent

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/collectors/registry"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/sysfs"
)

// A hung driver delays only the reads of its own adapter, once, and is named.
func TestHungAdapterDelaysNoOther(t *testing.T) {
	leak := goleak.IgnoreCurrent()
	root := t.TempDir()
	for _, name := range []string{"mlx5_0", "mlx5_1", "mlx5_2"} {
		sysfs.Adapter(t, root, "host0", name)
	}
	release := sysfs.Hang(t, filepath.Join(root, "mlx5_1", "hca_type"))
	cfg := ibsysfs.DefaultConfig()
	cfg.Root = root
	reads, err := newReads(300*time.Millisecond, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	h, err := newHost(registry.Sources{"ibsysfs": {SourceConfig: &cfg}}, "host0", reads, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	names := func() (text string) {
		for _, a := range h.Hardware().Adapters {
			text += a.Name + " "
		}
		return text
	}
	first := make(chan string, 1)
	go func() { first <- names() }()
	if n, err := h.DataBytes("mlx5_0"); n != 100 || err != nil { // while the other hangs
		t.Error(n, err)
	}
	if got := <-first; got != "mlx5_0 mlx5_2 " {
		t.Errorf("adapters %q", got)
	}
	began := time.Now()
	if got := names(); got != "mlx5_0 mlx5_2 " || time.Since(began) >= 300*time.Millisecond {
		t.Errorf("adapters %q after %v: a hung adapter must not be waited for twice", got, time.Since(began))
	}
	if _, err := h.DataBytes("mlx5_1"); err == nil || !strings.Contains(err.Error(), "blocked in a read since") {
		t.Error(err)
	}
	if a, b := testutil.ToFloat64(reads.timedOut), testutil.ToFloat64(reads.notBegun); a != 1 || b != 2 {
		t.Errorf("%v reads timed out, %v not begun; want 1 and 2", a, b)
	}
	if state := reads.State(); !strings.HasPrefix(state, "blocked in a read: mlx5_1 since ") || strings.Count(log.String(), "mlx5_1") != 2 {
		t.Errorf("state %q, log:\n%s", state, &log)
	}
	release()
	await.Until(t, "the adapter to come back", 10*time.Second, time.Millisecond, func() bool { return reads.State() == "" })
	goleak.VerifyNone(t, leak)
}
