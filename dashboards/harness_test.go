package dashboards

import (
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/feedback/score"
	"github.com/giverny/giverny/internal/access"
	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/journal"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

const (
	second = int64(time.Second)
	noon   = int64(1_700_000_000) * second

	torus = "torus:4x4x4"
	tree  = "fattree:k=4"
	mesh  = "mesh:3x2"
)

// house is a server of dashboards over a store of one test.
type house struct {
	*Dashboards
	t      testing.TB
	url    string
	db     *store.DB
	conn   driver.Conn
	reg    *prometheus.Registry
	server *httptest.Server
	log    *journal.Journal
}

// serve is open with the caller's store.
func serve(t testing.TB, db *store.DB, specs ...string) *house {
	t.Helper()
	graphs := make([]*topology.Graph, len(specs))
	for i, spec := range specs {
		graphs[i] = parse(t, spec)
	}
	return serveGraphs(t, db, graphs...)
}

// serveGraphs is serve with the caller's graphs.
func serveGraphs(t testing.TB, db *store.DB, graphs ...*topology.Graph) *house {
	t.Helper()
	var fabrics []Fabric
	for _, g := range graphs {
		fabrics = append(fabrics, Fabric{Graph: g, Interval: time.Second})
	}
	h := &house{t: t, db: db, reg: prometheus.NewRegistry(), log: &journal.Journal{}}
	cfg := DefaultConfig()
	cfg.Poll = 10 * time.Millisecond
	var err error
	if h.Dashboards, err = New(cfg, fabrics, Deps{Model: read.New(db), Scores: score.DefaultConfig(), Log: slog.New(slog.NewTextHandler(h.log, nil)), Registerer: h.reg}); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	h.Register(mux)
	guard, err := access.New(access.DefaultConfig(), "127.0.0.1:0", false, h.reg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h.server = httptest.NewServer(guard.Before(mux))
	h.url = h.server.URL
	t.Cleanup(func() {
		h.server.CloseClientConnections()
		h.server.Close()
	})
	return h
}

func parse(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	return topologytest.Parse(t, spec, spec)
}

// store stores results and their graph.
func (h *house) store(g *topology.Graph, results ...*schema.IntervalResult) {
	h.t.Helper()
	if err := h.db.StoreGraph(h.t.Context(), store.GraphOf(g, 0)); err != nil {
		h.t.Fatal(err)
	}
	for _, r := range results {
		if err := h.db.Store(h.t.Context(), r); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *house) graph(spec string) *topology.Graph { return h.fabrics[spec].graphs.current() }

// get gets a path below /api/v1/, checks the status and the answer against the document, and returns the body.
func (h *house) get(path string, status int) string {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.url+"/api/v1/"+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	validate(h.t, request, response, body)
	if response.StatusCode != status {
		h.t.Fatalf("%s: status %d, want %d: %s", path, response.StatusCode, status, body)
	}
	return strings.TrimSpace(string(body))
}

// problem gets a path that is answered with a problem, and returns its detail.
func (h *house) problem(path string, status int) string {
	h.t.Helper()
	p := decode[problem.Problem](h.t, h.get(path, status))
	if p.Status != status || p.Title != http.StatusText(status) {
		h.t.Errorf("%s: problem %+v", path, p)
	}
	return p.Detail
}

func decode[T any](t testing.TB, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	return v
}

// metric is a metric's sum over the series that have all these label values.
func (h *house) metric(name string, values ...string) float64 {
	h.t.Helper()
	return metric.Sum(h.t, h.reg, name, values...)
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	await.Until(t, what, time.Minute, 5*time.Millisecond, holds)
}

// hot returns a region of size links from first on.
func hot(g *topology.Graph, id uint64, severity schema.Severity, first, size int) schema.Region {
	r := schema.Region{ID: id, Metric: schema.CreditStall, Severity: severity, Size: size, AgeIntervals: 7, BirthNanos: noon - 6*second}
	for l := range size {
		r.Links = append(r.Links, schema.LinkID(first+l))
	}
	r.Mean, r.Max = 12*float64(severity), 14*float64(severity)
	r.Name = g.Describe(r.Links)
	r.Forecast = &schema.Forecast{GrowthLinks: 3, TrendPercent: .5, Next: schema.Odds{schema.High: .6, schema.Medium: .3, schema.Gone: .1}, Later: schema.Odds{schema.High: .2, schema.Low: .5, schema.Gone: .3}}
	return r
}

// busy returns an interval with a gradient of stall, a missing link and the regions.
func busy(g *topology.Graph, start int64, regions ...schema.Region) *schema.IntervalResult {
	snap := &schema.Snapshot{Fabric: g.Fabric(), GraphVersion: g.Version(), Interval: schema.Interval{StartNanos: start, DurationNanos: second}, Links: g.NumLinks(),
		FirstReadNanos: start, LastReadNanos: time.Now().UnixNano() - second/4}
	for _, m := range []schema.Metric{schema.CreditStall, schema.InqStall, schema.Throughput} {
		s := schema.Series{Metric: m, Values: make([]float32, g.NumLinks()), Valid: schema.NewBitmap(g.NumLinks())}
		for l := range s.Values {
			if s.Values[l] = float32(l%40) / 10; l != 1 {
				s.Valid.Set(l)
			}
		}
		s.Count = s.Valid.Count()
		snap.Series = append(snap.Series, s)
	}
	r := &schema.IntervalResult{Snapshot: snap, Regions: regions}
	for _, region := range regions {
		values := snap.Find(region.Metric).Values
		for i, l := range region.Links {
			values[l] = float32(region.Mean + 3*math.Sin(float64(i)))
		}
	}
	r.States = schema.NetworkStates(snap, regions)
	r.Network = schema.NetworkForecast{Next: schema.Odds{schema.High: .9, schema.Medium: .1}, Later: schema.Odds{schema.High: .6, schema.Medium: .4}}
	r.Congestion = &schema.CongestionEvent{BeginNanos: start - 200*second, EndNanos: start + second, PeakMeanPercent: 41}
	r.Hot = []schema.HotLink{{Metric: schema.CreditStall, Link: 7, SinceNanos: start - 100*second}, {Metric: schema.InqStall, Link: 2, SinceNanos: start}}
	r.Events = []schema.Event{{TimeNanos: start - second, Fabric: g.Fabric(), Kind: schema.Story, Detail: "A cable <b>dies</b>."},
		{TimeNanos: start, Fabric: g.Fabric(), Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+", Detail: "link down"}}
	return r
}
