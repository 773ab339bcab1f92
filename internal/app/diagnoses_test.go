package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/dirlock"
	"github.com/giverny/giverny/store/engine"
)

// A command that reads a store held open by another process says so, and what to do other than stopping that process.
func TestReadingAStoreThatIsOpen(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	p := New(cfg, "test", slog.New(slog.DiscardHandler))
	p.registerer = prometheus.NewRegistry()
	p.engine = new(engine.Engine)
	dir := filepath.Join(cfg.DataDir, "clickhouse")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.engineIsFree(0); err != nil {
		t.Errorf("a folder not in use: %v", err)
	}
	release, err := dirlock.Acquire(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	err = p.engineIsFree(0)
	if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("store: process %d has the embedded ClickHouse in %s open", os.Getpid(), dir)) || !strings.Contains(err.Error(), "store.url") {
		t.Errorf("%v", err)
	}
}
