package dashboards

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/schema"
)

const (
	torus = "torus:4x4x4"
	tree  = "fattree:k=4"
)

// ask gets a path, checks the status and returns the body.
func ask(t *testing.T, url string, status int) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Fatalf("%s: status %d, want %d: %s", url, response.StatusCode, status, body)
	}
	return string(body)
}

func decode[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	return v
}

// metric sums a metric's values over its labels.
func metric(t *testing.T, reg *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []Config{{Poll: time.Millisecond, History: 1}, {Poll: time.Second}, {Poll: time.Second, History: 10_001}} {
		if _, err := New(cfg, nil, &memory{}, prometheus.NewRegistry(), slog.Default()); err == nil || !strings.Contains(err.Error(), "dashboards: ") {
			t.Errorf("%+v: error %v", cfg, err)
		}
	}
}

func TestFabricsAndLinks(t *testing.T) {
	_, server, _ := show(t, &memory{}, torus, tree)
	fabrics := decode[[]fabricJSON](t, ask(t, server.URL+"/api/v1/fabrics", http.StatusOK))
	if len(fabrics) != 2 || fabrics[0].Name != torus || fabrics[0].Links != 192 || fabrics[0].Switches != 64 || !fabrics[0].Wrap ||
		!cmp.Equal(fabrics[0].Dims, []int{4, 4, 4}) || fabrics[0].IntervalSeconds != 1 || fabrics[1].Dims != nil || fabrics[1].Hosts != 16 {
		t.Errorf("fabrics %+v", fabrics)
	}
	links := decode[linksJSON](t, ask(t, server.URL+"/api/v1/fabrics/"+torus+"/links", http.StatusOK))
	if !links.Duplex || len(links.Devices) != 64 || len(links.From) != 192 || len(links.To) != 192 || len(links.Dim) != 192 ||
		links.FromPort[0] != "X+" || links.ToPort[0] != "X-" || !cmp.Equal(links.Devices[0].Coord, []int{0, 0, 0}) {
		t.Errorf("links: %d devices, %d links", len(links.Devices), len(links.From))
	}
	if body := ask(t, server.URL+"/api/v1/fabrics/"+tree+"/links", http.StatusOK); strings.Contains(body, `"coord"`) {
		t.Error("a fat tree has no coordinates")
	}
}

func TestNow(t *testing.T) {
	m := &memory{}
	d, server, _ := show(t, m, torus)
	g := d.fabrics[torus].Graph
	url := server.URL + "/api/v1/fabrics/" + torus + "/now"
	if body := ask(t, url, http.StatusNotFound); !strings.Contains(body, "no interval is stored yet") {
		t.Errorf("nothing stored: %s", body)
	}
	m.put(torus, busy(g, noon, hot(g, 9, schema.High, 0, 40)))
	body := ask(t, url, http.StatusOK)
	got := decode[struct {
		Interval intervalJSON          `json:"interval"`
		Latency  float64               `json:"latency_seconds"`
		Coverage map[string]float64    `json:"coverage"`
		Values   map[string][]*float64 `json:"values"`
		Regions  []schema.Region       `json:"regions"`
	}](t, body)
	if got.Interval != (intervalJSON{noon, second}) || got.Latency != .25 || got.Coverage["credit_stall"] != 191./192 {
		t.Errorf("interval %v, latency %v, coverage %v", got.Interval, got.Latency, got.Coverage)
	}
	if len(got.Values) != 2 {
		t.Errorf("the values of %d metrics, want those of the two stalls", len(got.Values))
	}
	inq := got.Values["inq_stall"]
	if len(inq) != 192 || inq[1] != nil || *inq[0] != 0 || *inq[39] != 3.9 {
		t.Errorf("values %v", inq[:40])
	}
	if diff := cmp.Diff([]schema.Region{hot(g, 9, schema.High, 0, 40)}, got.Regions); diff != "" {
		t.Error(diff)
	}

	// A store of fewer links, and no region, is no reason to fail.
	short := busy(g, noon)
	short.snapshot.Series[0].Values = short.snapshot.Series[0].Values[:10]
	m.put(torus, short)
	body = ask(t, url, http.StatusOK)
	if n := len(decode[struct{ Values map[string][]*float64 }](t, body).Values["credit_stall"]); n != 192 || !strings.Contains(body, `"regions":[]`) {
		t.Errorf("%d values: %.100s", n, body)
	}
}

