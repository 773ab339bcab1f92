package app

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/collectors/registry"
)

// adapterFiles writes the files of an adapter.
func adapterFiles(t *testing.T, root, name string) {
	t.Helper()
	for file, text := range map[string]string{"node_desc": "host0 " + name, "hca_type": "MT4129", "ports/1/link_layer": "InfiniBand", "ports/1/counters/port_xmit_data": "25"} {
		path := filepath.Join(root, name, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// hang replaces a file by one whose reader blocks, like a register of a hung adapter.
// release unblocks its readers.
func hang(t *testing.T, path string) (release func()) {
	t.Helper()
	_ = os.Remove(path)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
}

// A hung driver delays only the reads of its own adapter, once, and is named.
func TestHungAdapterDelaysNoOther(t *testing.T) {
	leak := goleak.IgnoreCurrent()
	root := t.TempDir()
	for _, name := range []string{"mlx5_0", "mlx5_1", "mlx5_2"} {
		adapterFiles(t, root, name)
	}
	release := hang(t, filepath.Join(root, "mlx5_1", "hca_type"))
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
	for end := time.Now().Add(10 * time.Second); reads.State() != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the adapter does not come back")
		}
	}
	goleak.VerifyNone(t, leak)
}
