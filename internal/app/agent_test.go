package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/config"
)

// Collection that starts while Kafka or the store is unavailable uses its spool: in an agent, and in a single process.
func TestCollectingStartsWithoutKafka(t *testing.T) {
	t.Run("collect", func(t *testing.T) { startsWithoutKafka(t, Role{Collect: true}) })
	t.Run("up", func(t *testing.T) { startsWithoutKafka(t, Role{Collect: true, Analyse: true, Serve: true}) })
}

func startsWithoutKafka(t *testing.T, role Role) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sys/mlx5_0/node_desc":                       "host0\n",
		"sys/mlx5_0/node_guid":                       "0002:c903:0000:0001\n",
		"sys/mlx5_0/ports/1/state":                   "4: ACTIVE\n",
		"sys/mlx5_0/ports/1/link_layer":              "InfiniBand\n",
		"sys/mlx5_0/ports/1/counters/port_xmit_data": "1\n",
		"giverny.yaml": `
data_dir: DIR/data
http: {listen: "127.0.0.1:0", metrics: {listen: "127.0.0.1:0"}}
kafka: {embedded: false, brokers: ["127.0.0.1:1"]}
store: {embedded: false, url: "http://127.0.0.1:1"}
fabrics: [{name: ib0, topology: "fattree:leaves=2,hosts=2,spines=2", interval: 1s}]
collect: {agent: host0, ibsysfs: {enabled: true, root: DIR/sys}}
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(filepath.Join(dir, "giverny.yaml"), nil)
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
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, l, parts.Steps) }()
	for ; !strings.Contains(health(t, l), `"spool":"records waiting: 1`); time.Sleep(20 * time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("nothing is in the spool: ", health(t, l))
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
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
