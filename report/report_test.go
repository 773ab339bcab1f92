package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine/enginetest"
	"github.com/giverny/giverny/store/read"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const (
	minute  = int64(60e9)
	hostile = `<script>alert("x")</script><img src=x onerror=y> 'quoted' & more`
)

// aDay stores four hours of intervals of ten minutes in which a region of two links is Low, then High, then gone, on a
// fabric, a device and for a job whose names are hostile.
func aDay(t *testing.T, db *store.DB) {
	t.Helper()
	for n := range int64(24) {
		snap := &schema.Snapshot{Fabric: hostile, GraphVersion: 1, Links: 4, Interval: schema.Interval{StartNanos: n * 10 * minute, DurationNanos: 10 * minute}}
		if n%6 != 3 { // those measure nothing
			snap.Series = []schema.Series{{Metric: schema.CreditStall, Values: []float32{1, 30, 30, 1}, Valid: schema.NewBitmap(4), Count: 4}}
			for i := range 4 {
				snap.Series[0].Valid.Set(i)
			}
		}
		r := &schema.IntervalResult{Snapshot: snap}
		if level := map[int64]float64{0: 10, 1: 30, 2: 30}[n/6]; level > 0 {
			r.Regions = []schema.Region{{Metric: schema.CreditStall, Links: []schema.LinkID{1, 2}, Size: 2, Mean: level, Max: 40, Severity: schema.SeverityOf(level), Name: hostile, ID: 9}}
			r.Diagnoses = []schema.Diagnosis{{Fabric: hostile, Time: schema.Instant(n * 10 * minute), Region: 9, Metric: schema.CreditStall, Severity: schema.SeverityOf(level), Mean: level, Cause: schema.Cause{Class: schema.CauseSystem, Confidence: .9}}}
		}
		r.States = schema.NetworkStates(snap, r.Regions)
		if n == 20 {
			for id := range 12 {
				r.Jobs = append(r.Jobs, schema.Job{Fabric: hostile, ID: string(rune('a' + id)), Name: hostile, Nodes: []string{"dev<b>"}, Start: schema.Instant(10 * minute), End: schema.Instant(int64(100+id) * minute), State: "DONE"})
			}
		}
		if err := db.Store(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func number(t *testing.T, r *Report, section, name string) Number {
	t.Helper()
	for _, s := range r.Sections {
		for _, n := range s.Numbers {
			if s.ID == section && n.Name == name {
				return n
			}
		}
	}
	t.Fatalf("no number %q in section %q", name, section)
	return Number{}
}

var (
	tags    = regexp.MustCompile(`<[^>]*>`)
	quoted  = regexp.MustCompile(`"[^"]*"`)
	active  = regexp.MustCompile(`(?i)^</?(script|img|iframe|object|link|b|i)\b|\s(on\w+|src|href\s*=\s*[^\s#])`)
	anchors = regexp.MustCompile(`href="#[\w-]*"`)
)

// activeIn is a tag of a page that runs or fetches something, or that a name has become.
func activeIn(page string) string {
	for _, tag := range tags.FindAllString(page, -1) {
		if bare := quoted.ReplaceAllString(anchors.ReplaceAllString(tag, ""), "Q"); active.MatchString(bare) {
			return tag
		}
	}
	return ""
}

// The report says what was stored, and no name in it becomes markup.
func TestReport(t *testing.T) {
	e := enginetest.Start(t)
	db, err := store.New(e.Options(""), store.DefaultConfig(), store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	aDay(t, db)
	conn := enginetest.Connect(t, e, store.DefaultDatabase)
	if err := conn.Exec(t.Context(), `INSERT INTO links (fabric, graph_version, link, from_device, from_port, to_device, to_port) SELECT {fabric:String}, 1, number, 'dev<b>', '<i>', 'x', 'y' FROM numbers(4)`,
		clickhouse.Named("fabric", hostile)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.RollUp(t.Context(), hostile, 0); err != nil {
		t.Fatal(err)
	}
	span := read.Span{To: schema.Instant(250 * minute)}
	model := read.New(db)
	if _, err := Make(t.Context(), model, "other", span, 10*time.Minute, 0); !errors.Is(err, ErrNothing) {
		t.Errorf("of a fabric that is not there: %v", err)
	}
	r, err := Make(t.Context(), model, hostile, span, 10*time.Minute, schema.Instant(minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		section, name    string
		value, published float64
	}{
		{"completeness", "intervals expected", 25, 0}, {"completeness", "intervals stored", 24, 0}, {"completeness", "with a known state", 20, 0},
		{"network", "High", 50, 56}, {"network", "Low", 25, 0},
		{"sizes-credit_stall", "High: median", 2, 32}, {"durations-credit_stall", "High: max", 180, 1439}, {"regions-credit_stall", "link time in High", 25, .10},
		{"jobs", "jobs", 12, 815006}, {"jobs", "touched by High", 100, 6.5},
	} {
		n := number(t, r, c.section, c.name)
		if n.Value == nil || *n.Value < c.value-1e-6 || *n.Value > c.value+1e-6 {
			t.Errorf("%s, %s: %v, want %v", c.section, c.name, deref(n.Value), c.value)
		}
		if deref(n.Published) != c.published {
			t.Errorf("%s, %s: published %v, want %v", c.section, c.name, deref(n.Published), c.published)
		}
	}
	checkPage(t, r)
	var document bytes.Buffer
	if err := r.WriteJSON(&document); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(document.Bytes(), &back); err != nil || back.Fabric != hostile || len(back.Sections) != len(r.Sections) || back.Form != Form {
		t.Errorf("the JSON form: %v, fabric %q", err, back.Fabric)
	}
}

func checkPage(t *testing.T, r *Report) {
	t.Helper()
	var html bytes.Buffer
	if err := r.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	text := html.String()
	if found := activeIn(text); found != "" {
		t.Errorf("the page has %q", found)
	}
	for _, want := range []string{"&lt;script&gt;", "<svg", "FROM hour_counts", "prefers-color-scheme: dark", "@media print", "dev&lt;b&gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, s := range r.Sections {
		if len(s.Queries) == 0 {
			t.Errorf("section %s has no SQL", s.ID)
		}
	}
}

func deref(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// What is published stands beside what is of the same kind alone.
func TestPublishedNumbersAreOfTheSameMetric(t *testing.T) {
	m := &maker{}
	if n := m.number("High", "links", "size/p99/High", schema.CreditStall.String()); deref(n.Published) != 214 {
		t.Errorf("of credit stall: %v", deref(n.Published))
	}
	if n := m.number("High", "links", "size/p99/High", schema.XmitWait.String()); n.Published != nil {
		t.Errorf("of another metric: %v", *n.Published)
	}
}

// A name in a plot stays text; a plot of nothing is drawn.
func TestPlots(t *testing.T) {
	v := 3.
	if activeIn(hostile) == "" {
		t.Error("the check finds nothing")
	}
	for _, kind := range []PlotKind{Bars, Stacked, Lines, Boxes} {
		for _, log := range []bool{false, true} {
			p := Plot{Title: hostile, Kind: kind, XLabel: hostile, YLabel: hostile, LogY: log}
			for range 2 {
				if text := p.SVG(); activeIn(text) != "" || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
					t.Errorf("%s: %s", kind, text)
				}
				p.X, p.Series, p.Boxes = []string{hostile, "b"}, []Series{{Name: hostile, Colour: "Low", Values: []*float64{&v, nil}}}, []Summary{{Name: hostile, Min: 1, Q1: 2, Mid: 3, Q3: 4, Max: 5, N: 9}, {Name: "none"}}
			}
		}
	}
}

// Numbers are written for people, and ticks are round.
func TestNumbersAreReadable(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 815006: "815,006", -1234: "-1,234", 216000: "216,000", 99.862: "99.86", 2.8472: "2.847", .016667: "0.0167", 12345.6: "12,346", 999: "999", -999: "-999"} {
		if got := figure(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for _, c := range []struct {
		canvas canvas
		want   []float64
	}{
		{canvas{high: 1}, []float64{0, .2, .4, .6, .8, 1}}, {canvas{high: 19.95}, []float64{0, 5, 10, 15}}, {canvas{high: 100}, []float64{0, 20, 40, 60, 80, 100}},
		{canvas{low: .5, high: 1000, log: true}, []float64{1, 10, 100, 1000}}, {canvas{low: 1, high: 1e9, log: true}, []float64{1, 100, 1e4, 1e6, 1e8}},
	} {
		if diff := cmp.Diff(c.want, c.canvas.ticks(), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("up to %v: %s", c.canvas.high, diff)
		}
	}
}
