//go:build engine || integration

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine/enginetest"
	"github.com/giverny/giverny/store/read"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

const minute = int64(60e9)

// aDay stores four hours of ten-minute intervals in which a region of two links is Low, then High, then gone. The
// names of fabric, device and job are hostile.
func aDay(t *testing.T, db *store.DB) {
	t.Helper()
	for n := range int64(24) {
		snap := &schema.Snapshot{Fabric: hostile, GraphVersion: 1, Links: 4, Interval: schema.Interval{StartNanos: n * 10 * minute, DurationNanos: 10 * minute}}
		if n%6 != 3 { // the others measure nothing
			snap.Series = []schema.Series{{Metric: schema.CreditStall, Values: []float32{1, 30, 30, 1}, Valid: schema.NewBitmap(4), Count: 4}}
			for i := range 4 {
				snap.Series[0].Valid.Set(i)
			}
		}
		r := &schema.IntervalResult{Snapshot: snap}
		if level := map[int64]float64{0: 10, 1: 30, 2: 30}[n/6]; level > 0 {
			r.Regions = []schema.Region{{Metric: schema.CreditStall, Links: []schema.LinkID{1, 2}, Size: 2, Mean: level, Max: 40, Severity: schema.SeverityOf(level), Name: hostile, ID: 9}}
			r.Diagnoses = []schema.Diagnosis{{Fabric: hostile, Time: schema.Instant(n * 10 * minute), Region: 9, Metric: schema.CreditStall, Severity: schema.SeverityOf(level), Mean: level, Cause: schema.Cause{Class: schema.CauseSystem, Confidence: .9},
				Jobs: []schema.AccusedJob{{JobID: "b", Blame: .75}, {JobID: "a", Blame: .25}, {JobID: "c"}}}}
		}
		r.States = schema.NetworkStates(snap, r.Regions)
		if n == 20 {
			r.Episodes = []schema.HotEpisode{{Metric: schema.CreditStall, ThresholdPercent: 30, Intervals: 3}}
			for id := range 12 {
				r.Jobs = append(r.Jobs, schema.Job{Fabric: hostile, ID: string(rune('a' + id)), Name: hostile, Nodes: []string{"dev<b>"}, Start: schema.Instant(10 * minute), End: schema.Instant(int64(100+id) * minute), State: "DONE"})
			}
		}
		if err := db.Store(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func numberOf(t *testing.T, r *Report, id, name string) Number {
	t.Helper()
	for _, n := range section(t, r, id).Numbers {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("no number %q in section %q", name, id)
	return Number{}
}

func section(t *testing.T, r *Report, id string) *Section {
	t.Helper()
	i := slices.IndexFunc(r.Sections, func(s Section) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("no section %q", id)
	}
	return &r.Sections[i]
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
	r, err := Make(t.Context(), model, hostile, span, 10*time.Minute, schema.Instant(250*minute))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Make(t.Context(), model, hostile, read.Span{To: schema.Instant(1000 * minute)}, 10*time.Minute, schema.Instant(250*minute)); err != nil || r.Expected != 25 {
		t.Errorf("of a span that is not over: %+v, %v", r, err)
	}
	for _, c := range []struct {
		section, name    string
		value, published float64
	}{
		{"completeness", "intervals expected", 25, 0}, {"completeness", "intervals stored", 24, 0}, {"completeness", "with a known state", 20, 0},
		{"network", "High", 50, 56}, {"network", "Low", 25, 0},
		{"sizes-credit_stall", "High: median", 2, 32}, {"durations-credit_stall", "High: max", 180, 1439}, {"regions-credit_stall", "link time in High", 30, .10}, // of the time in which links were measured
		{"hotspots-credit_stall", "episodes at 30%", 1, 0}, {"hotspots-credit_stall", "99.9% at 30%", 20, 400},
		{"jobs", "jobs", 12, 815006}, {"jobs", "touched by Medium or worse", 100, 12.3}, {"jobs", "touched by High", 100, 6.5},
	} {
		n := numberOf(t, r, c.section, c.name)
		if n.Value == nil || *n.Value < c.value-1e-6 || *n.Value > c.value+1e-6 {
			t.Errorf("%s, %s: %v, want %v", c.section, c.name, deref(n.Value), c.value)
		}
		if deref(n.Published) != c.published {
			t.Errorf("%s, %s: published %v, want %v", c.section, c.name, deref(n.Published), c.published)
		}
	}
	accused := section(t, r, "accused-jobs").Table.Rows // in 18 intervals: 6 at 10%, 12 at 30%
	if want := [][]string{{"b", hostile, "1", "18", "13.5", "23.3"}, {"a", hostile, "1", "18", "4.5", "23.3"}}; !cmp.Equal(accused, want) {
		t.Errorf("accused jobs: %s", cmp.Diff(want, accused))
	}
	if want := [][]string{{"1", "0", none, none}, {"5", "0", none, none}}; !cmp.Equal(section(t, r, "forecasts").Table.Rows, want) {
		t.Errorf("no forecasts: %v", section(t, r, "forecasts").Table.Rows)
	}
	checkPage(t, r)
	calm, err := Make(t.Context(), model, hostile, read.Span{From: schema.Instant(190 * minute), To: schema.Instant(250 * minute)}, 10*time.Minute, schema.Instant(250*minute))
	if err != nil {
		t.Fatal(err)
	}
	if s := section(t, calm, "regions-credit_stall"); s.Numbers != nil || !strings.Contains(s.Note, "No region by this metric in this span.") {
		t.Errorf("a span without regions: %+v", s)
	}
	if slices.ContainsFunc(calm.Sections, func(s Section) bool { return s.ID == "sizes-credit_stall" || s.ID == "durations-credit_stall" }) {
		t.Error("a span without regions has sections on their sizes and lifetimes")
	}
	var document bytes.Buffer
	if err := r.WriteJSON(&document); err != nil {
		t.Fatal(err)
	}
	var back Report
	if strings.Contains(document.String(), `"rows": null`) {
		t.Error("a table without rows is null in the JSON form")
	}
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
