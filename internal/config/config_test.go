package config_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/settings"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "giverny.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultsAreValid(t *testing.T) {
	if _, err := config.Load("", nil); err != nil {
		t.Error(err)
	}
}

func TestLoad(t *testing.T) {
	path := write(t, `
fabrics:
  - {name: ib0, topology: "fattree:k=4"}
  - {name: ib1, topology: map.txt, interval: 10s}
kafka: {embedded: false, brokers: ["k1:9092"]}
`)
	c, err := config.Load(path, []string{"GIVERNY_FABRICS_1_INTERVAL=5s", "GIVERNY_STORE_URL=clickhouse://c/giverny", "GIVERNY_STORE_EMBEDDED=false",
		"GIVERNY_FABRICS_1_TRACKING_HOT_THRESHOLDS=[15, 30]", "GIVERNY_FABRICS_2_NAME=ib2", "GIVERNY_FABRICS_2_TOPOLOGY=torus:4x4", "GIVERNY_CONFIG=x"})
	if err != nil {
		t.Fatal(err)
	}
	f := c.Fabrics
	if len(f) != 3 || f[0].Partition != 0 || f[1].Partition != 1 || f[2].Partition != 2 {
		t.Errorf("partitions: %+v", f)
	}
	if f[0].Interval() != time.Minute || f[1].Interval() != 5*time.Second || f[2].Interval() != time.Minute || f[2].Analysis.Segment.MinLinks != 0 {
		t.Errorf("intervals and defaults: %+v", f)
	}
	if !slices.Equal(f[1].Analysis.Hot.ThresholdsPercent, []float64{15, 30}) || f[2].Analysis.Track.DebounceIntervals != 2 {
		t.Errorf("tracking: %+v, %+v", f[1].Analysis, f[2].Analysis)
	}
	if f[0].Topology != "fattree:k=4" || f[1].Topology != filepath.Join(filepath.Dir(path), "map.txt") {
		t.Errorf("topologies: %q %q", f[0].Topology, f[1].Topology)
	}
}

