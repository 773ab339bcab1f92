package analysis_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
)

func job(id string, start, end int64, nodes ...string) schema.Job {
	return schema.Job{Fabric: "f", ID: id, Start: schema.Instant(start * second), End: schema.Instant(end * second), Nodes: nodes}
}

func ids(jobs []schema.Job) string {
	var out []string
	for _, j := range jobs {
		out = append(out, fmt.Sprintf("%s/%d", j.ID, int64(j.End)/second))
	}
	return strings.Join(out, " ")
}

// polled is a core that has results ready from 10 s on, a second each.
func polled(t *testing.T) (core *analysis.Core, next func(untilSeconds int64) *schema.IntervalResult) {
	f := fabric{graph: newGraph(t, "torus:4x4")}
	core = newCore(t, f.graph)
	last := int64(9)
	return core, func(until int64) *schema.IntervalResult {
		for ; last < until; last++ {
			add(t, core, f.poll((last+1)*second, calm))
		}
		all := results(core, until*second)
		if len(all) != 1 {
			t.Fatalf("%d results up to %d s, want one", len(all), until)
		}
		return all[0]
	}
}

func TestJobsComeWithTheirInterval(t *testing.T) {
	core, next := polled(t)
	core.AddJobs([]schema.Job{job("late", 3, 0, "a"), job("b", 10, 0), job("a", 10, 0), job("later", 11, 0)}, 0)
	if newest := core.AddJobs([]schema.Job{job("a", 10, 0)}, 0); newest != 10*second {
		t.Errorf("what waits is new up to %d", newest)
	}
	if got := ids(next(11).Jobs); got != "late/0 a/0 b/0" {
		t.Errorf("first result: %s", got)
	}
	core.AddJobs([]schema.Job{job("a", 10, 0), job("b", 10, 12)}, 0) // once more, and changed
	if newest := core.AddJobs([]schema.Job{job("a", 10, 0)}, 0); newest != 0 {
		t.Errorf("a job that is known waits, up to %d", newest)
	}
	if got := ids(next(12).Jobs); got != "b/12 later/0" {
		t.Errorf("second result: %s", got)
	}
	core.AddJobs([]schema.Job{job("b", 10, 0), job("b", 10, 13), job("b", 10, 0)}, 0) // it has ended, and when is corrected
	if got := ids(next(13).Jobs); got != "b/13" {
		t.Errorf("third result: %s", got)
	}
	core.AddJobs([]schema.Job{job("b", 13, 0)}, 0) // requeued under its id
	if got := ids(next(14).Jobs); got != "b/0" {
		t.Errorf("fourth result: %s", got)
	}
}

func TestFailuresAndTrafficComeOnce(t *testing.T) {
	core, next := polled(t)
	bytes, more := 5.0, 6.0
	failure := schema.Failure{Fabric: "f", Time: schema.Instant(10 * second), Kind: schema.LinkFailed, Device: "0,0", Port: "X+"}
	traffic := schema.JobTraffic{Fabric: "f", JobID: "1", Time: schema.Instant(10 * second), Read: &bytes}
	same := traffic
	same.Read = new(bytes)
	for range 2 {
		core.AddFailures([]schema.Failure{failure}, 0)
		core.AddTraffic([]schema.JobTraffic{traffic, same}, 0)
	}
	r := next(11)
	if diff := cmp.Diff([]schema.Failure{failure}, r.Failures) + cmp.Diff([]schema.JobTraffic{traffic}, r.Traffic); diff != "" {
		t.Error(diff)
	}
	corrected := traffic
	corrected.Read = &more
	core.AddFailures([]schema.Failure{failure}, 0)
	core.AddTraffic([]schema.JobTraffic{same, corrected}, 0)
	r = next(12)
	if len(r.Failures) != 0 || !cmp.Equal([]schema.JobTraffic{corrected}, r.Traffic) {
		t.Errorf("again: %v, %v", r.Failures, r.Traffic)
	}
}

