package prometheus_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	registry "github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/collectors/prometheus"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

// exporter answers with a text, until broken.
func exporter(t *testing.T, text string) (address string, broken *atomic.Bool) {
	broken = &atomic.Bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want := os.Getenv("GIVERNY_TEST_TOKEN"); broken.Load() || want != "" && r.Header.Get("Authorization") != "Bearer "+want {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/metrics", broken
}

func at(address string) prometheus.Target {
	t := prometheus.Target{URL: secret.NewURL(address)}
	t.SetDefaults()
	return t
}

func octets(metric string) prometheus.Mapping {
	return prometheus.Mapping{Metric: metric, Counter: "sai.port_stat_if_out_octets", Scale: 1}
}

func TestConformance(t *testing.T) {
	collectortest.Run(t, func(t *testing.T) collectortest.Fixture {
		one, broken := exporter(t, "out{device=\"leaf0\",port=\"Ethernet0\"} 5\nin{device=\"leaf0\",port=\"Ethernet0\"} 6\nout{device=\"leaf0\",port=\"Ethernet4\"} 7\n")
		two, _ := exporter(t, "out{device=\"leaf1\",port=\"Ethernet0\"} 8\n")
		in := octets("in")
		in.Counter = "sai.port_stat_if_in_octets"
		c, err := (&prometheus.Config{Targets: []prometheus.Target{at(one), at(two)}, Counters: []prometheus.Mapping{octets("out"), in}}).Open("host")
		if err != nil {
			t.Fatal(err)
		}
		return collectortest.Fixture{Collector: c, Break: func(*testing.T) { broken.Store(true) }, Broken: one,
			Absent: in.Counter, AbsentAt: schema.PortName{Device: "leaf0", Port: "Ethernet4"}}
	})
}

// lines is an emitter that keeps the counters of batches as text.
type lines struct{ list []string }

func (l *lines) Emit(_ context.Context, b *schema.CounterBatch) error {
	for i, nanos := range b.TimeNanos {
		port := b.Ports[b.PortIndex[i]]
		for _, c := range b.Columns {
			if c.Valid == nil || c.Valid.Has(i) {
				stamp := "now"
				if nanos < 2e18 && time.Since(time.Unix(0, nanos)) > time.Hour {
					stamp = fmt.Sprint(nanos / 1e6)
				}
				l.list = append(l.list, fmt.Sprintf("%s %s|%s %s=%d", stamp, port.Device, port.Port, c.Name, c.Values[i]))
			}
		}
	}
	return nil
}

// read polls once and returns the counters, and the log.
func read(t *testing.T, cfg prometheus.Config) (rows []string, log string) {
	t.Helper()
	var out strings.Builder
	l := &lines{}
	health := poll(t, cfg, l, &out)
	for _, name := range slices.Sorted(maps.Keys(health.Failing)) {
		fmt.Fprintf(&out, "failing %s: %v\n", name, health.Failing[name])
	}
	return l.list, out.String()
}

// poll polls once.
func poll(t *testing.T, cfg prometheus.Config, to collectors.Emitter, log io.Writer) collectors.Health {
	t.Helper()
	c, err := cfg.Open("host")
	if err != nil {
		t.Fatal(err)
	}
	agent, err := collectors.NewAgent("host", to, slog.New(slog.NewTextHandler(log, nil)), registry.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	polling := collectors.DefaultConfig()
	polling.Fabric, polling.Interval = "f", time.Minute
	poller, err := collectors.New(polling, c, agent)
	if err != nil {
		t.Fatal(err)
	}
	return poller.Once(t.Context())
}

const gnmi = `# HELP interfaces_out_octets from gNMI
# TYPE interfaces_out_octets counter
interfaces_out_octets{source="leaf0.example.com:57400",interface_name="Ethernet 4"} 1.8e+13
interfaces_out_octets{source="[fd00::7]:57400",interface_name="eth1"} 7
pause_seconds_total{source="leaf0.example.com:57400",interface_name="Ethernet 4",priority="3",dir="rx"} 1.25 1767571200000
pause_seconds_total{source="leaf0.example.com:57400",interface_name="Ethernet 4",priority="9",dir="rx"} 1
pause_seconds_total{source="leaf0.example.com:57400",interface_name="Ethernet 4",priority="3",dir="tx"} 2
pause_seconds_total{source="leaf0.example.com:57400",priority="4",dir="rx"} 2
other 1
`

func TestRead(t *testing.T) {
	address, _ := exporter(t, gnmi)
	target := at(address)
	target.DeviceLabel, target.PortLabel, target.DevicePattern = "source", "interface_name", `^\[?([^.\]]+)`
	pause := prometheus.Mapping{Metric: "pause_seconds_total", Labels: map[string]string{"dir": "rx"}, Counter: "sai.port_stat_pfc_{priority}_rx_pause_duration_us", Scale: 1e6}
	rows, _ := read(t, prometheus.Config{Targets: []prometheus.Target{target}, Counters: []prometheus.Mapping{octets("interfaces_out_octets"), pause}})
	want := []string{
		"now fd00::7|eth1 sai.port_stat_if_out_octets=7",
		"1767571200000 leaf0|Ethernet 4 sai.port_stat_pfc_3_rx_pause_duration_us=1250000",
		"now leaf0|Ethernet 4 sai.port_stat_if_out_octets=18000000000000",
	}
	if slices.Sort(rows); !slices.Equal(rows, slices.Sorted(slices.Values(want))) {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

func TestReadCommand(t *testing.T) {
	target := prometheus.Target{Command: []string{"printf", `tx{device="eth0"} 12\n`}, Device: "nfs 01", PortLabel: "device"}
	rows, _ := read(t, prometheus.Config{Targets: []prometheus.Target{target}, Counters: []prometheus.Mapping{octets("tx")}})
	if want := []string{"now nfs 01|eth0 sai.port_stat_if_out_octets=12"}; !slices.Equal(rows, want) {
		t.Errorf("%q, want %q", rows, want)
	}
}

func TestReadLineEndsOfWindows(t *testing.T) {
	address, _ := exporter(t, "# TYPE tx counter\r\ntx{device=\"a\",port=\"1\"} 12\r\n")
	rows, log := read(t, prometheus.Config{Targets: []prometheus.Target{at(address)}, Counters: []prometheus.Mapping{octets("tx")}})
	if want := []string{"now a|1 sai.port_stat_if_out_octets=12"}; !slices.Equal(rows, want) {
		t.Errorf("%q, want %q: %s", rows, want, log)
	}
}

func TestReadWithToken(t *testing.T) {
	t.Setenv("GIVERNY_TEST_TOKEN", "hunter2")
	address, _ := exporter(t, "tx{device=\"a\",port=\"1\"} 12\n")
	target := at(address)
	target.TokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(target.TokenFile, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if rows, log := read(t, prometheus.Config{Targets: []prometheus.Target{target}, Counters: []prometheus.Mapping{octets("tx")}}); len(rows) != 1 {
		t.Errorf("%q: %s", rows, log)
	}
}

func TestUnusable(t *testing.T) {
	for text, want := range map[string]string{
		"tx{device=\"a\"} 1\n":              `no label \"port\"; its labels are device`,
		"tx{port=\"1\"} 1\n":                `no label \"device\"; its labels are port`,
		"rx{device=\"a\"} 1\n":              "none of its 1 metrics is in counters, such as tx",
		"# nothing yet\n":                   "it has no metrics",
		"<html>moved</html>\n":              "malformed",
		"tx{device=\"a\",port=\"1\"} -1\n":  "value -1, times 1, is no reading",
		"tx{device=\"a\",port=\"1\"} NaN\n": "value NaN",
		"tx{device=\"a\",port=\"1\",queue=\"1\"} 1\ntx{device=\"a\",port=\"1\",queue=\"2\"} 1\n":    "two values of sai.port_stat_if_out_octets at one time",
		"# TYPE tx summary\ntx{device=\"a\",port=\"1\",quantile=\"0.5\"} 1\ntx_sum 1\ntx_count 1\n": "histogram or a summary",
	} {
		address, _ := exporter(t, text)
		_, log := read(t, prometheus.Config{Targets: []prometheus.Target{at(address)}, Counters: []prometheus.Mapping{octets("tx")}})
		if !strings.Contains(log, want) {
			t.Errorf("%q: log %q, want %q", text, log, want)
		}
	}
}

// A line that is no metric loses its own sample, counted as malformed, and no other; so does one that was truncated.
func TestALineThatIsBroken(t *testing.T) {
	const text = "# TYPE tx counter\ntx{device=\"a\",port=\"1\"} 1\n" +
		"tx{device=\"a\",port=\"2\"} 12ms\n" +
		"tx{device=\"a\",port=\"3\"} 3\n" +
		"tx{device=\"a\",port=4} 4\n" +
		"# TYPE tx counter\ntx{device=\"a\",port=\"5\"} 5\n" +
		"tx{device=\"a\",port=\"6\"} 60"
	address, _ := exporter(t, text)
	rows, log := read(t, prometheus.Config{Targets: []prometheus.Target{at(address)}, Counters: []prometheus.Mapping{octets("tx")}})
	want := []string{"now a|1 sai.port_stat_if_out_octets=1", "now a|3 sai.port_stat_if_out_octets=3", "now a|5 sai.port_stat_if_out_octets=5"}
	if slices.Sort(rows); !slices.Equal(rows, want) {
		t.Errorf("read %q, want %q", rows, want)
	}
	for _, want := range []string{"reason=malformed", "counters=3", `line 3: \"tx{device=`} {
		if !strings.Contains(log, want) {
			t.Errorf("log %s, want %s", log, want)
		}
	}
}

// columns is an emitter that keeps the counters of each batch.
type columns struct{ list []string }

func (c *columns) Emit(_ context.Context, b *schema.CounterBatch) error {
	var names []string
	for _, column := range b.Columns {
		names = append(names, column.Name)
	}
	c.list = append(c.list, fmt.Sprintf("%d rows of %s", b.Rows(), strings.Join(names, " ")))
	return nil
}

// Rows of one port with other counters are in other batches: with the first row of a batch its port counts as complete.
func TestAPortOfTwoTargets(t *testing.T) {
	one, _ := exporter(t, "tx{device=\"a\",port=\"1\"} 1\ntx{device=\"a\",port=\"2\"} 2\ndiscards{device=\"a\",port=\"2\"} 3\n")
	two, _ := exporter(t, "pause{device=\"a\",port=\"1\"} 1\n")
	cfg := prometheus.Config{Targets: []prometheus.Target{at(one), at(two)}, Counters: []prometheus.Mapping{octets("tx"),
		{Metric: "discards", Counter: "sai.port_stat_if_in_discards", Scale: 1}, {Metric: "pause", Counter: "sai.port_stat_pfc_3_rx_pause_duration_us", Scale: 1}}}
	got := &columns{}
	poll(t, cfg, got, io.Discard)
	want := []string{"2 rows of sai.port_stat_if_out_octets sai.port_stat_if_in_discards", "1 rows of sai.port_stat_pfc_3_rx_pause_duration_us"}
	if slices.Sort(got.list); !slices.Equal(got.list, slices.Sorted(slices.Values(want))) {
		t.Errorf("batches %q, want %q", got.list, want)
	}
}

func TestValidate(t *testing.T) {
	ok := at("http://h/metrics")
	for want, c := range map[string]prometheus.Config{
		"counters: empty":                        {Targets: []prometheus.Target{ok}},
		"targets[0].url: want either":            {Targets: []prometheus.Target{{DeviceLabel: "d", PortLabel: "p"}}},
		"targets[0].url: \"ftp://h\"":            {Targets: []prometheus.Target{at("ftp://h")}},
		"targets[0].device_label: empty":         {Targets: []prometheus.Target{{Command: []string{"x"}, PortLabel: "p"}}},
		"targets[0].port_label: empty":           {Targets: []prometheus.Target{{Command: []string{"x"}, Device: "d"}}},
		"targets[0].device_pattern: \"^a\": it":  {Targets: []prometheus.Target{{Command: []string{"x"}, Device: "d", PortLabel: "p", DevicePattern: "^a"}}},
		"targets[0].device_pattern: error":       {Targets: []prometheus.Target{{Command: []string{"x"}, Device: "d", PortLabel: "p", DevicePattern: "("}}},
		"counters[0].counter: \"ib.speed\": no":  {Counters: []prometheus.Mapping{{Metric: "m", Counter: "ib.speed", Scale: 1}}},
		"counters[0].metric: empty":              {Counters: []prometheus.Mapping{{Counter: "ib.port_xmit_data", Scale: 1}}},
		"counters[0].scale: 0: want more than 0": {Counters: []prometheus.Mapping{{Metric: "m", Counter: "ib.port_xmit_data"}}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
