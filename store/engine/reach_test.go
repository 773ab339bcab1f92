//go:build engine || integration

package engine_test

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// Another process reaches a running engine with only its data directory.
func TestReach(t *testing.T) {
	cfg := enginetest.Config(t)
	if _, err := engine.Reach(cfg.DataDir, "default"); err == nil {
		t.Error("reached an engine that was never started")
	}
	s := supervise(t, cfg)
	s.ready()
	options, err := engine.Reach(cfg.DataDir, "default")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	if n := scalar[uint8](t, conn, "SELECT 42"); n != 42 {
		t.Errorf("the engine answers %d", n)
	}
	s.cancel()
	if err := s.wait(); err != nil {
		t.Fatal(err)
	}
	again := supervise(t, cfg)
	again.ready()
	if n := scalar[uint8](t, conn, "SELECT 43"); n != 43 {
		t.Errorf("the engine of a process that was started again answers %d", n)
	}
	conn.Close()
	again.cancel()
	if err := again.wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Reach(cfg.DataDir, "default"); err == nil {
		t.Error("reached an engine that has stopped")
	}
}
