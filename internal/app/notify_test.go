package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/lifecycle"
	"github.com/giverny/giverny/internal/sdnotify"
)

// serviceManager listens as systemd does, and returns the next message; "" after none has come in that time.
func serviceManager(t *testing.T) (next func(within time.Duration) string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { manager.Close() })
	t.Setenv(sdnotify.SocketVariable, socket)
	return func(within time.Duration) string {
		manager.SetReadDeadline(time.Now().Add(within))
		message := make([]byte, 64)
		n, err := manager.Read(message)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		return string(message[:n])
	}
}

// The service manager hears that a process has started, and that it stops; it hears nothing of one that cannot serve.
func TestTheServiceManagerIsNotified(t *testing.T) {
	next := serviceManager(t)
	run := func(ctx context.Context, cfg config.Config) error {
		p := New(cfg, "test", slog.New(slog.DiscardHandler))
		l, err := p.Listen()
		if err != nil {
			t.Fatal(err)
		}
		return p.Run(ctx, l, func(context.Context) ([]Step, error) {
			return []Step{{lifecycle.Stage{Name: "waiting", Run: func(ctx context.Context) error { <-ctx.Done(); return nil }}}}, nil
		})
	}
	cfg := config.Default()
	cfg.DataDir, cfg.HTTP.Listen = t.TempDir(), "127.0.0.1:0"
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, cfg) }()
	if got := next(time.Minute); got != sdnotify.Ready {
		t.Errorf("after the start: %q", got)
	}
	stop()
	if got := next(time.Minute); got != sdnotify.Stopping {
		t.Errorf("at the stop: %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	cfg.HTTP.Access.Tokens = filepath.Join(cfg.DataDir, "none")
	if err := run(t.Context(), cfg); err == nil {
		t.Error("started without its tokens")
	}
	if got := next(time.Millisecond); got != "" {
		t.Errorf("a process that cannot serve said %q", got)
	}
}
