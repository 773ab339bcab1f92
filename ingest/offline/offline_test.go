package offline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/offline"
	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/topology"
)

// Files of readings are merged by time, and a mistake in one is found before anything is written.
func TestConvert(t *testing.T) {
	g, err := topology.Parse("f", "fattree:leaves=1,hosts=2,spines=1")
	if err != nil {
		t.Fatal(err)
	}
	const leaf, host = `{"time":"2026-01-05T00:00:00Z","device":"leaf0","port":"1","counters":{"sai.port_stat_pfc_3_rx_pause_duration_us":0}}
{"time":"2026-01-05T00:00:10Z","device":"leaf0","port":"1","counters":{"sai.port_stat_pfc_3_rx_pause_duration_us":4000000}}
`, `{"time":"2026-01-05T00:00:00Z","device":"host0","port":"1","counters":{"mlx5.tx_bytes_phy":1000}}
{"time":"2026-01-05T00:00:10Z","device":"host0","port":"1","counters":{"mlx5.tx_bytes_phy":2000}}
`
	const links = "time,link,pfc_pause_rx_prio3,throughput\n2026-01-05T00:00:00Z,0,,100\n2026-01-05T00:00:00Z,1,40,\n"
	for second, want := range map[string]struct{ out, err string }{host: {links, ""}, host + "{}\n": {"", "b:3: want time, device and port"}} {
		dir := t.TempDir()
		files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
		for i, text := range []string{leaf, second} {
			if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg := window.DefaultConfig()
		cfg.Interval = 10 * time.Second
		w, err := window.New(g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		sum, err := offline.Convert(offline.Config{Fabric: "f", Interval: cfg.Interval, Window: w}, files, &out)
		if out.String() != want.out || (err == nil) != (want.err == "") || err != nil && !strings.HasSuffix(err.Error(), want.err) {
			t.Errorf("%v, want %q:\n%s", err, want.err, &out)
		}
		if want.err == "" && sum != (offline.Summary{Readings: 4, Intervals: 1}) {
			t.Errorf("%+v", sum)
		}
	}
}
