package analysis

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// The kind of root that a diagnosis determines is put into that region only, and only if both name the same place.
func TestRootsAreNamedByTheirDiagnosis(t *testing.T) {
	region := func(change func(*schema.Region)) schema.Region {
		r := schema.Region{ID: 7, Metric: schema.CreditStall, Name: "root leaf1", Root: &schema.Root{Device: "leaf1", Port: "3"}}
		r.Name = topology.RenameRoot(r.Name, "")
		change(&r)
		return r
	}
	regions := []schema.Region{
		region(func(*schema.Region) {}),
		region(func(r *schema.Region) { r.Root.Port = "" }),
		region(func(r *schema.Region) { r.ID = 8 }),
		region(func(r *schema.Region) { r.Metric = schema.PauseTx }),
		region(func(r *schema.Region) { r.Root = nil }),
		region(func(r *schema.Region) { r.Root.Port = "4" }),
	}
	result := &schema.IntervalResult{Regions: regions, Diagnoses: []schema.Diagnosis{
		{Region: 7, Metric: schema.CreditStall, Root: &schema.Root{Device: "leaf1", Port: "3", Kind: schema.RootIncast}},
		{Region: 9, Metric: schema.CreditStall, Root: &schema.Root{Device: "leaf1", Port: "3", Kind: schema.RootDeadlock}},
	}}
	nameRoots(result)
	for i, named := range []bool{true, true, false, false, false, false} {
		if r := regions[i].Root; r != nil && (r.Kind == schema.RootIncast) != named || r == nil && named {
			t.Errorf("region %d: root %+v, want it named: %v", i, r, named)
		}
	}
}

// Failures that only counters show count, and those that a log reports too count once.
func TestFailuresOfLogsAndCounters(t *testing.T) {
	log := []schema.Failure{{Fabric: "f", Time: 1, Kind: schema.NodeFailed, Device: "n1", Detail: "by the log"}}
	r := &schema.IntervalResult{Failures: log, Events: []schema.Event{
		{Fabric: "f", TimeNanos: 1, Kind: schema.NodeFailed, Device: "n1", Detail: "by counters"},
		{Fabric: "f", TimeNanos: 2, Kind: schema.NodeFailed, Device: "n1", Detail: "by counters"},
		{Fabric: "f", TimeNanos: 2, Kind: schema.NodeFailed, Device: "n1", Port: "1", Detail: "by counters"},
		{Fabric: "f", TimeNanos: 3, Kind: schema.JobStarted, Device: "n1"},
	}}
	want := append(slices.Clone(log), schema.Failure{Fabric: "f", Time: 2, Kind: schema.NodeFailed, Device: "n1", Detail: "by counters"},
		schema.Failure{Fabric: "f", Time: 2, Kind: schema.NodeFailed, Device: "n1", Port: "1", Detail: "by counters"})
	if diff := cmp.Diff(want, allFailures(r)); diff != "" || len(r.Failures) != 1 {
		t.Error(diff)
	}
}

// stallsOf is an interval of an hour of the day that measures a number of links by each metric.
func stallsOf(hour int64, links map[schema.Metric]int) *schema.Snapshot {
	snap := &schema.Snapshot{Interval: schema.Interval{StartNanos: hour * hourNanos, DurationNanos: 60e9}, Links: 100}
	for _, m := range []schema.Metric{schema.CreditStall, schema.PauseTx, schema.Throughput} {
		if n, measured := links[m]; measured {
			snap.Series = append(snap.Series, schema.Series{Metric: m, Count: n})
		}
	}
	return snap
}

