//go:build engine || integration

package dashboards

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
)

// firstRegion was born in the second before noon.
const firstRegion = 1_699_999_999<<20 + 1

// twoIntervals are noon and the second after it on a mesh of 3 by 2 switches: a
// region grows from Low to High; a cable failed and jobs were throttled before noon.
func twoIntervals(g *topology.Graph) []*schema.IntervalResult {
	results := make([]*schema.IntervalResult, 2)
	for n, severity := range []schema.Severity{schema.Low, schema.High} {
		start := noon + int64(n)*second
		snap := &schema.Snapshot{Fabric: g.Fabric(), GraphVersion: g.Version(), Links: g.NumLinks(), Interval: schema.Interval{StartNanos: start, DurationNanos: second},
			FirstReadNanos: start, LastReadNanos: start + second/2}
		for _, m := range []schema.Metric{schema.CreditStall, schema.InqStall, schema.Throughput} {
			s := schema.Series{Metric: m, Values: make([]float32, g.NumLinks()), Valid: schema.NewBitmap(g.NumLinks())}
			for l := range s.Values {
				if l != 1 || m != schema.CreditStall {
					s.Values[l] = float32(10*n + l)
					s.Valid.Set(l)
				}
			}
			s.Count = s.Valid.Count()
			snap.Series = append(snap.Series, s)
		}
		region := schema.Region{ID: firstRegion, Metric: schema.CreditStall, Severity: severity, Links: []schema.LinkID{0, 2, 3}[:2+n], Size: 2 + n, Mean: 10 + 20*float64(n), Max: 12 + 20*float64(n),
			Name: "(0,0) 2x1", AgeIntervals: 1 + n, Unread: n, BirthNanos: noon - second, Box: &schema.Box{Min: []int{0, 0}, Max: []int{1, 0}},
			Forecast: &schema.Forecast{GrowthLinks: n, TrendPercent: .5, Next: schema.Odds{0, .5, 0, .5, 0}, Later: schema.Odds{0, 0, 0, 0, 1}}}
		r := &schema.IntervalResult{Snapshot: snap, Regions: []schema.Region{region}}
		r.States = schema.NetworkStates(snap, r.Regions)
		r.Network = schema.NetworkForecast{Severity: severity, Next: schema.Odds{0, .5, 0, .5, 0}, Later: schema.Odds{.2, .2, .2, .4, 0}}
		if n == 0 {
			r.Events = []schema.Event{{TimeNanos: noon - second, Fabric: mesh, Kind: schema.LinkFailed, Device: "0,0", Port: "X+"},
				{TimeNanos: noon, Fabric: mesh, Kind: schema.Throttled}, {TimeNanos: noon + second/2, Fabric: mesh, Kind: schema.Throttled}}
		} else {
			r.Congestion = &schema.CongestionEvent{BeginNanos: start, EndNanos: start + second, PeakMeanPercent: 30}
			r.Transitions = []schema.Transition{{Metric: schema.CreditStall, From: 1, To: 3}}
			r.Hot = []schema.HotLink{{Metric: schema.CreditStall, Link: 2, SinceNanos: noon}}
			r.Episodes = []schema.HotEpisode{{Metric: schema.CreditStall, ThresholdPercent: 5, Intervals: 3}}
		}
		addDiagnosis(r)
		results[n] = r
	}
	return results
}

// addDiagnosis adds two jobs, one accused of the region and one its victim, and a
// failure that a log reports.
func addDiagnosis(r *schema.IntervalResult) {
	region, start := &r.Regions[0], schema.Instant(r.Snapshot.Interval.StartNanos)
	r.Diagnoses = []schema.Diagnosis{{Fabric: mesh, Time: start, Region: region.ID, Metric: region.Metric, Severity: region.Severity, Links: region.Links, Mean: region.Mean,
		Cause:    schema.Cause{Class: schema.CauseSystem, Confidence: .93},
		Jobs:     []schema.AccusedJob{{JobID: "17", Blame: .81, Feature: "rdma_read_bytes", Value: 2.3e11, Deviations: 14.2, Correlation: .91, LagSeconds: 1200, PValue: .002}},
		Failures: []schema.NearFailure{{Time: start, Kind: schema.LinkFailed, Device: "0,0", Port: "X+", Hops: 1}},
		Root:     &schema.Root{Link: schema.NoLink, Device: "0,0", Port: "X+", Peer: "1,0", Kind: "link_capacity"},
		Victims:  []schema.VictimJob{{JobID: "4", Slowdown: [2]float64{1.1, 1.6}}}, Action: "place it in a compact block", Text: "Job 17 (PSDNS) fills the links."}}
	if start == schema.Instant(noon) {
		r.Jobs = []schema.Job{{Fabric: mesh, ID: "17", Name: "PSDNS", User: "flow", Nodes: []string{"0,0", "1,0"}, Start: start - 60e9, State: "RUNNING"},
			{Fabric: mesh, ID: "4", Nodes: []string{"2,0"}, Start: start - 120e9, End: start - 60e9}, {Fabric: mesh, ID: "4", Nodes: []string{"2,1"}, Start: start - 30e9}}
		r.Failures = []schema.Failure{{Fabric: mesh, Time: start, Kind: schema.NodeFailed, Device: "2,1", Detail: "says syslog"}}
	}
}

