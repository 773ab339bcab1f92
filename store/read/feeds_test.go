//go:build engine || integration

package read

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
)

func at(seconds int64) schema.Instant { return schema.Instant(seconds * 1e9) }

// Jobs are read as they were last stored, by the time in which they ran.
func TestJobsBySpan(t *testing.T) {
	m := newModel(t)
	long := 61 * 24 * time.Hour // one that is not reported for so long counts as ended
	service := 100 + 2*int64(long.Seconds())
	r1, r2, r3 := someResult("bw", 1, 10), someResult("bw", 2, 10), someResult("bw", 3, 10)
	r1.Jobs = []schema.Job{{Fabric: "bw", ID: "1", Name: "<b>", User: "u", Nodes: []string{"a", "b"}, Start: at(60), State: "RUNNING"},
		{Fabric: "bw", ID: "2", Nodes: []string{"c"}, Start: at(70), End: at(80)}}
	r2.Jobs = []schema.Job{{Fabric: "bw", ID: "1", Name: "<b>", User: "u", Nodes: []string{"a", "b", "c"}, Start: at(60), End: at(130), State: "COMPLETED"},
		{Fabric: "bw", ID: "2", Nodes: []string{"d"}, Start: at(125)}} // requeued
	r3.Jobs = []schema.Job{{Fabric: "bw", ID: "lost", Start: at(90)}, {Fabric: "bw", ID: "service", Start: at(100), End: at(100) + schema.Instant(2*long)}}
	m.store(t, r1, r2, r3)
	other := someResult("other", 1, 10)
	other.Jobs = []schema.Job{{Fabric: "other", ID: "9", Start: at(60)}}
	m.store(t, other)
	for _, c := range []struct {
		from, to float64
		want     string
	}{
		{1, 9, fmt.Sprintf("1@60-130 2@70-80 lost@90-0 service@100-%d 2@125-0", service)},
		{0, 1, ""},
		{1, 1.05, "1@60-130"},
		{1.5, 2, fmt.Sprintf("1@60-130 lost@90-0 service@100-%d", service)}, // [90 s, 120 s)
		{2.2, 2.5, fmt.Sprintf("lost@90-0 service@100-%d 2@125-0", service)},
		{long.Minutes() + 1, long.Minutes() + 2, fmt.Sprintf("service@100-%d", service)},
		{2*long.Minutes() + 2, 2*long.Minutes() + 3, ""},
	} {
		jobs, err := m.Jobs(t.Context(), "bw", minutes(c.from, c.to))
		var got []string
		for _, j := range jobs {
			got = append(got, fmt.Sprintf("%s@%d-%d", j.ID, int64(j.Start)/1e9, int64(j.End)/1e9))
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("from %v to %v: %s, want %s; %v", c.from, c.to, got, c.want, err)
		}
	}
	jobs, err := m.NewestJobs(t.Context(), "bw", minutes(0, 9), 9, "1")
	if diff := cmp.Diff(r2.Jobs[:1], jobs); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if jobs, err := m.NewestJobs(t.Context(), "bw", minutes(0, 9), 1); err != nil || len(jobs) != 1 || jobs[0].Start != at(125) {
		t.Errorf("the newest: %+v, %v", jobs, err)
	}
}

// Jobs that run, or ended in a span, are found among those of two years, without grouping all of them; the result
// includes jobs that have run longer than a silent job is believed to.
func TestJobsOfYears(t *testing.T) {
	m := newModel(t)
	for i, ended := range []string{"toDateTime64(0, 9, 'UTC')", "begun + 3600"} {
		if err := m.conn.Exec(t.Context(), `INSERT INTO jobs (fabric, job_id, nodes, start, end, interval_start, graph_version, stored_at)
			SELECT 'bw', toString(number), ['a'], toDateTime64(600 * number, 9, 'UTC') AS begun, if(number = 100, begun + 80000 * 600, `+ended+`), begun, 1, now() + `+fmt.Sprint(i)+` FROM numbers(100000)`); err != nil {
			t.Fatal(err)
		}
	}
	from := at(600*79_999 + 1800)
	a := Args{"fabric": "bw", "from": int64(from), "to": int64(from) + 1, "oldest": int64(from) - int64(longestJob), "ids": []string{}, "limit": 1000}
	var found []struct {
		ID string `ch:"job_id"`
	}
	err := m.db.Select(t.Context(), store.Question{Name: "jobs", SQL: "SELECT job_id FROM (" + statement("jobs", scope{Args: a}) + ")", Parameters: a,
		Settings: map[string]any{"max_rows_to_group_by": 20_000, "group_by_overflow_mode": "throw"}}, &found) // 60 days have 8,640 jobs
	if err != nil || fmt.Sprint(found) != "[{100} {79997} {79998} {79999} {80000} {80001} {80002}]" {
		t.Errorf("found %v, %v", found, err)
	}
	found = nil
	a = inSpan("bw", Span{at(600 * 79_000), at(600 * 79_500)}).with("limit", 1000)
	err = m.db.Select(t.Context(), store.Question{Name: "exposed_jobs", SQL: "SELECT job_id FROM (" + statement("exposed_jobs", scope{Args: a}) + ")", Parameters: a}, &found)
	if err != nil || len(found) != 500 || found[0].ID != "78994" {
		t.Errorf("%d ended, %v", len(found), err)
	}
}

