package engine

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func validConfig() Config {
	c := DefaultConfig()
	c.LibraryPath, c.DataDir, c.Command = "l", "d", []string{"c"}
	return c
}

func TestValidate(t *testing.T) {
	if err := validConfig().Validate(); err != nil {
		t.Errorf("valid configuration: %v", err)
	}
	err := errors.Join(Config{}.Validate(), Config{}.complete())
	if err == nil {
		t.Fatal("the zero configuration is valid")
	}
	for _, want := range []string{"no library", "no data directory", "no command", "max_memory_bytes: ", "max_queries: ",
		"start_timeout: ", "stop_timeout: ", "health_interval: ", "health_timeout: ", "min_backoff: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no fault %q in:\n%v", want, err)
		}
	}
	c := validConfig()
	c.MaxBackoff = c.MinBackoff / 2
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "max_backoff: ") {
		t.Errorf("backoff: %v", err)
	}
}

// TestServeArgsReadBack: the child parses what the parent formats.
func TestServeArgsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := ServeConfig{
			Library:        rapid.String().Draw(rt, "library"),
			DataDir:        rapid.String().Draw(rt, "data"),
			Socket:         rapid.String().Draw(rt, "socket"),
			MaxMemoryBytes: rapid.Int64().Draw(rt, "memory"),
			MaxThreads:     rapid.Int().Draw(rt, "threads"),
			MaxQueries:     rapid.Int().Draw(rt, "queries"),
			StopTimeout:    time.Duration(rapid.Int64().Draw(rt, "timeout")),
			Supervised:     rapid.Bool().Draw(rt, "supervised"),
		}
		got, err := ParseServeArgs(want.Args())
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("read back (-want +got):\n%s", diff)
		}
	})
}

func TestParseServeArgs(t *testing.T) {
	got, err := ParseServeArgs([]string{"--data", "d", "--socket", "s"})
	if err != nil || got.DataDir != "d" || got.Socket != "s" || got.Supervised || got.MaxQueries != DefaultConfig().MaxQueries {
		t.Errorf("by hand: %+v, %v", got, err)
	}
	for _, args := range [][]string{{"--nosuch"}, {"stray"}, {"--max-queries=x"}} {
		if _, err := ParseServeArgs(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	valid := func() ServeConfig {
		c := validConfig().serveConfig(filepath.Join(dir, "run", "socket"))
		c.Library, c.DataDir, c.Supervised = "/nonexistent/libchdb.so", filepath.Join(dir, "data"), false
		return c
	}
	for _, tt := range []struct {
		name  string
		spoil func(*ServeConfig)
		want  string
	}{
		{"no data", func(c *ServeConfig) { c.DataDir = "" }, "pass -data"},
		{"long socket", func(c *ServeConfig) { c.Socket = "/" + strings.Repeat("x", 200) }, "shorter directory"},
		{"open socket directory", func(c *ServeConfig) { c.Socket = filepath.Join(open, "socket") }, "chmod 700"},
		{"library", func(c *ServeConfig) {}, "/nonexistent/libchdb.so"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := valid()
			tt.spoil(&cfg)
			err := Serve(context.Background(), cfg, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}
