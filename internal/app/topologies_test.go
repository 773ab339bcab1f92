package app

import (
	"context"
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

	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/topology"
)

// watched is a file with a short topology specification.
func watched(t *testing.T, spec string) (w *topologyWatcher, path string, taken *[]*topology.Graph) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fabric")
	write(t, path, spec)
	read := func(*topology.Graph) (*topology.Graph, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return topology.Parse("f", string(text))
	}
	g, err := read(nil)
	if err != nil {
		t.Fatal(err)
	}
	taken = new([]*topology.Graph)
	take := func(g *topology.Graph) error {
		if g.NumLinks() > 1000 {
			return errors.New("too large for this test")
		}
		*taken = append(*taken, g)
		return nil
	}
	f := &topologyFile{fabric: "f", path: path, graph: g, read: read, take: []func(*topology.Graph) error{take}, keep: func(*topology.Graph) {}}
	if w, err = newTopologyWatcher([]*topologyFile{f}, slog.New(slog.DiscardHandler), prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	return w, path, taken
}

var written = time.Unix(1e9, 0)

// write gives each content a different modification time, since tests are faster than the clock's resolution.
func write(t *testing.T, path, text string) {
	t.Helper()
	written = written.Add(time.Second)
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, written, written)); err != nil {
		t.Fatal(err)
	}
}

func TestAChangedFileIsTakenOnceItHasSettled(t *testing.T) {
	w, path, taken := watched(t, "torus:4x4")
	f := w.files[0]
	w.look(f)
	write(t, path, "torus:4x")
	w.look(f)
	write(t, path, "torus:4x5")
	w.look(f)
	if len(*taken) != 0 {
		t.Fatal("a file was taken while it was being written")
	}
	w.look(f)
	w.look(f)
	if len(*taken) != 1 || (*taken)[0].NumLinks() != 40 || f.graph != (*taken)[0] {
		t.Errorf("taken %d times", len(*taken))
	}
	if n := testutil.ToFloat64(w.taken.WithLabelValues("f")); n != 1 {
		t.Errorf("%v changes counted", n)
	}
}

func TestABadFileChangesNothing(t *testing.T) {
	w, path, taken := watched(t, "torus:4x4")
	f := w.files[0]
	before := f.graph
	for i, bad := range []string{"torus:nonsense", "torus:40x40", ""} {
		write(t, path, bad)
		w.look(f)
		w.look(f)
		w.look(f) // try once
		if n := testutil.ToFloat64(w.refused.WithLabelValues("f")); len(*taken) != 0 || f.graph != before || n != float64(i+1) {
			t.Errorf("%q: taken %d times, refused %v times", bad, len(*taken), n)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.look(f)
	w.look(f)
	w.look(f) // try once
	if n := testutil.ToFloat64(w.refused.WithLabelValues("f")); f.graph != before || n != 4 || !strings.Contains(f.State(), "no such file") {
		t.Errorf("no file: refused %v times, state %q", n, f.State())
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.look(f)
	}
	if !strings.Contains(f.State(), "named pipe") {
		t.Errorf("a named pipe: state %q", f.State())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, "torus:4x4") // the original content
	w.look(f)
	w.look(f)
	if len(*taken) != 0 || f.State() != "" {
		t.Errorf("the same version was taken again, or its state is %q", f.State())
	}
}

// SIGHUP before the watcher runs, while the store is not ready, does not kill the process, which reads the file later.
func TestAHangupBeforeTheStartIsNotLost(t *testing.T) {
	w, path, taken := watched(t, "torus:4x4")
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	write(t, path, "torus:4x5")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Run(ctx) }()
	await.Holds(time.Minute, 5*time.Millisecond, func() bool { return testutil.ToFloat64(w.taken.WithLabelValues("f")) > 0 })
	cancel()
	<-ended
	if len(*taken) != 1 {
		t.Errorf("%d versions taken, want 1", len(*taken))
	}
}