// The network is unknown while a metric covers too small a part of the links of its best interval of the last day, unless a
// High region is seen; it says why, and since when.
func TestCoverage(t *testing.T) {
	s := &coverageStage{minCoverage: 0.5}
	for i, step := range []struct {
		hour   int64
		links  map[schema.Metric]int
		worst  schema.Severity
		reason schema.UnknownReason
		since  int64 // hour
	}{
		{100, map[schema.Metric]int{schema.Throughput: 100}, 0, schema.NothingMeasured, 100},
		{101, map[schema.Metric]int{schema.CreditStall: 0}, schema.High, schema.NothingMeasured, 100},
		{102, map[schema.Metric]int{schema.CreditStall: 80, schema.PauseTx: 10}, 0, "", 0},
		{103, map[schema.Metric]int{schema.CreditStall: 40, schema.PauseTx: 5}, 0, "", 0},
		{103, map[schema.Metric]int{schema.CreditStall: 39, schema.PauseTx: 10}, 0, schema.LowCoverage, 103},
		{104, map[schema.Metric]int{schema.CreditStall: 80}, 0, schema.LowCoverage, 103},
		{104, map[schema.Metric]int{schema.CreditStall: 39}, schema.High, "", 0},
		{104, nil, 0, schema.NothingMeasured, 104},
		{105, map[schema.Metric]int{schema.CreditStall: 39}, 0, schema.LowCoverage, 104},
		{125, map[schema.Metric]int{schema.CreditStall: 39, schema.PauseTx: 4}, 0, schema.LowCoverage, 104},
		{126, map[schema.Metric]int{schema.CreditStall: 39, schema.PauseTx: 5}, 0, schema.LowCoverage, 104}, // 80 of hour 104 still count
		{128, map[schema.Metric]int{schema.CreditStall: 19, schema.PauseTx: 4}, 0, schema.LowCoverage, 104},
		{128, map[schema.Metric]int{schema.CreditStall: 20, schema.PauseTx: 4}, 0, "", 0},
	} {
		regions := []schema.Region{{Metric: schema.CreditStall, Severity: step.worst}, {Metric: schema.CreditStall}}
		r := &schema.IntervalResult{Snapshot: stallsOf(step.hour, step.links), Regions: regions}
		r.Network.Severity = step.worst
		restarted := &coverageStage{minCoverage: 0.5}
		if err := restarted.Load(s.Save()); err != nil {
			t.Fatal(err)
		}
		resumed := &coverageStage{minCoverage: 0.5}
		if err := resumed.Load(s.Save()); err != nil {
			t.Fatal(err)
		}
		s.Step(r)
		var reason schema.UnknownReason
		var since schema.Instant
		if u := r.Network.Unknown; u != nil {
			reason, since = u.Reason, u.Since
		}
		if reason != step.reason || int64(since) != step.since*hourNanos {
			t.Errorf("step %d: %q since hour %d, want %q, %d; peaks %v", i, reason, int64(since)/hourNanos, step.reason, step.since, s.peaks)
		}
		again := &schema.IntervalResult{Snapshot: r.Snapshot, Regions: regions}
		again.Network.Severity = step.worst
		restarted.Step(again)
		if err := resumed.Resume(Interval{Snapshot: r.Snapshot, Regions: regions}); err != nil {
			t.Fatal(err)
		}
		for name, twin := range map[string]*coverageStage{"loaded": restarted, "resumed": resumed} {
			if diff := cmp.Diff(s, twin, cmp.AllowUnexported(coverageStage{}, peak{}, lastRegion{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("step %d, of a stage that was %s: %s", i, name, diff)
			}
		}
	}
}

// A smaller fabric measures fewer links, and that is no lack.
func TestCoverageOfASmallerFabric(t *testing.T) {
	s := &coverageStage{minCoverage: 1}
	s.learn(stallsOf(1, map[schema.Metric]int{schema.CreditStall: 80}), "")
	g := topologytest.Parse(t, "f", "mesh:3")
	if err := s.SetGraph(g, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.unknownReason(stallsOf(1, map[schema.Metric]int{schema.CreditStall: g.NumLinks()}), 0); got != "" {
		t.Errorf("all links measured: %s", got)
	}
	if got := s.unknownReason(stallsOf(1, map[schema.Metric]int{schema.CreditStall: g.NumLinks() - 1}), 0); got != schema.LowCoverage {
		t.Errorf("all links but one measured: %q", got)
	}
	if err := s.Load(stateOf(s, []byte("rubbish"))); err == nil {
		t.Errorf("a damaged state: %v", err)
	}
}

// A region whose readings stop is silent until they come back or silentFor has passed, and only a worse one is unknown.
func TestSilentRegions(t *testing.T) {
	s := &coverageStage{minCoverage: .1, links: 8}
	region := func(id uint64, severity schema.Severity, links ...schema.LinkID) schema.Region {
		return schema.Region{ID: id, Metric: schema.CreditStall, Severity: severity, Links: links}
	}
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for i, step := range []struct {
		minute  int64
		read    []int
		regions []schema.Region
		silent  []uint64
		unknown bool
	}{
		{0, all, []schema.Region{region(1, schema.High, 0, 1, 2, 3), region(2, schema.Low, 6, 7)}, nil, false},
		{1, all[4:6], nil, []uint64{1}, true},                                            // region 2 is only Low
		{2, all[3:], []schema.Region{region(3, schema.Medium, 4, 5)}, []uint64{1}, true}, // not as bad
		{3, all[3:], []schema.Region{region(3, schema.High, 4, 5)}, []uint64{1}, false},
		{4, all[2:], nil, nil, false}, // half of it is read: it has ended
		{5, all[4:], nil, nil, false},
		{6, all, []schema.Region{region(4, schema.Medium, 1, 2)}, nil, false},
		{65, all[3:], nil, []uint64{4}, true},
		{66, all[3:], nil, nil, false},
	} {
		snap := &schema.Snapshot{Interval: schema.Interval{StartNanos: step.minute * 60e9, DurationNanos: 60e9}, Links: 8}
		valid := schema.NewBitmap(8)
		for _, l := range step.read {
			valid.Set(l)
		}
		snap.Series = []schema.Series{{Metric: schema.CreditStall, Count: len(step.read), Values: make([]float32, 8), Valid: valid}}
		r := &schema.IntervalResult{Snapshot: snap, Regions: step.regions}
		for _, p := range step.regions {
			r.Network.Severity = max(r.Network.Severity, p.Severity)
		}
		loaded := &coverageStage{minCoverage: s.minCoverage, links: s.links}
		if err := loaded.Load(s.Save()); err != nil {
			t.Fatal(err)
		}
		s = loaded
		s.Step(r)
		var silent []uint64
		for _, p := range r.Silent {
			silent = append(silent, p.ID)
		}
		if !slices.Equal(silent, step.silent) || (r.Network.Unknown != nil) != step.unknown {
			t.Errorf("step %d: silent %v, unknown %v, want %v, %v", i, silent, r.Network.Unknown, step.silent, step.unknown)
		}
	}
}
