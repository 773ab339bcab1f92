package feeds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/nodes"
)

// The state reports malformed output of a command, or that it does not respond, but not how it was stopped.
func TestErrorsOfCommands(t *testing.T) {
	for script, want := range map[string]string{
		"echo '<html>'; sleep 60":                    "read the output of sh: no JSON: <",
		"echo down >&2; exit 3":                      "exit status 3: down",
		"echo '{'; sleep 0.1; echo down >&2; exit 3": "exit status 3: down",
		"sleep 60": "timed out after 1s",
	} {
		b := newBench(t, nil)
		source := commandSource{"sh", "-c", script}
		metrics, err := feeds.NewMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		cfg := feeds.DefaultConfig(time.Second)
		cfg.Timeout = time.Second
		r, err := feeds.New("jobs.test", cfg, feeds.Deps{Source: source, Emitter: b.out, Metrics: metrics, Log: slog.New(slog.DiscardHandler), Resolver: nodes.New(nil, nil)})
		if err != nil {
			t.Fatal(err)
		}
		if r.Once(t.Context()); !strings.Contains(r.State(), want) {
			t.Errorf("%s: %s, want %q", script, r.State(), want)
		}
	}
}

// commandSource reads the output of a command up to the first byte that is not JSON.
type commandSource []string

func (c commandSource) Read(ctx context.Context, _ time.Time) (feeds.Rows, error) {
	return feeds.Rows{}, feeds.Run(ctx, c, nil, func(out io.Reader) error {
		first := make([]byte, 1)
		if _, err := io.ReadFull(out, first); err != nil {
			return err
		}
		if first[0] != '{' {
			return fmt.Errorf("no JSON: %s", first)
		}
		_, err := io.ReadAll(out)
		return errors.Join(err, io.ErrUnexpectedEOF)
	})
}

func (c commandSource) Commit() error { return nil }

// Standard error of a command is kept in part, whatever its size.
func TestErrorsOfCommandsAreBounded(t *testing.T) {
	err := feeds.Run(t.Context(), []string{"sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 3"}, nil, func(out io.Reader) error {
		_, err := io.Copy(io.Discard, out)
		return err
	})
	if err == nil || len(err.Error()) > 2000 || !strings.HasSuffix(err.Error(), "xend") {
		t.Errorf("%.100v", err)
	}
}

// A command ends even if the rest of its output is not needed.
func TestCommandThatPrintsMoreThanIsRead(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := feeds.Run(ctx, []string{"sh", "-c", "echo '{}'; head -c 3000000 /dev/zero"}, nil, func(out io.Reader) error {
		_, err := io.ReadFull(out, make([]byte, 2))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