// aSearch is a search on the NIC at the root of a region, with what the agent found.
func aSearch() []schema.SearchStep {
	subsystem := schema.Subsystem{NICModel: "MT4129", Firmware: "28.39.1002", NPS: 4}
	report := schema.SearchReport{Engine: "rig", Algorithm: "lift", Seed: 7, Budget: 100, Region: 5, Subsystem: subsystem, Peers: []string{"n2"}}
	requested := schema.SearchStep{SearchID: "a1", Status: schema.SearchRequested, Time: schema.Instant(noon), Principal: "operator", Reason: "slow host", Report: report}
	report.Adapter, report.Experiments, report.Failed, report.Seconds, report.Gigabytes, report.Anomalies = "mlx5_0", 60, 2, 1800, 512, 1
	report.Findings = []schema.SearchFinding{{Experiment: 7, Symptom: "pause", Workload: json.RawMessage(`{"qps":320}`), MFS: json.RawMessage(`{"qps":{"min":320}}`)}}
	return []schema.SearchStep{requested, {SearchID: "a1", Agent: "n1", Status: schema.CommandDone, Time: schema.Instant(noon + 60*second), Report: report}}
}

// aProbedHost is a run that probed a host for a region, and the baseline of its model.
func aProbedHost() []order.Step {
	pair := hostping.Pair{RNIC: "mlx5_0", Endpoint: "numa1"}
	requested := order.Step{RunID: "h1", Status: order.Requested, Time: schema.Instant(noon), Principal: "operator", Reason: "slow host", Outcome: order.Outcome{Mode: order.Full, Region: 5}}
	report := hostping.Report{State: hostping.Idle, Model: "DGX #1", Probes: 2, Unmeasured: []hostping.Unmeasured{}, Notes: []string{}, Algorithm1: map[string]hostping.LinkFinding{},
		Matrix: []hostping.Cell{{Pair: pair, LatencyMicros: 2, Gbps: 61, BaselineLatencyMicros: 2, BaselineGbps: 100}},
		Verdicts: []hostping.Verdict{{Bottleneck: hostping.MemoryChannelFailure, Link: "numa1", Endpoint: "numa1", Confidence: 0.75, OverloadedBy: []hostping.Consumer{},
			Text: "memory channel of numa1 at 61% of its baseline", Evidence: hostping.Evidence{Abnormal: [][2]string{{"mlx5_0", "numa1"}}, Cleared: map[string][2]string{"mlx5_0": {"mlx5_0", "numa0"}}}}}}
	graph := hostping.Graph{Model: "DGX #1", RNICs: []hostping.RNIC{{ID: "mlx5_0"}}, Endpoints: []hostping.Endpoint{{ID: "numa1", Kind: hostping.Memory}}, Assumed: []string{},
		Links:      []hostping.Link{{ID: "mlx5_0", A: "socket1", B: "mlx5_0", Kind: hostping.PCIe}, {ID: "numa1", A: "socket1", B: "numa1", Kind: hostping.Memory}},
		Paths:      []hostping.Path{{Pair: pair, Links: []string{"mlx5_0", "numa1"}}},
		Affinitive: map[string][]string{"mlx5_0": {"numa1"}}}
	done := order.Step{RunID: "h1", Agent: "n1", Status: schema.CommandDone, Time: schema.Instant(noon + 60*second),
		Outcome: order.Outcome{Trigger: order.Commanded, Mode: order.Full, Region: 5, Model: "DGX #1", Seconds: 1.5, Probes: 2, Report: &report, Graph: &graph,
			Baseline: &hostping.Baseline{Version: hostping.BaselineVersion, Model: "DGX #1", LargeBytes: hostping.LargeBytes, Runs: 1,
				Pairs: []hostping.PairBaseline{{Pair: pair, Links: []string{"mlx5_0", "numa1"}, LatencyMicros: []float64{2}, Gbps: []float64{100}}}}}}
	return []order.Step{requested, done}
}