// Files named in a configuration are relative to its folder, unless their paths are absolute.
func TestPathsAreRelativeToTheFile(t *testing.T) {
	path := write(t, `
fabrics: [{name: ib0, topology: "fattree:k=4"}]
collect: {jobs: {file: {node_map: nodes.tsv}}, failures: {log: {node_map: /etc/nodes.tsv}}}
feedback:
  slurm: {node_map: slurm.tsv, rest: {token_file: token}}
  webhooks: [{name: ops, secret_file: ops.key, tls: {ca: ca.pem}}]
http: {tls: {cert: page.pem, key: /etc/page.key}, access: {tokens: tokens}}
kafka: {tls: {enabled: true, ca: kafka.pem}}
store: {embedded: false, url: "https://c/giverny", password_file: store.password}
command: {results: {key_file: agent.key}}
`)
	c, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	hook := &c.Feedback.Webhooks[0]
	for want, got := range map[string]string{
		filepath.Join(dir, "nodes.tsv"): c.Collect.Jobs.Sections["file"].Running.NodeMap, "/etc/nodes.tsv": c.Collect.Failures.Sections["log"].Running.NodeMap,
		filepath.Join(dir, "slurm.tsv"): c.Feedback.Slurm.NodeMap, filepath.Join(dir, "token"): c.Feedback.Slurm.REST.TokenFile,
		filepath.Join(dir, "ops.key"): hook.SecretFile, filepath.Join(dir, "ca.pem"): hook.TLS.CA,
		filepath.Join(dir, "page.pem"): c.HTTP.TLS.Cert, "/etc/page.key": c.HTTP.TLS.Key, filepath.Join(dir, "tokens"): c.HTTP.Access.Tokens,
		filepath.Join(dir, "kafka.pem"): c.Kafka.Client.TLS.CA, filepath.Join(dir, "store.password"): c.Store.Server.PasswordFile, filepath.Join(dir, "agent.key"): c.Command.Results.KeyFile,
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A configuration may come from a pipe, which can be read only once: errors found after loading still have line
// numbers.
func TestTheFileIsReadOnce(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "giverny.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("log:\n  level: warn\n"), 0o600) }()
	cfg, err := config.Load(pipe, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	var later faults.List
	later.Add("log.level", "is not to my taste")
	want := pipe + ":2: log.level: is not to my taste"
	if got := cfg.Located(later.Err(), nil); got == nil || got.Error() != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestFaultsAreJoined(t *testing.T) {
	_, err := config.Load(write(t, `
log: {level: loud}
fabrics:
  - {name: a, topology: "torus:4x4", interval: 10ms}
  - {name: a, topology: "", partition: 0, tracking: {gap_intervals: -1, debounce_intervals: 0, congestion_window: -1s, hot_thresholds: [5, 5], hot_links: -1}}
  - {name: b, topology: "torus:4x4", tracking: {hot_percent: 7}, segment: {method: papr}}
kafka: {brokers: [b]}
store: {embedded: false, keep_samples: -5h}
spool: {max_bytes: 1048576}
collect: {fabric: zzz, perfquery: {workers: 0}, ibsysfs: {identify: face}}
dashboards: {history: 0}
`), nil)
	for _, want := range []string{"log.level: ", "fabrics.0 (a).interval: ", `fabrics.1 (a).name: "a" is duplicated`, "fabrics.1 (a).partition: ", "fabrics.1 (a).topology: ",
		"fabrics.1 (a).tracking.gap_intervals: ", "fabrics.1 (a).tracking.debounce_intervals: ", "fabrics.1 (a).tracking.congestion_window: ", "fabrics.1 (a).tracking.hot_thresholds: [5 5]", "fabrics.1 (a).tracking.hot_links: ",
		"fabrics.2 (b).tracking.hot_percent: 7: want one of", "fabrics.2 (b).segment.method: ", "kafka.embedded: both", "store.url: none", "store.keep_samples: ",
		"collect.perfquery.workers: 0", "collect.ibsysfs.identify: ", "collect.fabric: ", "spool.max_bytes: ", "dashboards.history: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
}

func TestFabricNamesFitIntoPaths(t *testing.T) {
	for name, good := range map[string]bool{
		"ib0": true, "rail 0": true, "Süd-1": true, "<b>": true, ".": false, "..": false, "a/b": false, `a\u202eb`: false, `a\x1b[31m`: false, `a\n`: false, "": false,
	} {
		_, err := config.Load(write(t, `fabrics: [{name: "`+name+`", topology: "torus:4x4"}]`), nil)
		if (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), ".name: ") {
			t.Errorf("%q: %v does not name the key", name, err)
		}
	}
}

// The topics get as many partitions as the highest number requires.
func TestPartitionsAreBounded(t *testing.T) {
	for partition, good := range map[string]bool{"-1": true, "0": true, "9999": true, "-2": false, "10000": false, "3000000000": false} {
		cfg, err := config.Load(write(t, `fabrics: [{name: a, topology: "torus:4x4", partition: `+partition+`}]`), nil)
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), ".partition: "+partition) {
			t.Errorf("%s: %v", partition, err)
		}
		if partition == "-1" && cfg.Fabrics[0].Partition != 0 {
			t.Errorf("-1 is partition %d", cfg.Fabrics[0].Partition)
		}
	}
}

func TestUnknownKeyIsNamed(t *testing.T) {
	_, err := config.Load(write(t, "fabrics:\n- name: a\n  toplogy: torus:4x4\n"), nil)
	if err == nil || !strings.Contains(err.Error(), `giverny.yaml:3: unknown key "fabrics.0.toplogy"; did you mean "topology"?`) {
		t.Error(err)
	}
}

func TestReadTopology(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	path := write(t, "SwitchName=s Nodes=n[1-4]\n")
	g, err := config.ReadTopology(path, "", "f", nil, log)
	if err != nil || g.NumLinks() != 8 {
		t.Error(err)
	}
	if _, err := config.ReadTopology(path, "netq", "f", nil, log); err == nil {
		t.Error("the wrong format must be an error")
	}
	if _, err := config.ReadTopology(write(t, "hello"), "", "f", nil, log); err == nil || !strings.Contains(err.Error(), "not recognised") {
		t.Error(err)
	}
	if _, err := config.LoadTopology(config.Fabric{Name: "f", Topology: "torus:4x4"}, log); err != nil {
		t.Error(err)
	}
}

// No two parts of a section may use the same key.
func TestKeysAreUnique(t *testing.T) {
	cfg, seen := config.Default(), map[string]bool{}
	settings.Walk(reflect.ValueOf(&cfg).Elem(), func(path string, _ settings.Field) {
		if seen[path] {
			t.Errorf("two fields are the key %s", path)
		}
		seen[path] = true
	})
	for _, old := range []string{"collect.perfquery.adapter", "collect.perfquery.timeout", "kafka.replication", "kafka.retention", "store.keep_raw", "store.cluster", "fabrics.0.tracking.hot_percent"} {
		if !seen[old] {
			t.Errorf("the key %s of earlier versions is gone", old)
		}
	}
}

func TestAKeyThatMovedIsShownItsPlace(t *testing.T) {
	_, err := config.Load(write(t, "collect: {spool_bytes: 1073741824}"), nil)
	if err == nil || !strings.Contains(err.Error(), `key "collect.spool_bytes" is now "spool.max_bytes"`) {
		t.Error(err)
	}
	_, err = config.Load("", []string{"GIVERNY_COLLECT_SPOOL_BYTES=1073741824"})
	if err == nil || !strings.Contains(err.Error(), "GIVERNY_COLLECT_SPOOL_BYTES is now GIVERNY_SPOOL_MAX_BYTES") {
		t.Error(err)
	}
	_, err = config.Load(write(t, "fabrics: [{name: a, topology: 'torus:4x4'}, {name: b, topology: 'torus:4x4', tracking: {hold_intervals: 3}}]"), nil)
	if err == nil || !strings.Contains(err.Error(), `key "fabrics.1.tracking.hold_intervals" is now "fabrics.1.tracking.debounce_intervals"`) {
		t.Error(err)
	}
	_, err = config.Load("", []string{"GIVERNY_FABRICS_0_TRACKING_HOLD_INTERVALS=3"})
	if err == nil || !strings.Contains(err.Error(), "GIVERNY_FABRICS_0_TRACKING_HOLD_INTERVALS is now GIVERNY_FABRICS_0_TRACKING_DEBOUNCE_INTERVALS") {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"kafka: {sasl: {username: agent}}":                      `key "kafka.sasl.username" is now "kafka.sasl.user"`,
		"collect: {jobs: {kubernetes: {ca_file: /etc/ca.pem}}}": `key "collect.jobs.kubernetes.ca_file" is now "collect.jobs.kubernetes.ca"`,
		"store: {replicated: true}":                             `key "store.replicated" is now "store.cluster"`,
	} {
		if _, err = config.Load(write(t, text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", text, want, err)
		}
	}
}

func TestTheAgentFollowsItsFabric(t *testing.T) {
	c, err := config.Load(write(t, "fabrics: [{name: a, topology: 'torus:4x4', interval: 7s}]"), nil)
	if err != nil || c.Collect.Polling.Fabric != "a" || c.Collect.Polling.Interval != 7*time.Second {
		t.Errorf("%+v, %v", c.Collect.Polling, err)
	}
	c, err = config.Load(write(t, "fabrics: [{name: a, topology: 'torus:4x4'}, {name: b, topology: 'torus:4x4', interval: 7s}]\ncollect: {fabric: b}"), nil)
	if err != nil || c.Collect.Polling.Interval != 7*time.Second {
		t.Errorf("%+v, %v", c.Collect.Polling, err)
	}
}

func TestSecretsThatEverybodyCanRead(t *testing.T) {
	exposed := func(path string) []string {
		cfg, _ := config.Load(path, nil) // errors other than about secrets do not matter
		return cfg.Exposed()
	}
	path := write(t, "store: {embedded: false, url: 'http://u:p@h/'}\nkafka: {sasl: {password: x}}")
	if keys := exposed(path); keys != nil {
		t.Errorf("a file of mode 0600 exposes %v", keys)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if keys := exposed(path); !slices.Equal(keys, []string{"kafka.sasl.password", "store.url"}) {
		t.Errorf("exposed: %v", keys)
	}
	harmless := write(t, "store: {embedded: false, url: 'http://u@h/'}")
	if err := os.Chmod(harmless, 0o644); err != nil {
		t.Fatal(err)
	}
	if keys := exposed(harmless); keys != nil {
		t.Errorf("a file without secrets exposes %v", keys)
	}
}

// The sample file named in the README is valid.
func TestTheSampleFile(t *testing.T) {
	c, err := config.Load("../../deploy/giverny.yaml", nil)
	if err != nil || len(c.Fabrics) == 0 {
		t.Fatalf("%d fabrics, %v", len(c.Fabrics), err)
	}
	for _, f := range c.Fabrics {
		if _, err := config.LoadTopology(f, slog.New(slog.DiscardHandler)); err != nil {
			t.Error(err)
		}
	}
}