func TestFailuresAndTrafficBySpan(t *testing.T) {
	m := newModel(t)
	r1, r2 := someResult("bw", 1, 10), someResult("bw", 2, 10)
	failure := schema.Failure{Fabric: "bw", Time: at(67), Kind: schema.NodeFailed, Device: "n1", Detail: "'x'"}
	r1.Failures = []schema.Failure{failure}
	r2.Failures = []schema.Failure{failure, {Fabric: "bw", Time: at(121), Kind: schema.Throttled}} // the first one again
	r2.Mitigations = []schema.Mitigation{{Begin: at(121), End: at(121), Events: 1, Congestion: at(60), Before: 900, After: 80, Alleviated: true}}
	r1.Traffic = []schema.JobTraffic{{Fabric: "bw", JobID: "1", Time: at(60), Read: new(5.0), RDMAWrite: new(0.0)}}
	r2.Traffic = []schema.JobTraffic{{Fabric: "bw", JobID: "1", Time: at(60), Read: new(6.0)}, {Fabric: "bw", JobID: "1", Time: at(120)}}
	r2.Traffic = append(r2.Traffic, schema.JobTraffic{Fabric: "bw", JobID: "2", Time: at(120)})
	m.store(t, r1, r2)
	failures, err := m.Failures(t.Context(), "bw", minutes(0, 9))
	if diff := cmp.Diff(r2.Failures, failures); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if failures, err = m.Failures(t.Context(), "bw", minutes(2, 9)); err != nil || len(failures) != 1 {
		t.Errorf("from minute 2 on: %v, %v", failures, err)
	}
	traffic, err := m.JobTraffic(t.Context(), "bw", minutes(0, 9))
	if diff := cmp.Diff(r2.Traffic, traffic); err != nil || diff != "" {
		t.Error(err, diff)
	}
	traffic, err = m.JobTraffic(t.Context(), "bw", minutes(0, 9), "2", "3")
	if diff := cmp.Diff(r2.Traffic[2:], traffic); err != nil || diff != "" {
		t.Error(err, diff)
	}
	events, err := m.Events(t.Context(), "bw", minutes(0, 9), schema.NodeFailed, schema.Throttled)
	want := []schema.Event{{TimeNanos: int64(at(67)), Fabric: "bw", Kind: schema.NodeFailed, Device: "n1", Detail: "'x'"}, {TimeNanos: int64(at(121)), Fabric: "bw", Kind: schema.Throttled}}
	if diff := cmp.Diff(want, events); err != nil || diff != "" {
		t.Error("failures among the events:", err, diff)
	}
	mitigations, err := m.Figures("bw", minutes(0, 9)).Mitigations(t.Context(), MitigationWindow)
	if diff := cmp.Diff([]Mitigation{{at(121), at(121), 1, &Outcome{at(60), 900, 80, true}}}, mitigations); err != nil || diff != "" {
		t.Error("mitigations:", err, diff)
	}
}

// A diagnosis is read back completely, in its current revision.
func TestDiagnoses(t *testing.T) {
	m := newModel(t)
	for n := int64(1); n <= 3; n++ {
		m.store(t, someResult("bw", n, 10))
	}
	again := someResult("bw", 2, 10)
	again.Revision = 1
	again.Diagnoses[0].Cause.Class = schema.CauseUnknown
	again.Diagnoses[0].Jobs = []schema.AccusedJob{}
	again.Diagnoses = append(again.Diagnoses, again.Diagnoses[0])
	again.Diagnoses[1].Region = 7
	m.store(t, again)
	all, err := m.Diagnoses(t.Context(), "bw", minutes(0, 9), 0)
	want := slices.Concat(someResult("bw", 1, 10).Diagnoses, again.Diagnoses, someResult("bw", 3, 10).Diagnoses)
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if one, err := m.Diagnoses(t.Context(), "bw", minutes(2, 9), 7); err != nil || len(one) != 1 || one[0].Region != 7 {
		t.Errorf("of one region: %+v, %v", one, err)
	}
	if newest, err := m.NewestDiagnoses(t.Context(), "bw", minutes(0, 9), 0, 2); err != nil || !cmp.Equal(want[2:], newest) {
		t.Errorf("the newest two: %+v, %v", newest, err)
	}
	exposures, err := m.Exposures(t.Context(), "bw", minutes(0, 9), []string{"17", "18", "19"})
	wantExposures := []Exposure{{"17", someRegion, schema.High, at(60), at(180), 2, 0, .1 * 3},
		{"18", someRegion, schema.High, at(60), at(180), 0, 3, 0}, {"18", 7, schema.High, at(120), at(120), 0, 1, 0}}
	if diff := cmp.Diff(wantExposures, exposures, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if none, err := m.Exposures(t.Context(), "bw", minutes(0, 9), nil); err != nil || none != nil {
		t.Errorf("of no job: %v, %v", none, err)
	}
}

// What a region was in a replaced revision does not count.
func TestSevereRegionsOfTheRevisionInForce(t *testing.T) {
	m := newModel(t)
	first := someResult("bw", 1, 10)
	again := someResult("bw", 1, 10)
	again.Revision = 1
	for i := range again.Regions {
		again.Regions[i].Severity = schema.Negligible
	}
	m.store(t, first)
	severe := func() map[uint64]bool {
		found, err := m.SevereRegions(t.Context(), "bw", minutes(0, 9), schema.Low)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := severe(); len(found) == 0 {
		t.Fatal("no region to begin with")
	}
	m.store(t, again)
	if found := severe(); len(found) != 0 {
		t.Errorf("severe in a revision that is replaced: %v", found)
	}
}