// What cannot be used is counted by reason, and the reasons are there from the start.
func TestRefusedRowsOfFeeds(t *testing.T) {
	core, next := polled(t)
	for _, reason := range []string{"jobs_full", "jobs_future", "jobs_not_started", "failures_full", "failures_future", "traffic_full", "traffic_future"} {
		if n, ok := core.Drops()[reason]; n != 0 || !ok {
			t.Errorf("%s: %d, %v", reason, n, ok)
		}
	}
	sent := 10 * second
	ahead := 10 + int64(time.Hour/time.Second) + 1
	core.AddJobs([]schema.Job{job("ahead", ahead, 0), job("waits", 0, 0), job("now", 10, 0)}, sent)
	core.AddFailures([]schema.Failure{{Fabric: "f", Time: schema.Instant(ahead * second), Kind: schema.NodeFailed}}, sent)
	core.AddTraffic([]schema.JobTraffic{{Fabric: "f", JobID: "1", Time: schema.Instant(ahead * second)}}, sent)
	machine := make([]string, 1<<20)
	for i := range 5 {
		core.AddJobs([]schema.Job{job(fmt.Sprint("large", i), 12, 0, machine...)}, sent)
	}
	var flood []schema.Failure
	for i := range 1<<17 + 3 {
		flood = append(flood, schema.Failure{Fabric: "f", Time: schema.Instant(12*second + int64(i)), Kind: schema.NodeFailed})
	}
	core.AddFailures(flood, sent)
	r := next(11)
	want := map[string]uint64{"jobs_future": 1, "jobs_not_started": 1, "jobs_full": 1, "failures_future": 1, "failures_full": 3, "traffic_future": 1}
	for reason, n := range want {
		if r.Dropped[reason] != n {
			t.Errorf("%s: %d, want %d", reason, r.Dropped[reason], n)
		}
	}
	if got := ids(r.Jobs); got != "now/0" {
		t.Errorf("jobs: %s", got)
	}
}

// What an earlier process stored does not come again, but what it did not know does.
func TestRecalledFeeds(t *testing.T) {
	core, next := polled(t)
	read := 5.0
	known := analysis.Feeds{Jobs: []schema.Job{job("runs", 2, 0, "a"), job("ended", 3, 9)},
		Failures: []schema.Failure{{Fabric: "f", Time: schema.Instant(9 * second), Kind: schema.LinkFailed, Device: "0,0", Port: "X+"}},
		Traffic:  []schema.JobTraffic{{Fabric: "f", JobID: "runs", Time: schema.Instant(9 * second), Read: &read}}}
	core.Recall(known)
	core.AddJobs([]schema.Job{job("runs", 2, 0, "a"), job("ended", 3, 0), job("fresh", 9, 0)}, 0)
	core.AddFailures(known.Failures, 0)
	core.AddTraffic(known.Traffic, 0)
	r := next(11)
	if got := ids(r.Jobs); got != "fresh/0" || len(r.Failures) != 0 || len(r.Traffic) != 0 {
		t.Errorf("jobs %s, failures %v, traffic %v", got, r.Failures, r.Traffic)
	}
	core.AddJobs([]schema.Job{job("runs", 2, 11, "a")}, 0)
	if got := ids(next(12).Jobs); got != "runs/11" {
		t.Errorf("its end: %s", got)
	}
}

// It makes no difference in which order rows come, or how often.
func TestOrderOfFeedsDoesNotMatter(t *testing.T) {
	var rows []schema.Job
	for i := range 40 {
		rows = append(rows, job(fmt.Sprint("j", i%20), 5+int64(i%7), 0, "n"))
	}
	want := ""
	for seed := range uint64(20) {
		core, next := polled(t)
		shuffled := append(slices.Clone(rows), rows...)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(a, b int) { shuffled[a], shuffled[b] = shuffled[b], shuffled[a] })
		for _, j := range shuffled {
			core.AddJobs([]schema.Job{j}, 0)
		}
		got := ids(next(11).Jobs) + "; " + ids(next(12).Jobs)
		if want == "" {
			want = got
		}
		if got != want || len(got) < 100 {
			t.Fatalf("seed %d: %s\nwant %s", seed, got, want)
		}
	}
}
