package app

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// fabricFile writes a fabric in Giverny's own format, and returns a configuration that names it.
func fabricFile(t *testing.T, spec string) (cfg *config.Config, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fabric.yaml")
	writeFabric(t, path, spec)
	c := config.Default()
	c.DataDir = filepath.Join(t.TempDir(), "data")
	f := config.DefaultFabric()
	f.Name, f.Topology = "f", path
	c.Fabrics = []config.Fabric{f}
	return &c, path
}

func writeFabric(t *testing.T, path, spec string) *topology.Graph {
	t.Helper()
	g := topologytest.Parse(t, "f", spec)
	var text strings.Builder
	if err := topology.Write(&text, g); err != nil {
		t.Fatal(err)
	}
	write(t, path, text.String())
	return g
}

// A file that was damaged or deleted while the process was down does not prevent the start: the previous
// version stays in force, this shows in the state, and the next valid file is loaded.
func TestAStartWithADamagedFileGoesOnWithTheVersionBefore(t *testing.T) {
	cfg, path := fabricFile(t, "torus:4x4")
	log := slog.New(slog.DiscardHandler)
	first, err := StartFabrics(cfg, log)
	if err != nil || first[0].refused != nil {
		t.Fatal(err, first[0].refused)
	}
	damages := map[string]func(){
		"cut off": func() { write(t, path, "giverny_topology: 1\nfabric: f\ndevi") },
		"empty":   func() { write(t, path, "") },
		"gone":    func() { _ = os.Remove(path) },
	}
	for name, damage := range damages {
		damage()
		again, err := StartFabrics(cfg, log)
		if err != nil || again[0].refused == nil || again[0].Graph.Version() != first[0].Graph.Version() {
			t.Fatalf("%s: %v, refused: %v", name, err, again)
		}
		file := &topologyFile{fabric: "f", path: path, graph: again[0].Graph, keep: func(*topology.Graph) {},
			read: func(*topology.Graph) (*topology.Graph, error) { return config.LoadTopology(cfg.Fabrics[0], log) }}
		file.refuse(again[0].refused)
		w, err := newTopologyWatcher([]*topologyFile{file}, log, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		if n := testutil.ToFloat64(w.refused.WithLabelValues("f")); n != 1 || testutil.ToFloat64(w.stale.WithLabelValues("f")) != 1 || !strings.Contains(file.State(), path) {
			t.Errorf("%s: refused %v times, state %q", name, n, file.State())
		}
		mended := writeFabric(t, path, "torus:4x5")
		w.look(file)
		w.look(file)
		if file.State() != "" || testutil.ToFloat64(w.stale.WithLabelValues("f")) != 0 || file.graph.Version() != mended.Version() {
			t.Errorf("%s: after the file was mended the state is %q, %d links", name, file.State(), file.graph.NumLinks())
		}
	}
}

// Without a previous version on this host, or with one of another file, a damaged file is a configuration error.
func TestADamagedFileWithoutACopyIsRefused(t *testing.T) {
	cfg, path := fabricFile(t, "torus:4x4")
	log := slog.New(slog.DiscardHandler)
	write(t, path, "damaged")
	if _, err := StartFabrics(cfg, log); err == nil {
		t.Error("started without any topology")
	}
	writeFabric(t, path, "torus:4x4")
	if _, err := StartFabrics(cfg, log); err != nil {
		t.Fatal(err)
	}
	cfg.Fabrics[0].Topology = filepath.Join(filepath.Dir(path), "typing-error.yaml")
	if _, err := StartFabrics(cfg, log); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another file: %v", err)
	}
	cfg.Fabrics[0].Topology = path
	write(t, path, "damaged")
	write(t, newKeptGraphs(cfg, log).file("f"), origin(path)+"damaged, too")
	if _, err := StartFabrics(cfg, log); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged copy: %v", err)
	}
}

// The copy is of the version in force, including one loaded at run time, with the same link numbers.
func TestTheCopyFollowsTheFile(t *testing.T) {
	cfg, path := fabricFile(t, "torus:4x4")
	log := slog.New(slog.DiscardHandler)
	if _, err := StartFabrics(cfg, log); err != nil {
		t.Fatal(err)
	}
	kept := newKeptGraphs(cfg, log)
	changed := topologytest.Parse(t, "f", "torus:4x5")
	kept.keep(path, changed)
	if g := kept.last(cfg.Fabrics[0]); g == nil || g.Version() != changed.Version() {
		t.Errorf("the copy is %v", g)
	}
}