func TestHistory(t *testing.T) {
	m := &memory{}
	d, server, _ := show(t, m, torus)
	url := server.URL + "/api/v1/fabrics/" + torus + "/history"
	if body := ask(t, url, http.StatusOK); strings.TrimSpace(body) != `{"states":[],"events":[]}` {
		t.Errorf("nothing stored: %s", body)
	}
	m.put(torus, busy(d.fabrics[torus].Graph, noon))
	got := decode[struct {
		States []map[string]any
		Events []eventJSON
	}](t, ask(t, url, http.StatusOK))
	if len(got.States) != 2 || got.States[1]["state"] != "High" || got.States[1]["medium"] != 1. || got.States[0]["start_nanos"] != float64(noon-second) {
		t.Errorf("states %v: want the two that history reaches back to", got.States)
	}
	want := []eventJSON{{TimeNanos: noon - second, Kind: schema.Story, Detail: "A cable <b>dies</b>."}, {TimeNanos: noon, Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+"}}
	if diff := cmp.Diff(want, got.Events); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownFabric(t *testing.T) {
	_, server, reg := show(t, &memory{}, torus)
	for _, endpoint := range []string{"links", "now", "history", "transitions", "congestion", "hotspots", "forecasts"} {
		if body := ask(t, server.URL+"/api/v1/fabrics/nowhere/"+endpoint, http.StatusNotFound); !strings.Contains(body, "GET /api/v1/fabrics lists them") {
			t.Errorf("%s: %s", endpoint, body)
		}
	}
	if n := metric(t, reg, "giverny_dashboards_requests_total"); n != 7 {
		t.Errorf("%v requests counted, want 7", n)
	}
}

func TestFailingStore(t *testing.T) {
	m := &memory{}
	d, server, _ := show(t, m, torus)
	m.put(torus, busy(d.fabrics[torus].Graph, noon))
	for method, endpoints := range map[string][]string{"Latest": {"now", "history", "congestion"}, "Snapshot": {"now"}, "Regions": {"now"}, "States": {"history"}, "Events": {"history"},
		"Tracking": {"now"}, "Transitions": {"transitions"}, "Congestion": {"congestion"}, "HotDurations": {"hotspots?metric=credit_stall"}, "ForecastSkill": {"forecasts"}} {
		m.fail(method)
		for _, endpoint := range endpoints {
			if body := ask(t, server.URL+"/api/v1/fabrics/"+torus+"/"+endpoint, http.StatusBadGateway); !strings.Contains(body, errStore.Error()) {
				t.Errorf("%s failing, %s: %s", method, endpoint, body)
			}
		}
	}
	m.fail("")
	ask(t, server.URL+"/api/v1/fabrics/"+torus+"/now", http.StatusOK)
}

func TestAnswersAreCompressed(t *testing.T) {
	_, server, _ := show(t, &memory{}, torus)
	request, err := http.NewRequest(http.MethodGet, server.URL+"/api/v1/fabrics/"+torus+"/links", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "br, gzip")
	response, err := (&http.Transport{DisableCompression: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.Header.Get("Content-Encoding") != "gzip" || response.Header.Get("Content-Type") != "application/json" || response.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("headers %v", response.Header)
	}
	unzipped, err := gzip.NewReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil || len(decode[linksJSON](t, string(text)).From) != 192 {
		t.Errorf("%d bytes, error %v", len(text), err)
	}
}

// follow reads the stream's lines until ctx ends.
func follow(t *testing.T, ctx context.Context, url string) <-chan string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type %q", got)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer response.Body.Close()
		for s := bufio.NewScanner(response.Body); s.Scan(); {
			if s.Text() != "" {
				lines <- s.Text()
			}
		}
	}()
	return lines
}

func expect(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	select {
	case got := <-lines:
		if got != want {
			t.Fatalf("the stream says %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("the stream does not say %q", want)
	}
}

func TestStreamAnnouncesEachInterval(t *testing.T) {
	m := &memory{}
	d, server, reg := show(t, m, torus, tree)
	leaks := goleak.IgnoreCurrent()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	reading, hangUp := context.WithCancel(t.Context())
	lines := follow(t, reading, server.URL)
	expect(t, lines, ": hello")
	m.fail("Latest")
	eventually(t, "a poll error", func() bool { return metric(t, reg, "giverny_dashboards_poll_errors_total") > 0 })
	m.put(torus, busy(d.fabrics[torus].Graph, noon))
	m.fail("") // it recovers
	expect(t, lines, "event: interval")
	expect(t, lines, `data: {"fabric":"torus:4x4x4","start_nanos":1700000000000000000}`)
	m.put(tree, busy(d.fabrics[tree].Graph, noon+second))
	expect(t, lines, "event: interval")
	expect(t, lines, `data: {"fabric":"fattree:k=4","start_nanos":1700000001000000000}`)
	if n := metric(t, reg, "giverny_dashboards_listeners"); n != 1 {
		t.Errorf("%v listeners", n)
	}
	hangUp()
	for range lines { // until it is closed
	}
	eventually(t, "no listener", func() bool { return metric(t, reg, "giverny_dashboards_listeners") == 0 })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
	server.CloseClientConnections()
	goleak.VerifyNone(t, leaks)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is never %s", what)
		}
	}
}

func TestSlowListenerMissesAnnouncements(t *testing.T) {
	m := &memory{}
	d, _, reg := show(t, m, torus)
	if n := metric(t, reg, "giverny_dashboards_announcements_dropped_total"); n != 0 {
		t.Errorf("%v dropped at the start", n)
	}
	slow := make(chan announcement, 2)
	d.listeners[slow] = struct{}{}
	for i := range int64(5) {
		m.put(torus, interval{stored: Stored{Interval: schema.Interval{StartNanos: noon + i*second}}})
		d.look(t.Context(), torus)
		d.look(t.Context(), torus) // nothing new
	}
	if n := metric(t, reg, "giverny_dashboards_announcements_dropped_total"); n != 3 || len(slow) != 2 {
		t.Errorf("%v dropped and %d waiting, want 3 and 2", n, len(slow))
	}
}

func TestThePageIsServed(t *testing.T) {
	_, server, _ := show(t, &memory{}, torus)
	for path, text := range map[string]string{"/": "<title>Giverny</title>", "/app.js": "EventSource", "/style.css": "--pond"} {
		if body := ask(t, server.URL+path, http.StatusOK); !strings.Contains(body, text) {
			t.Errorf("%s holds no %q", path, text)
		}
	}
	ask(t, server.URL+"/api/v1/nothing", http.StatusNotFound)
	files, err := web.ReadDir("web")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files { // the page must work where there is no way out
		text, err := web.ReadFile("web/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, scheme := range []string{"https://", "http://", "//cdn"} {
			if rest := strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", ""); strings.Contains(rest, scheme) {
				t.Errorf("%s refers to another host", f.Name())
			}
		}
	}
}
