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

// polled returns a core that has results ready from 10 s on, one for each second.
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
	core.AddJobs([]schema.Job{job("b", 10, 0), job("b", 10, 13), job("b", 10, 0)}, 0) // it has ended, and its end is corrected
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

// Rows that cannot be used are counted by reason; each reason has a count from the start.
func TestRefusedRowsOfFeeds(t *testing.T) {
	core, next := polled(t)
	for _, reason := range []string{"events_full", "events_future", "jobs_full", "jobs_future", "jobs_not_started", "failures_full", "failures_future", "traffic_full", "traffic_future"} {
		if n, ok := core.Drops()[reason]; n != 0 || !ok {
			t.Errorf("%s: %d, %v", reason, n, ok)
		}
	}
	sent := 10 * second
	ahead := 10 + int64(time.Hour/time.Second) + 1
	core.AddJobs([]schema.Job{job("ahead", ahead, 0), job("waits", 0, 0), job("now", 10, 0)}, sent)
	if newest := core.AddEvents([]schema.Event{event(ahead*second, "ahead"), event(9*second, "now")}, sent); newest != 9*second {
		t.Errorf("waits for an event of %d", newest)
	}
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
	for i := range 1<<17 + 2 { // one waits already
		core.AddEvents([]schema.Event{event(12*second+int64(i), "flood")}, sent)
	}
	r := next(11)
	want := map[string]uint64{"events_future": 1, "events_full": 3, "jobs_future": 1, "jobs_not_started": 1, "jobs_full": 1, "failures_future": 1, "failures_full": 3, "traffic_future": 1}
	for reason, n := range want {
		if r.Dropped[reason] != n {
			t.Errorf("%s: %d, want %d", reason, r.Dropped[reason], n)
		}
	}
	if got := ids(r.Jobs); got != "now/0" {
		t.Errorf("jobs: %s", got)
	}
}

// What an earlier process stored does not appear again; what it did not know does.
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

// The order in which rows come, and how often, makes no difference.
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

// congested is a fabric on which one job runs for long and another does not; from 25 s
// on the links of the first stall, while its traffic rises.
func congested(t *testing.T) (f *fabric, percent func(s int64) func(schema.LinkID) uint64, jobs []schema.Job, traffic func(s int64) []schema.JobTraffic) {
	f = &fabric{graph: newGraph(t, "torus:6x6x6")}
	g := f.graph
	hot := map[schema.LinkID]bool{}
	for l := range schema.LinkID(g.NumLinks()) {
		a, b := g.Device(g.Link(l).From).Coord, g.Device(g.Link(l).To).Coord
		hot[l] = a[0] < 3 && b[0] < 3 && a[1] < 3 && b[1] < 3 && a[2] < 3 && b[2] < 3
	}
	inside := func(low, high int) (nodes []string) {
		for x := low; x < high; x++ {
			for y := low; y < high; y++ {
				for z := low; z < high; z++ {
					nodes = append(nodes, fmt.Sprintf("%d,%d,%d", x, y, z))
				}
			}
		}
		return nodes
	}
	jobs = []schema.Job{job("culprit", 2, 0, inside(0, 3)...), job("other", 3, 0, inside(3, 6)...)}
	percent = func(s int64) func(schema.LinkID) uint64 {
		return func(l schema.LinkID) uint64 {
			if s >= 25 && hot[l] {
				return 45
			}
			return 0
		}
	}
	traffic = func(s int64) []schema.JobTraffic {
		load := 1e9
		if s >= 25 {
			load = 4e11
		}
		at := schema.Instant(s * second)
		return []schema.JobTraffic{{Fabric: "f", JobID: "culprit", Time: at, RDMAWrite: &load}, {Fabric: "f", JobID: "other", Time: at, RDMAWrite: new(1e9)}}
	}
	return f, percent, jobs, traffic
}

func accusedIn(r *schema.IntervalResult) string {
	for _, d := range r.Diagnoses {
		if len(d.Jobs) > 0 {
			return string(d.Cause.Class) + " " + d.Jobs[0].JobID
		}
	}
	return ""
}

// A new process that has no state of the diagnosis, as after an upgrade, knows the jobs
// that began long before it, and says why a region is congested as the old one did.
func TestADiagnosisAfterARestartKnowsOldJobs(t *testing.T) {
	f, percent, jobs, traffic := congested(t)
	whole := newCore(t, f.graph)
	whole.AddJobs(jobs, 0)
	var batches []*schema.CounterBatch
	for s := int64(10); s <= 40; s++ {
		batches = append(batches, f.poll((s+1)*second, percent(s)))
		whole.AddTraffic(traffic(s), 0)
	}
	add(t, whole, batches...)
	all := results(whole, 41*second)
	want := accusedIn(all[len(all)-1])
	if !strings.HasSuffix(want, " culprit") {
		t.Fatalf("the verdict is %q", want)
	}
	const stored = 20
	var since []analysis.Interval
	recalled := analysis.Feeds{Jobs: jobs}
	for _, r := range all[:stored] {
		since = append(since, analysis.Interval{Interval: r.Snapshot.Interval, Regions: r.Regions, Snapshot: r.Snapshot})
		recalled.Traffic = append(recalled.Traffic, r.Traffic...)
	}
	for name, keep := range map[string]func(schema.StageState) bool{
		"all states":             func(schema.StageState) bool { return true },
		"without that of causes": func(s schema.StageState) bool { return s.Stage != "diagnose" },
		"without any":            nil,
	} {
		core, resumed := newCore(t, f.graph), since
		if keep != nil {
			first := 0
			for i, r := range all[:stored] {
				if r.Saved != nil {
					first = i
				}
			}
			states := slices.DeleteFunc(slices.Clone(all[first].Saved), func(s schema.StageState) bool { return !keep(s) })
			if err := core.Load(all[first].Snapshot.Interval, states); err != nil {
				t.Fatal(err)
			}
			resumed = since[first:]
		}
		core.Recall(recalled)
		if err := core.Resume(resumed); err != nil {
			t.Fatal(err)
		}
		for s := int64(10); s <= 40; s++ {
			core.AddTraffic(traffic(s), 0)
		}
		core.AddJobs(jobs, 0) // read again
		add(t, core, batches...)
		again := results(core, 41*second)
		if len(again) != len(all)-stored || len(again[0].Jobs) > 0 {
			t.Fatalf("%s: %d results, jobs %s", name, len(again), ids(again[0].Jobs))
		}
		if got := accusedIn(again[len(again)-1]); got != want {
			t.Errorf("%s: the verdict is %q, want %q", name, got, want)
		}
	}
}

// BenchmarkAddJobsAgain is a feed that sends all of a machine's jobs every ten
// seconds: 200 jobs of 10,000 nodes each.
func BenchmarkAddJobsAgain(b *testing.B) {
	core := newCore(b, newGraph(b, "torus:4x4"))
	nodes := make([]string, 10_000)
	for i := range nodes {
		nodes[i] = fmt.Sprintf("nid%05d", i)
	}
	var jobs []schema.Job
	for i := range 200 {
		jobs = append(jobs, job(fmt.Sprint(i), 10, 0, nodes...))
	}
	core.AddJobs(jobs, 0)
	b.ReportAllocs()
	for b.Loop() {
		core.AddJobs(jobs, 0)
	}
}
