package store

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/storetest"
)

const minute = int64(60e9)

// someResult returns a result with something for every table, the same for the
// same arguments.
func someResult(fabric string, n int64, links int) *schema.IntervalResult {
	r := storetest.Result(fabric, 1<<63+5, n, links)
	r.Transitions = []schema.Transition{{Metric: schema.CreditStall, From: 3, To: 3}, {Metric: schema.InqStall, From: schema.Gone, To: 1}, {Metric: schema.CreditStall, From: 3, To: 3}}
	r.Episodes = []schema.HotEpisode{{Metric: schema.InqStall, ThresholdPercent: 5, Intervals: n}, {Metric: schema.CreditStall, ThresholdPercent: 12.5, Intervals: 1}}
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

// A token is what recognises a repeated insert, also of another version of Giverny.
func TestTokens(t *testing.T) {
	k := key{fabric: "bw", start: time.UnixMilli(60_000), version: 0xab}
	for want, change := range map[string]func(*key){
		"jobs/bw/60000/ab/3":              func(*key) {},
		"jobs/bw/60000/ab/3/r2":           func(k *key) { k.revision = 2 },
		"jobs/bw/60000/ab/3/cff":          func(k *key) { k.content = 0xff },
		"jobs/bw/60000/ab/3/again1":       func(k *key) { k.repeat = 1 },
		"jobs/bw/60000/ab/3/r1/c1/again2": func(k *key) { k.revision, k.content, k.repeat = 1, 1, 2 },
	} {
		twin := k
		change(&twin)
		if got := twin.token("jobs", 3); got != want {
			t.Errorf("token %s, want %s", got, want)
		}
	}
}
