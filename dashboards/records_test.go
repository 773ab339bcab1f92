package dashboards

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// memory is a store of the newest interval of each fabric.
type memory struct {
	mu     sync.Mutex
	latest map[string]interval
	fails  string // the method that fails, or empty
}

// interval is all that is stored of one.
type interval struct {
	stored   Stored
	snapshot *schema.Snapshot
	regions  []schema.Region
	states   []StateAt
	events   []schema.Event
	tracking Tracking
}

var errStore = errors.New("the disk is on fire")

func (m *memory) find(method, fabric string) (interval, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails == method {
		return interval{}, false, errStore
	}
	in, ok := m.latest[fabric]
	return in, ok, nil
}

func (m *memory) put(fabric string, in interval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest[fabric] = in
}

func (m *memory) fail(method string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = method
}

func (m *memory) Latest(_ context.Context, fabric string) (Stored, bool, error) {
	in, ok, err := m.find("Latest", fabric)
	return in.stored, ok, err
}

func (m *memory) Snapshot(_ context.Context, fabric string, _ int64) (*schema.Snapshot, error) {
	in, _, err := m.find("Snapshot", fabric)
	return in.snapshot, err
}

func (m *memory) Regions(_ context.Context, fabric string, _ int64) ([]schema.Region, error) {
	in, _, err := m.find("Regions", fabric)
	return in.regions, err
}

func (m *memory) States(_ context.Context, fabric string, from int64) (list []StateAt, err error) {
	in, _, err := m.find("States", fabric)
	for _, s := range in.states {
		if s.StartNanos >= from {
			list = append(list, s)
		}
	}
	return list, err
}

func (m *memory) Events(_ context.Context, fabric string, from int64) (list []schema.Event, err error) {
	in, _, err := m.find("Events", fabric)
	for _, e := range in.events {
		if e.TimeNanos >= from {
			list = append(list, e)
		}
	}
	return list, err
}

func (m *memory) Tracking(_ context.Context, fabric string, _ int64) (Tracking, error) {
	in, _, err := m.find("Tracking", fabric)
	return in.tracking, err
}

// The questions about a stretch of time are answered with what was asked.
func (m *memory) Transitions(_ context.Context, fabric string, metric schema.Metric, span Span) (regions, network Moves, err error) {
	_, _, err = m.find("Transitions", fabric)
	regions[schema.Gone][schema.Low], regions[schema.Gone][schema.High], network[0][0] = 3, 1, int((span.ToNanos-span.FromNanos)/1e9)
	if metric == schema.InqStall {
		network[1][2] = 5
	}
	return regions, network, err
}

func (m *memory) Congestion(_ context.Context, fabric string, span Span) ([]schema.CongestionEvent, error) {
	_, _, err := m.find("Congestion", fabric)
	return []schema.CongestionEvent{{BeginNanos: span.FromNanos + 1, EndNanos: span.ToNanos - 1, PeakMeanPercent: 30}}, err
}

func (m *memory) HotDurations(_ context.Context, fabric string, _ schema.Metric, _ Span) ([]HotDurations, error) {
	_, _, err := m.find("HotDurations", fabric)
	return []HotDurations{{ThresholdPercent: 15, Spells: 7, MedianSeconds: 60, P99Seconds: 120, P999Seconds: 180}}, err
}

func (m *memory) ForecastSkill(_ context.Context, fabric string, _ Span) (next, later Skill, err error) {
	_, _, err = m.find("ForecastSkill", fabric)
	return Skill{10, .2, .3}, Skill{8, .5, .9}, err
}

const (
	second = int64(time.Second)
	noon   = int64(1_700_000_000) * second
)

// hot is a region that takes up the links from first on.
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

// busy is an interval with a gradient of stall, a missing link and the regions.
func busy(g *topology.Graph, start int64, regions ...schema.Region) interval {
	in := interval{stored: Stored{Interval: schema.Interval{StartNanos: start, DurationNanos: second}, LatencySeconds: .25}, regions: regions}
	in.snapshot = &schema.Snapshot{Fabric: g.Fabric(), GraphVersion: g.Version(), Interval: in.stored.Interval, Links: g.NumLinks()}
	for _, m := range []schema.Metric{schema.CreditStall, schema.InqStall, schema.Throughput} {
		s := schema.Series{Metric: m, Values: make([]float32, g.NumLinks()), Valid: schema.NewBitmap(g.NumLinks())}
		for l := range s.Values {
			if s.Values[l] = float32(l%40) / 10; l != 1 {
				s.Valid.Set(l)
			}
		}
		s.Count = s.Valid.Count()
		in.snapshot.Series = append(in.snapshot.Series, s)
	}
	for _, r := range regions {
		for i, l := range r.Links {
			in.snapshot.Series[0].Values[l] = float32(r.Mean + 3*math.Sin(float64(i)))
		}
	}
	in.tracking = Tracking{Network: schema.NetworkForecast{Next: schema.Odds{schema.High: .9, schema.Medium: .1}, Later: schema.Odds{schema.High: .6, schema.Medium: .4}},
		Congestion: &schema.CongestionEvent{BeginNanos: start - 200*second, EndNanos: start + second, PeakMeanPercent: 41},
		Hot:        []schema.HotLink{{Metric: schema.CreditStall, Link: 7, SinceNanos: start - 100*second}, {Metric: schema.InqStall, Link: 2, SinceNanos: start}}}
	in.states = []StateAt{{StartNanos: start - 1000*second}, {StartNanos: start - second, State: schema.Low, Low: 1}, {StartNanos: start, State: schema.High, Low: 1, Medium: 1, High: 1}}
	in.events = []schema.Event{{TimeNanos: start - second, Fabric: g.Fabric(), Kind: schema.Story, Detail: "A cable <b>dies</b>."},
		{TimeNanos: start, Fabric: g.Fabric(), Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+"}}
	return in
}

// show serves the fabrics' dashboards until the test ends.
func show(t *testing.T, m *memory, specs ...string) (*Dashboards, *httptest.Server, *prometheus.Registry) {
	t.Helper()
	var fabrics []Fabric
	for _, spec := range specs {
		g, err := topology.Parse(spec, spec)
		if err != nil {
			t.Fatal(err)
		}
		fabrics = append(fabrics, Fabric{Graph: g, Interval: time.Second})
	}
	if m.latest == nil {
		m.latest = map[string]interval{}
	}
	reg := prometheus.NewRegistry()
	cfg := DefaultConfig()
	cfg.Poll = 10 * time.Millisecond
	d, err := New(cfg, fabrics, m, reg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	d.Register(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return d, server, reg
}
