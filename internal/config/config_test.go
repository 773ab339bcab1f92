package config_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/config"
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
	if f[0].Interval != time.Minute || f[1].Interval != 5*time.Second || f[2].Interval != time.Minute || f[2].Segment.MinLinks != 20 {
		t.Errorf("intervals and defaults: %+v", f)
	}
	if !slices.Equal(f[1].Tracking.HotThresholds, config.Percents{15, 30}) || f[2].Tracking.HoldIntervals != 2 {
		t.Errorf("tracking: %+v, %+v", f[1].Tracking, f[2].Tracking)
	}
	if f[0].Topology != "fattree:k=4" || f[1].Topology != filepath.Join(filepath.Dir(path), "map.txt") {
		t.Errorf("topologies: %q %q", f[0].Topology, f[1].Topology)
	}
}

func TestFaultsAreJoined(t *testing.T) {
	_, err := config.Load(write(t, `
log: {level: loud}
fabrics:
  - {name: a, topology: "torus:4x4", interval: 10ms}
  - {name: a, topology: "", partition: 0, tracking: {gap_intervals: -1, hold_intervals: 0, congestion_window: -1s, hot_thresholds: [5, 5], hot_links: -1}}
  - {name: b, topology: "torus:4x4", tracking: {hot_percent: 7}}
kafka: {brokers: [b]}
store: {embedded: false}
`), nil)
	for _, want := range []string{"log.level", "fabrics.0 (a): interval", "fabrics.1 (a): name: stands twice", "partition", "fabrics.1 (a): topology", "tracking.gap_intervals", "tracking.hold_intervals", "tracking.congestion_window", "tracking.hot_thresholds: [5 5]", "tracking.hot_links",
		"fabrics.2 (b): tracking.hot_percent: 7: want one of", "both embedded and brokers", "store: no url"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
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