var latency = regexp.MustCompile(`"latency_seconds":[0-9.e+]+`)

// Every endpoint over the real store, by its values: testdata/answers.txt has paths
// and what the API says of the two intervals, a line each. VERSION is the graph's.
func TestTheAPI(t *testing.T) {
	const file = "testdata/answers.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, mesh)
	h.store(h.graph(mesh), twoIntervals(h.graph(mesh))...)
	if err := h.db.StoreSearchSteps(t.Context(), mesh, aSearch()); err != nil {
		t.Fatal(err)
	}
	if err := h.db.StoreHostRuns(t.Context(), mesh, aProbedHost()); err != nil {
		t.Fatal(err)
	}
	if err := h.db.StoreCollectives(t.Context(), mesh, aCollective(t)); err != nil {
		t.Fatal(err)
	}
	version := summaryOf(h.fabrics[mesh], h.graph(mesh)).GraphVersion.String()
	var out strings.Builder
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var paths []string
	for len(lines) > 0 {
		path, want := lines[0], lines[1]
		lines = lines[min(3, len(lines)):]
		got := latency.ReplaceAllString(h.get(path, http.StatusOK), `"latency_seconds":0`)
		got = strings.ReplaceAll(got, version, "VERSION")
		got = age.ReplaceAllString(got, `"age_seconds":0`)
		if diff := gocmp.Diff(want, got); diff != "" && !*rewrite {
			t.Errorf("%s: %s", path, diff)
		}
		fmt.Fprintf(&out, "%s\n%s\n\n", path, got)
		paths = append(paths, path)
	}
	for _, e := range endpoints() {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(strings.TrimPrefix(e.Path, "/"), "[^/?]+") + `(\?|$)`)
		if e.Raw.In == nil && !e.TableOnly && !slices.ContainsFunc(paths, pattern.MatchString) {
			t.Errorf("%s has no answer in %s", e.Path, file)
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var age = regexp.MustCompile(`"age_seconds":[0-9.e+]+`)

// Regions come worst first, and only from a severity on if asked for; so do events of regions, by the
// region's highest severity in the span. Events without a region are always there.
func TestRegionsAndEventsFromASeverityOn(t *testing.T) {
	h := open(t, mesh)
	results := twoIntervals(h.graph(mesh))
	last := results[1]
	for i, severity := range []schema.Severity{schema.Low, schema.Medium, schema.High, schema.Medium} {
		weak := last.Regions[0]
		weak.ID, weak.Severity, weak.Mean = firstRegion+1+uint64(i), severity, 20+float64(i)
		last.Regions = append(last.Regions, weak)
	}
	for _, r := range last.Regions {
		last.Events = append(last.Events, schema.Event{TimeNanos: noon + second, Fabric: mesh, Kind: schema.RegionBorn, RegionID: r.ID})
	}
	h.store(h.graph(mesh), results...)
	for least, want := range map[string][2]int{"": {5, 5}, "Neg": {5, 5}, "Low": {5, 5}, "Medium": {4, 4}, "High": {2, 2}} {
		now := decode[snapshot](t, h.get("fabrics/"+mesh+"/snapshot?min_severity="+least, http.StatusOK))
		var order []float64
		for _, r := range now.Regions {
			order = append(order, 1000*float64(r.Severity)+r.Mean)
		}
		if len(order) != want[0] || !slices.IsSortedFunc(order, func(a, b float64) int { return cmp.Compare(b, a) }) {
			t.Errorf("from %q on: %v, want %d regions, the worst first", least, order, want[0])
		}
		ofRegions, others := 0, 0
		for _, e := range decode[eventPage](t, h.get("fabrics/"+mesh+"/events?min_severity="+least, http.StatusOK)).Events {
			if e.RegionID == 0 {
				others++
			} else {
				ofRegions++
			}
		}
		if ofRegions != want[1] || others != 4 {
			t.Errorf("from %q on: %d events of regions and %d others, want %d and 4", least, ofRegions, others, want[1])
		}
	}
}

// badQueries are requests that make no sense, with the error that answers each.
func badQueries() map[string]string {
	return map[string]string{
		"hotspots":                                  "metric: missing; want a stall metric",
		"hotspots?metric=throughput":                "metric: want a stall metric",
		"transitions?metric=mystery":                `unknown metric "mystery"`,
		"congestion?from=yesterday":                 "RFC 3339, such as 2026-01-05T00:30:00Z, or milliseconds",
		"congestion?from=2026-01-05T02:30:00+02:00": "in a URL, write the + before a time zone as %2B",
		"congestion?to=1700000000000000000":         "milliseconds since 1970",
		"congestion?to=1700000000":                  "append 000",
		"forecasts?to=2023-11-14T22:13Z":            "RFC 3339",
		"congestion?from=20&to=10":                  "is after to",
		"region-sizes?metric=xmit_wait&from=0":      "want at most 4416, or raise dashboards.max_span",
		"searches?from=0":                           "want at most 4416, or raise dashboards.max_span",
		"collectives?from=0":                        "want at most 4416, or raise dashboards.max_span",
		"tracks/1.5":                                "region: \"1.5\": want a whole number",
		"tracks/1?from=0&to=1700000000000":          "want at most 4416",
		"mitigations?window_seconds=0":              "want 1 to 86400",
		"top-links?metric=credit_stall&n=1001":      "n: \"1001\": want 1 to 1000",
		"top-links":                                 "metric: missing; want one, such as credit_stall",
		"links/-1?metric=credit_stall":              "link: \"-1\": want a whole number of 0 or more",
		"graph?version=newest":                      "hexadecimal digits",
		"snapshot?min_severity=medium":              `min_severity: severity "medium": want one of`,
		"events?min_severity=3":                     "want one of",
		"snapshot?at=noon":                          "RFC 3339",
		"diagnoses?n=0":                             "want 1 to 10000",
		"diagnoses?region=worst":                    "region: \"worst\": want a whole number",
		"diagnoses?at=noon":                         "RFC 3339",
		"jobs?n=10001":                              "want 1 to 10000",
		"jobs?at=noon":                              "RFC 3339",
		"transitions?metrics=credit_stall":          "unknown parameter; want one of",
		"events?from=0&intervals=3":                 "intervals: give either intervals or from, not both",
		"events?cursor=x":                           "cursor: want the value of next from an earlier answer",
		"network?from=0&to=100000002":               "want at most 100000 intervals",
		"events?kinds=link_failed,link_down":        `kinds: unknown kind "link_down"; want some of [link_failed `,
		"events?n=1&n=2":                            "n: given 2 times",
		"snapshot?values=maybe":                     "want true or false",
	}
}

func TestBadRequests(t *testing.T) {
	h := open(t, mesh)
	h.store(h.graph(mesh), twoIntervals(h.graph(mesh))...)
	for query, want := range badQueries() {
		if detail := h.problem("fabrics/"+mesh+"/"+query, http.StatusBadRequest); !strings.Contains(detail, want) {
			t.Errorf("%s: %s", query, detail)
		}
	}
	if detail := h.problem("fabrics/"+mesh+"/graph?version=0000000000000012", http.StatusNotFound); !strings.Contains(detail, "no version 0000000000000012 of the graph") {
		t.Error(detail)
	}
	unknown := 0
	for _, e := range endpoints() {
		if !strings.Contains(e.Path, "{fabric}") {
			continue
		}
		path := strings.NewReplacer("{fabric}", "nowhere", "{region}", "1", "{link}", "1", "{job}", "1").Replace(e.Path[1:]) + "?"
		for _, p := range operation.ParametersOf(e.Parameters()) {
			if p.In == "query" && p.Required {
				path += p.Name + "=credit_stall"
			}
		}
		if detail := h.problem(path, http.StatusNotFound); !strings.Contains(detail, "GET /api/v1/fabrics lists them") {
			t.Errorf("%s: %s", e.Path, detail)
		}
		unknown++
	}
	if detail := h.problem("nothing", http.StatusNotFound); !strings.Contains(detail, "/api/v1/openapi.json") {
		t.Error(detail)
	}
	if n := h.metric("giverny_dashboards_requests_total"); int(n) != len(badQueries())+1+unknown+1 {
		t.Errorf("%v requests counted", n)
	}
}

// A fabric of which nothing is stored yet is not an error anywhere.
func TestNothingStored(t *testing.T) {
	h := open(t, mesh)
	if body := h.get("fabrics/"+mesh+"/snapshot", http.StatusNoContent); body != "" {
		t.Errorf("snapshot: %s", body)
	}
	for path, list := range map[string]string{"network": "states", "events": "events", "regions": "regions", "jobs": "jobs"} {
		if body := h.get("fabrics/"+mesh+"/"+path, http.StatusOK); !strings.Contains(body, `"`+list+`":[]`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	h.get("fabrics/"+mesh+"/graph", http.StatusOK)
	h.get("fabrics/"+mesh+"/forecasts", http.StatusOK)
}

// Values of an old graph are shown on that graph: /snapshot says its version, /links
// gives that graph, and a version that another process brought is read from the
// store.
func TestGraphsByVersion(t *testing.T) {
	h := open(t, mesh)
	before := h.graph(mesh)
	next := topology.NewVersion(before)
	for id := range schema.LinkID(before.NumLinks() - 2) {
		next.Link(before.Link(id))
	}
	after, err := next.Build()
	if err != nil {
		t.Fatal(err)
	}
	h.store(before, busy(before, noon))
	h.SetGraph(after)
	type answer struct {
		GraphVersion string `json:"graph_version"`
		Up           []bool
		Fabric       struct {
			GraphVersion string `json:"graph_version"`
		}
	}
	check := func(path string, g *topology.Graph, down int) {
		t.Helper()
		a := decode[answer](t, h.get("fabrics/"+mesh+"/"+path, http.StatusOK))
		if got := a.GraphVersion + a.Fabric.GraphVersion; got != read.Version(g.Version()).String() {
			t.Errorf("%s is of version %s, want %v", path, got, read.Version(g.Version()))
		}
		for _, up := range a.Up {
			if !up {
				down--
			}
		}
		if down != 0 {
			t.Errorf("%s: %d links more are down than should be", path, -down)
		}
	}
	inForce := func() read.Version { return decode[[]summary](t, h.get("fabrics", http.StatusOK))[0].GraphVersion }
	check("snapshot", before, 0)
	check("graph", before, 0)
	check("graph?version="+read.Version(after.Version()).String(), after, 2)
	if got := inForce(); uint64(got) != after.Version() {
		t.Errorf("version %v is in force", got)
	}
	h.SetGraph(before)
	h.store(after, busy(after, noon+second)) // by another process
	h.pollLatest(t.Context(), h.order[0], time.Now())
	if got := inForce(); uint64(got) != after.Version() {
		t.Errorf("version %v is in force after the poll", got)
	}
	h.SetGraph(before)
	h.pollLatest(t.Context(), h.order[0], time.Now().Add(time.Minute)) // finds nothing new
	if got := inForce(); uint64(got) != before.Version() {
		t.Errorf("a poll that finds no new interval puts version %v into force", got)
	}
	h.SetGraph(after)
	check("snapshot", after, 0)
	check("graph", after, 2)
	check("snapshot?at=1700000000000", before, 0)
	check("graph?version="+read.Version(before.Version()).String(), before, 0)
}

// A span that ends near 1970 begins with the earliest time there is, and the answer is as the document says.
func TestSpansAtTheBeginOfTime(t *testing.T) {
	h := open(t, mesh)
	for _, path := range []string{"host-outliers?model=m&", "hosts?", "searches?", "diagnoses?", "jobs?", "collectives?", "network-steps?"} {
		h.get("fabrics/"+mesh+"/"+path+"to=3190", http.StatusOK)
	}
}

// An answer that has not changed is not sent again.
func TestETags(t *testing.T) {
	h := open(t, mesh)
	h.store(h.graph(mesh), twoIntervals(h.graph(mesh))...)
	version := summaryOf(h.fabrics[mesh], h.graph(mesh)).GraphVersion.String()
	for path, control := range map[string]string{"fabrics": "no-cache", "openapi.json": "no-cache", "fabrics/" + mesh + "/graph": "no-cache", "fabrics/" + mesh + "/snapshot": "no-cache",
		"fabrics/" + mesh + "/graph?version=" + version: "private, max-age=31536000, immutable", "fabrics/" + mesh + "/events?n=2": "no-cache"} {
		first := h.getRaw("/api/v1/"+path, nil)
		tag := first.Header.Get("ETag")
		if first.StatusCode != http.StatusOK || tag == "" || first.Header.Get("Cache-Control") != control {
			t.Errorf("%s: %d %v", path, first.StatusCode, first.Header)
		}
		again := h.getRaw("/api/v1/"+path, http.Header{"If-None-Match": {tag}})
		if again.StatusCode != http.StatusNotModified || again.Header.Get("ETag") != tag {
			t.Errorf("%s again: %d %v", path, again.StatusCode, again.Header)
		}
		if other := h.getRaw("/api/v1/"+path, http.Header{"If-None-Match": {`"other"`}}); other.StatusCode != http.StatusOK {
			t.Errorf("%s with another tag: %d", path, other.StatusCode)
		}
	}
	snapshot := "/api/v1/fabrics/" + mesh + "/snapshot"
	tag := h.getRaw(snapshot, nil).Header.Get("ETag")
	for _, query := range []string{"?min_severity=High", "?values=false", "?metrics=credit_stall", "?at=1700000000000"} {
		if got := h.getRaw(snapshot+query, http.Header{"If-None-Match": {tag}}); got.StatusCode != http.StatusOK {
			t.Errorf("%s has the tag of another question", query)
		}
	}
}
