//go:build integration

package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/sysfs"
)

// giverny runs the command line in this process.
func giverny(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}

// Three agents collect into a real Kafka; the third has no command section. The other
// two are listed, and find a new device when they are refreshed.
func TestAgentsOverApacheKafka(t *testing.T) {
	broker, dir := apachekafka.Start(t, apachekafka.Options{}), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	makeTopics(t, broker.Addr())
	newKey := func(name string) (path, public string) {
		t.Helper()
		path = filepath.Join(dir, name+".pem")
		public, _, err := giverny(t.Context(), "agents", "key", path)
		if err != nil {
			t.Fatal(err)
		}
		if again, _, err := giverny(t.Context(), "agents", "key", path); err != nil || again != public {
			t.Errorf("the public half of the key: %q, %q when it was made: %v", again, public, err)
		}
		return path, strings.TrimSpace(public)
	}
	key, public := newKey("operator")
	sys := filepath.Join(dir, "sys")
	sysfs.Adapter(t, sys, "node1", "mlx5_0")
	common := fmt.Sprintf("http: {listen: 127.0.0.1:0}\nlog: {level: warn}\nfabrics: [{name: ib0, topology: 'torus:2x2', interval: 1s}]\nkafka: {embedded: false, brokers: ['%s']}\n", broker.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	var agents []string // their keys
	for _, name := range []string{"n1", "n2", "mute"} {
		text := common + fmt.Sprintf("data_dir: %s\ncollect: {agent: %s, ibsysfs: {enabled: true, root: %s}}\n", filepath.Join(dir, name), name, sys)
		if name != "mute" {
			own, listed := newKey(name)
			agents = append(agents, fmt.Sprintf("{name: %s, keys: [%s]}", name, listed))
			text += fmt.Sprintf("command: {principals: [{name: operator, keys: [%s]}], results: {key_file: %s}}\n", public, own)
		}
		path := write(name+".yaml", text)
		go func() {
			_, stderr, err := giverny(ctx, "collect", "-c", path)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, stderr)
			}
			ended <- err
		}()
	}
	defer func() {
		cancel()
		for range 3 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}()
	clientThatKnows := func(name string, agents []string) string {
		return write(name+".yaml", common+fmt.Sprintf("data_dir: %s\ncommand: {sign: {principal: operator, key_file: %s}, results: {agents: [%s]}}\n",
			filepath.Join(dir, name), key, strings.Join(agents, ", ")))
	}
	client := clientThatKnows("client", agents)
	want := func(what string, args ...string) string {
		t.Helper()
		pattern := regexp.MustCompile(what)
		var stdout, stderr string
		var err error
		if !await.Holds(time.Minute, 200*time.Millisecond, func() bool {
			stdout, stderr, err = giverny(ctx, append([]string{"agents", "-c", client, "--expect", "2", "--wait", "3s"}, args...)...)
			return err == nil && pattern.MatchString(stdout)
		}) {
			t.Fatalf("giverny agents %v: %v\n%s%s", args, err, stdout, stderr)
		}
		return stdout
	}
	list := want(`(?s)^AGENT +VERSION .*\nn1 +dev +\d+s ago +[+-]\d+ms ±\d+ms +0 +ibsysfs ok, 1 devices\nn2 +dev .*ibsysfs ok, 1 devices\n$`, "list")
	if strings.Contains(list, "mute") {
		t.Errorf("an agent without a command section answers: %s", list)
	}
	if there, said, err := giverny(ctx, "agents", "list", "-c", client, "--expect", "3", "--wait", "2s"); err == nil || err.Error() != "2 agents answered within 2s, --expect is 3" || !strings.Contains(there, "\nn2 ") {
		t.Errorf("one too few: %v\n%s%s", err, there, said)
	}
	sysfs.Adapter(t, sys, "node1", "mlx5_1")
	want(`^n1  ibsysfs ok, 2 devices\nn2  ibsysfs ok, 2 devices\n$`, "refresh")
	want(`"agent":"n2","fabric":"ib0","status":"done","clock_offset_ms":-?[0-9.]+,.*"output":{"version":"dev",.*"source":"ibsysfs","state":"ok"`, "list", "--json")
	if _, err := os.Stat(filepath.Join(dir, "mute", "commands.json")); !os.IsNotExist(err) {
		t.Errorf("the agent without a command section remembers commands: %v", err)
	}
	stdout, stderr, err := giverny(ctx, "agents", "list", "-c", clientThatKnows("half", agents[:1]), "--wait", "2s")
	if err != nil || !strings.Contains(stdout, "n1 ") || strings.Contains(stdout, "n2 ") || !strings.Contains(stderr, "reason=unknown_agent") {
		t.Errorf("without the key of n2: %v\n%s%s", err, stdout, stderr)
	}
	if _, _, err := giverny(ctx, "agents", "list", "-c", client, "--target", "mute", "--wait", "1s"); err == nil || !strings.Contains(err.Error(), "no agent answered within 1s") {
		t.Errorf("no agent answers: %v", err)
	}
}

func makeTopics(t *testing.T, broker string) {
	t.Helper()
	metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	cfg := kafka.DefaultConfig()
	cfg.Brokers = []string{broker}
	client, err := kafka.NewClient(cfg, nil, metrics, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.EnsureTopics(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}
