package store

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/schema"
)

const minute = int64(60e9)

// someResult is a result with something for every table, the same for the same
// arguments.
func someResult(fabric string, n int64, links int) *schema.IntervalResult {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	snap := &schema.Snapshot{Fabric: fabric, GraphVersion: 1<<63 + 7, Interval: schema.Interval{StartNanos: n * minute, DurationNanos: minute}, Links: links,
		FirstReadNanos: n*minute + 1, LastReadNanos: n*minute + minute - 1, Samples: 3 * links}
	for _, m := range []schema.Metric{schema.CreditStall, schema.InqStall, schema.Throughput} {
		s := schema.Series{Metric: m, Values: make([]float32, links), Valid: schema.NewBitmap(links)}
		for i := range s.Values {
			if rng.IntN(20) == 0 {
				continue
			}
			s.Valid.Set(i)
			s.Count++
			s.Values[i] = float32(rng.ExpFloat64())
			if m == schema.Throughput {
				s.Values[i] *= 1e9
			}
		}
		snap.Series = append(snap.Series, s)
	}
	r := &schema.IntervalResult{Snapshot: snap, Dropped: map[string]uint64{"late": 3, "reset": 1}}
	r.Regions = []schema.Region{
		{Metric: schema.CreditStall, Links: []schema.LinkID{3, 4, 9}, Size: 3, Mean: 27.5, Max: 40, Severity: schema.High, Name: "(0,0,0) 1x1x3",
			Box: &schema.Box{Min: []int{0, 0, 23}, Max: []int{0, 0, 2}}, ID: 1<<63 + 5, AgeIntervals: int(n), BirthNanos: minute + 1},
		{Metric: schema.InqStall, Links: []schema.LinkID{1, 2}, Size: 2, Mean: 7, Max: 8, Severity: schema.Low, Name: "leaf 'one'\n"},
	}
	r.Regions[1].Root = &schema.Root{Device: "leaf7", Port: "9", Peer: "host56", Kind: schema.RootIncast, Link: 2}
	r.Regions[0].Forecast = &schema.Forecast{GrowthLinks: -3, TrendPercent: .25, Next: schema.Odds{0, .1, .2, .6, .1}, Later: schema.Odds{.2, .2, .2, .2, .2}}
	r.States = schema.NetworkStates(snap, r.Regions)
	r.Network = schema.NetworkForecast{Next: schema.Odds{.5, .3, .1, .1}, Later: schema.Odds{.2, .4, .2, .2}}
	r.Congestion = &schema.CongestionEvent{BeginNanos: minute, EndNanos: n*minute + minute, PeakMeanPercent: 27.5 + float64(n)}
	r.Transitions = []schema.Transition{{Metric: schema.CreditStall, From: 3, To: 3}, {Metric: schema.InqStall, From: schema.Gone, To: 1}, {Metric: schema.CreditStall, From: 3, To: 3}}
	r.Hot = []schema.HotLink{{Metric: schema.CreditStall, Link: 9, SinceNanos: minute}, {Metric: schema.InqStall, Link: 1, SinceNanos: n * minute}}
	r.Episodes = []schema.HotEpisode{{Metric: schema.InqStall, ThresholdPercent: 5, Intervals: n}, {Metric: schema.CreditStall, ThresholdPercent: 12.5, Intervals: 1}}
	r.Events = []schema.Event{{TimeNanos: n*minute + 5, Fabric: fabric, Kind: schema.RegionBorn, RegionID: 1<<63 + 5, Detail: "born"},
		{TimeNanos: n*minute + 7, Fabric: fabric, Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+"}}
	r.Raw = []*schema.CounterBatch{{Fabric: fabric, Ports: []schema.PortName{{Device: "a", Port: "1"}, {Device: "b", Port: "2"}},
		TimeNanos: []int64{n * minute, n*minute + 1}, PortIndex: []uint32{0, 1}, Columns: []schema.CounterColumn{
			{Name: "ib.symbol_error", Values: []uint64{1, 2}},
			{Name: "new.thing", Values: []uint64{1, 1 << 63}, Valid: schema.Bitmap{2}},
			{Name: "ib.port_xmit_data", Values: []uint64{5, 6}},
		}}}
	addFeeds(r)
	return r
}

// addFeeds adds jobs, failures, traffic and diagnoses to a result.
func addFeeds(r *schema.IntervalResult) {
	fabric, start := r.Snapshot.Fabric, schema.Instant(r.Snapshot.Interval.StartNanos)
	r.Jobs = []schema.Job{{Fabric: fabric, ID: "17", Name: "PSDNS", User: "flow", Nodes: []string{"0,0,0", "1,0,0"}, Start: start + 1, State: "RUNNING"},
		{Fabric: fabric, ID: "18", Start: start - 7, End: start + 2}}
	r.Failures = []schema.Failure{{Fabric: fabric, Time: start + 8, Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+", Detail: "'cable'"}}
	r.Traffic = []schema.JobTraffic{{Fabric: fabric, JobID: "17", Time: start, Read: new(1.5e9), RDMAWrite: new(0.0)}, {Fabric: fabric, JobID: "18", Time: start}}
	r.Mitigations = []schema.Mitigation{{Fabric: fabric, Begin: start - 9, End: start - 5, Events: 2, Before: 100, After: 50, Alleviated: true}}
	r.Diagnoses = []schema.Diagnosis{{Fabric: fabric, Time: start, Region: r.Regions[0].ID, Metric: schema.CreditStall, Severity: schema.High, Links: r.Regions[0].Links, Mean: 27.5,
		Cause: schema.Cause{Class: schema.CauseSystem, Confidence: .9}, Jobs: []schema.AccusedJob{{JobID: "17", Blame: .8, Feature: "read_bytes", Value: 1.5e9, Deviations: 14}},
		Failures: []schema.NearFailure{{Time: start + 8, Kind: schema.LinkFailed, Device: "0,0,0", Port: "X+", Hops: 1}},
		Root:     &schema.Root{Link: schema.NoLink, Device: "0,0,0", Port: "X+", Peer: "1,0,0", Kind: "link_capacity"},
		Victims:  []schema.VictimJob{{JobID: "18", Slowdown: [2]float64{1.1, 1.6}}}, Action: "place it in a compact block", Text: "why\n\"so\""}}
}

// The views give people rows for what the tables pack.
func TestViewsOfWhatIsStored(t *testing.T) {
	db := migratedDB(t)
	r := someResult("bw", 2, 1300)
	if err := db.Store(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	inq, sum := &r.Snapshot.Series[1], 0.0
	for i, v := range inq.Values {
		if inq.Valid.Has(i) {
			sum += math.Round(float64(v)*100) / 100
		}
	}
	for query, want := range map[string]string{
		"SELECT toString((count(), round(sum(value), 2))) FROM link_values WHERE fabric = 'bw' AND metric = 'inq_stall' AND time = toDateTime64(120, 3)":              fmt.Sprintf("(%d,%.2f)", inq.Count, sum),
		"SELECT counter || ' of ' || device || '/' || port || ': ' || toString(value) FROM counter_readings WHERE interval_start = toDateTime64(120, 3) ORDER BY ALL": "ib.symbol_error of a/1: 1; ib.symbol_error of b/2: 2; new.thing of b/2: 9223372036854775808",
	} {
		if got := row(t, db, query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

// contents counts, for every table, rows and distinct keys of a fabric.
func contents(t *testing.T, db testDB, fabric string) map[string][2]uint64 {
	t.Helper()
	out := map[string][2]uint64{}
	for table, keys := range map[string]string{
		"link_samples": "metric, block, time, graph_version", "regions": "time, graph_version, rank", "network_states": "time, graph_version, metric",
		"jobs": "interval_start, job_id, start", "failures": "interval_start, time", "job_traffic": "job_id, time", "mitigations": "time, begin", "diagnoses": "time, graph_version, rank",
		"events": "interval_start, graph_version, rank", "port_readings": "device, port, time", "intervals": "time, graph_version",
	} {
		var rows, distinct uint64
		query := fmt.Sprintf("SELECT count(), uniqExact(%s) FROM %s WHERE fabric = '%s'", keys, table, fabric)
		if err := db.conn.QueryRow(context.Background(), query).Scan(&rows, &distinct); err != nil {
			t.Fatal(err)
		}
		out[table] = [2]uint64{rows, distinct}
	}
	return out
}

// wantContents is what n intervals of someResult(_, _, 1000) leave behind.
func wantContents(n uint64) map[string][2]uint64 {
	out := map[string][2]uint64{}
	for table, perInterval := range map[string]uint64{"jobs": 2, "failures": 1, "job_traffic": 2, "diagnoses": 1, "mitigations": 1, "link_samples": 6, "regions": 2, "network_states": 2, "events": 2, "port_readings": 2, "intervals": 1} {
		out[table] = [2]uint64{n * perInterval, n * perInterval}
	}
	return out
}

// A revision is stored beside the one before, once, whichever process stores it.
func TestRevisionsAreStoredOnce(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	again := openDB(t, db.opts, DefaultConfig())
	for _, n := range []int64{1, 2, 1, 1, 2, 2} {
		for revision := range uint32(2) {
			for _, db := range []testDB{db, again} {
				r := someResult("bw", n, 1000)
				r.Revision = revision
				if err := db.Store(ctx, r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for table, want := range wantContents(2) {
		if got := contents(t, db, "bw")[table]; got[0] != 2*want[0] {
			t.Errorf("%s has %d rows, want %d of each revision", table, got[0], want[0])
		}
	}
}

func TestStoreTwiceIsOnce(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	again := openDB(t, db.opts, DefaultConfig())
	for _, n := range []int64{1, 2, 2, 1, 3} {
		for _, db := range []testDB{db, again} {
			if err := db.Store(ctx, someResult("bw", n, 1000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(wantContents(3), contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
	if n := count(db.metrics.intervals.WithLabelValues(resultAlready)); n != 2 {
		t.Errorf("%v intervals were there already, want 2", n)
	}
}

// Tokens are forgotten in time; what an interrupted Store left must then be
// found by looking.
func TestStoreGoesOnWhereItWasCutOffWithoutTokens(t *testing.T) {
	db, ctx := openDB(t, shared.Options("without_tokens"), DefaultConfig()), context.Background()
	if err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if err := db.conn.Exec(ctx, "ALTER TABLE "+table.name+" MODIFY SETTING non_replicated_deduplication_window = 0"); err != nil {
			t.Fatal(err)
		}
	}
	r := someResult("bw", 1, 1000)
	k := keyOf(r)
	for _, table := range tables[:3] {
		if err := db.insert(ctx, table.name, table.rowsOf(r, rowMeta{k, db.now()}, db.metrics), k, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := contents(t, db, "bw")[marker.name][0]; n != 0 {
		t.Error("half an interval is visible")
	}
	if err := db.Store(ctx, r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantContents(1), contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
}

func TestStoreInChunks(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	r := someResult("bw", 1, 1000)
	const ports = 130_000 // two counters of each, kept raw
	b := &schema.CounterBatch{Columns: []schema.CounterColumn{{Name: "x.a"}, {Name: "x.b"}}}
	for p := range uint32(ports) {
		b.Ports = append(b.Ports, schema.PortName{Device: fmt.Sprint(p), Port: "1"})
		b.PortIndex, b.TimeNanos = append(b.PortIndex, p), append(b.TimeNanos, minute)
		for c := range b.Columns {
			b.Columns[c].Values = append(b.Columns[c].Values, uint64(p))
		}
	}
	r.Raw = []*schema.CounterBatch{b}
	k, readings := keyOf(r), tables[4]
	rows := readings.rowsOf(r, rowMeta{k, db.now()}, db.metrics)
	if err := db.insert(ctx, readings.name, rows.slice(0, rowsPerInsert), k, 99); err != nil {
		t.Fatal(err)
	}
	if err := db.Store(ctx, r); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, db, "bw")["port_readings"]; got != [2]uint64{ports, ports} {
		t.Errorf("port_readings has %v rows and distinct rows, want %d", got, ports)
	}
}

func TestStoreRefusesWhatNoTableCanHold(t *testing.T) {
	db := openDB(t, testOptionsNowhere(), DefaultConfig())
	for want, spoil := range map[string]func(*schema.IntervalResult){
		"no snapshot":        func(r *schema.IntervalResult) { r.Snapshot = nil },
		"named fabric":       func(r *schema.IntervalResult) { r.Snapshot.Fabric = "" },
		"whole milliseconds": func(r *schema.IntervalResult) { r.Snapshot.Interval.StartNanos++ },
		"each metric once":   func(r *schema.IntervalResult) { r.Snapshot.Series[1].Metric = r.Snapshot.Series[0].Metric },
		"values":             func(r *schema.IntervalResult) { r.Snapshot.Series[0].Values = nil },
		"validity bits":      func(r *schema.IntervalResult) { r.Snapshot.Series[0].Valid = nil },
		"port index 7":       func(r *schema.IntervalResult) { r.Raw[0].PortIndex[1] = 7 },
		"for 2 rows":         func(r *schema.IntervalResult) { r.Raw[0].Columns[0].Values = nil },
	} {
		r := someResult("bw", 1, 100)
		spoil(r)
		if err := db.Store(context.Background(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestValuesThatNoColumnHoldsAreMissingAndCounted(t *testing.T) {
	db := openDB(t, testOptionsNowhere(), DefaultConfig())
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	s := schema.Series{Metric: schema.CreditStall, Values: []float32{nan, inf, -1, 656, 655.35, 0, -0.001, 0.004, 12.345}, Valid: schema.Bitmap{1<<9 - 1}}
	var got []int
	for _, p := range encodePercents(&s, db.metrics) {
		if p == nil {
			got = append(got, -1)
		} else {
			got = append(got, int(*p))
		}
	}
	if diff := cmp.Diff([]int{-1, -1, -1, -1, 65535, 0, 0, 0, 1235}, got); diff != "" {
		t.Error(diff)
	}
	s = schema.Series{Metric: schema.Throughput, Values: []float32{nan, inf, math.MaxFloat32, 0, -3e9}, Valid: schema.Bitmap{1<<5 - 1}}
	for i, p := range encodeRates(&s, db.metrics) {
		if missing := p == nil; missing != (i < 3) {
			t.Errorf("rate %v: missing is %v", s.Values[i], missing)
		}
	}
	for reason, want := range map[string]float64{reasonNotFinite: 5, reasonOutOfRange: 2} {
		if n := count(db.metrics.valuesDropped.WithLabelValues(reason)); n != want {
			t.Errorf("%v values dropped as %s, want %v", n, reason, want)
		}
	}
}

// Nothing was measured: the interval is still stored, or a restart would ask
// for it for ever.
func TestStoreAnEmptyInterval(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	snap := &schema.Snapshot{Fabric: "bw", GraphVersion: 1, Links: 600, Interval: schema.Interval{StartNanos: minute, DurationNanos: minute},
		Series: []schema.Series{{Metric: schema.InqStall, Values: make([]float32, 600), Valid: schema.NewBitmap(600)}}}
	if err := db.Store(ctx, &schema.IntervalResult{Snapshot: snap}); err != nil {
		t.Fatal(err)
	}
	snap.Series, snap.Interval = nil, snap.Interval.Next()
	if err := db.Store(ctx, &schema.IntervalResult{Snapshot: snap}); err != nil {
		t.Fatal(err)
	}
}

// An interval in which the graph changed is stored once per version.
func TestStoreTwoVersionsOfAnInterval(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	before, after := someResult("bw", 1, 1000), someResult("bw", 1, 1000)
	after.Snapshot.GraphVersion = 9
	for _, r := range []*schema.IntervalResult{before, after, before, after} {
		if err := db.Store(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	want := wantContents(2)
	want["port_readings"] = [2]uint64{4, 2} // the key is the reading's
	want["mitigations"] = [2]uint64{2, 1}   // and so on: none of these has a version
	want["jobs"], want["failures"], want["job_traffic"] = [2]uint64{4, 2}, [2]uint64{2, 1}, [2]uint64{4, 2}
	if diff := cmp.Diff(want, contents(t, db, "bw")); diff != "" {
		t.Error(diff)
	}
}

func TestNothingKeepsRunning(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("store", func(t *testing.T) {
		db := migratedDB(t)
		if err := db.Store(context.Background(), someResult("bw", 1, 1000)); err != nil {
			t.Fatal(err)
		}
	})
}

// A crash may cut a result off behind its jobs, and the one that is made again may
// carry more of them: none is lost, and none of those that came both times is there
// twice.
func TestFactsOfAResultThatWasCutOff(t *testing.T) {
	db, ctx := migratedDB(t), context.Background()
	first := someResult("bw", 1, 10)
	rows := facts[0].rowsOf(first, rowMeta{keyOf(first), db.now()}, db.metrics)
	for range 2 {
		if err := db.storeRows(ctx, "jobs", rows, keyOf(first).ofContent(rows), 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := row(t, db, "SELECT toString(count()) FROM jobs"); got != "2" {
		t.Errorf("the same jobs twice: %s rows", got)
	}
	again := someResult("bw", 1, 10)
	again.Jobs = append(again.Jobs, schema.Job{Fabric: "bw", ID: "19", Start: 1})
	if err := db.Store(ctx, again); err != nil {
		t.Fatal(err)
	}
	if got := row(t, db, "SELECT toString(arraySort(groupUniqArray(job_id))) FROM jobs"); got != "['17','18','19']" {
		t.Errorf("jobs %s", got)
	}
}

// A diagnosis that is no JSON costs itself alone.
func TestADiagnosisThatCannotBeStored(t *testing.T) {
	db := migratedDB(t)
	r := someResult("bw", 1, 10)
	r.Diagnoses = append(r.Diagnoses, r.Diagnoses[0])
	r.Diagnoses[0].Mean = math.NaN()
	r.Diagnoses[1].Region = 9
	if err := db.Store(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := row(t, db, "SELECT toString((region_id, rank)) FROM diagnoses"); got != "(9,0)" {
		t.Errorf("diagnoses %s", got)
	}
	if n := count(db.metrics.valuesDropped.WithLabelValues(reasonNotFinite)); n != 1 {
		t.Errorf("%v counted", n)
	}
}
