package jobs_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/schema"
)

func newTracker(maxAge time.Duration, maxJobs int) *jobs.Tracker {
	return jobs.NewTracker(jobs.Limits{MaxAge: maxAge, MaxJobs: maxJobs}, 5*time.Minute)
}

// step gives the tracker a list at a time of day and returns the changes as text.
func step(t *testing.T, tracker *jobs.Tracker, clock string, complete bool, rows ...jobs.Row) (changed []string) {
	t.Helper()
	tracker.Update(&jobs.List{Rows: rows, Complete: complete}, at(clock).Time())
	all, more := tracker.Take(1000)
	if more {
		t.Error("more than 1000 changes")
	}
	for _, j := range all {
		end := "runs"
		if j.End != 0 {
			end = j.End.Time().Format("15:04")
		}
		changed = append(changed, fmt.Sprintf("%s %s-%s %s %v", j.ID, j.Start.Time().Format("15:04"), end, j.State, j.Nodes))
	}
	return changed
}

func TestTracker(t *testing.T) {
	tracker := newTracker(2*time.Hour, 10)
	run := func(id, start string) jobs.Row { return row(id, "", "", "RUNNING", start, "", jobs.Running, "n1") }
	for _, c := range []struct {
		what     string
		clock    string
		complete bool
		rows     []jobs.Row
		want     []string
	}{
		{"begin", "01:00", true, []jobs.Row{run("1", "00:30"), run("2", "00:50"), run("3", "00:59"), row("9", "", "", "PENDING", "", "", jobs.Waiting)},
			[]string{"1 00:30-runs RUNNING [n1]", "2 00:50-runs RUNNING [n1]", "3 00:59-runs RUNNING [n1]"}},
		{"nothing new", "01:01", true, []jobs.Row{run("1", "00:30"), run("2", "00:50"), run("3", "00:59")}, nil},
		{"one left the queue", "01:02", true, []jobs.Row{run("1", "00:30"), run("2", "00:50")}, []string{"3 00:59-01:02 left the queue [n1]"}},
		{"its end comes late, without nodes", "01:03", true, []jobs.Row{run("1", "00:30"), run("2", "00:50"), row("3", "", "", "COMPLETED", "00:59", "01:01", jobs.Ended)},
			[]string{"3 00:59-01:01 COMPLETED [n1]"}},
		{"the scheduler did not answer in full", "01:04", false, []jobs.Row{run("1", "00:30")}, nil},
		{"requeued: a new start of the same id", "01:05", true, []jobs.Row{run("1", "00:30"), run("2", "01:04")},
			[]string{"2 01:04-runs RUNNING [n1]", "2 00:50-01:04 requeued or resized [n1]"}},
		{"never ends: too old", "02:31", true, []jobs.Row{run("1", "00:30"), run("2", "01:04")}, []string{"1 00:30-02:30 exceeds max_age [n1]"}},
		{"that is said once", "02:32", true, []jobs.Row{run("1", "00:30"), run("2", "01:04")}, nil},
		{"its true end comes after all", "02:40", true, []jobs.Row{row("1", "", "", "TIMEOUT", "00:30", "02:39", jobs.Ended, "n1"), run("2", "01:04")},
			[]string{"1 00:30-02:39 TIMEOUT [n1]"}},
		{"comes back after it had left", "02:41", true, nil, []string{"2 01:04-02:41 left the queue [n1]"}},
		{"back", "02:42", true, []jobs.Row{run("2", "01:04")}, []string{"2 01:04-runs RUNNING [n1]"}},
		{"elements of an array are jobs of their own", "02:43", true, []jobs.Row{run("2", "01:04"), run("7_1", "02:43"), run("7_2", "02:43")},
			[]string{"7_1 02:43-runs RUNNING [n1]", "7_2 02:43-runs RUNNING [n1]"}},
		{"requeued, in a file that still has the earlier run without its end", "02:45", false, []jobs.Row{run("7_2", "02:43"), run("7_2", "02:44")},
			[]string{"7_2 02:44-runs RUNNING [n1]", "7_2 02:43-02:44 requeued or resized [n1]"}},
		{"read again", "02:46", false, []jobs.Row{run("7_2", "02:43"), run("7_2", "02:44")}, nil},
	} {
		if diff := cmp.Diff(c.want, step(t, tracker, c.clock, c.complete, c.rows...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

// With more jobs than the limit, ended ones make room, and the rest is counted.
func TestTrackerIsBounded(t *testing.T) {
	tracker := newTracker(0, 100)
	var rows []jobs.Row
	for i := range 150 {
		rows = append(rows, row(fmt.Sprint(i), "", "", "COMPLETED", "00:30", "00:31", jobs.Ended, "n1"))
	}
	list := jobs.List{Rows: rows}
	if tracker.Update(&list, at("01:00").Time()); list.Dropped[feeds.TooMany] != 50 {
		t.Errorf("dropped %v, want 50", list.Dropped)
	}
	list = jobs.List{Rows: []jobs.Row{row("new", "", "", "RUNNING", "01:00", "", jobs.Running, "n1")}}
	if tracker.Update(&list, at("01:01").Time()); len(list.Dropped) != 0 {
		t.Errorf("jobs that ended made no room: %v", list.Dropped)
	}
	var taken int
	for more := true; more; {
		var part []schema.Job
		part, more = tracker.Take(30)
		taken += len(part)
	}
	if taken != 101 {
		t.Errorf("%d changes, want 101", taken)
	}
}

// For any lists, complete or partial: the last change of each job matches its last listing.
func TestTrackerAgainstNaive(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 7))
		tracker := newTracker(0, 1000)
		said := map[string]schema.Job{}
		var last []jobs.Row
		for minute := range 30 {
			last = last[:0]
			for i := range 8 {
				if random.IntN(3) == 0 {
					continue
				}
				r := row(fmt.Sprint(i), "", "", "RUNNING", "00:10", "", jobs.Running, "n1")
				r.Job.Start += schema.Instant(random.IntN(3)) * 60e9
				if random.IntN(4) == 0 {
					r.Phase, r.Job.End, r.Job.State = jobs.Ended, r.Job.Start+1, "COMPLETED"
				}
				last = append(last, r)
			}
			tracker.Update(&jobs.List{Rows: last, Complete: true}, at("01:00").Time().Add(time.Duration(minute)*time.Minute))
			for more := true; more; {
				var part []schema.Job
				part, more = tracker.Take(1 + random.IntN(5))
				for _, j := range part {
					said[fmt.Sprintf("%s@%d", j.ID, j.Start)] = j
				}
			}
		}
		listed := map[string]bool{}
		for _, r := range last {
			k := fmt.Sprintf("%s@%d", r.Job.ID, r.Job.Start)
			listed[k] = true
			if diff := cmp.Diff(r.Job, said[k]); diff != "" {
				t.Fatalf("seed %d: job %s (-listed +said):\n%s", seed, k, diff)
			}
		}
		for k, j := range said {
			if !listed[k] && j.End == 0 {
				t.Fatalf("seed %d: job %s is not listed and has no end", seed, k)
			}
		}
	}
}

// With a clock that is ahead, the scheduler's or this host's behind it: jobs in the future are withheld, and all are
// reported once their time has come or the clock is corrected.
func TestTrackerWaitsForTimesAhead(t *testing.T) {
	tracker := newTracker(0, 10)
	step(t, tracker, "01:00", true, row("1", "", "", "RUNNING", "00:30", "", jobs.Running, "n1"))
	ahead := []jobs.Row{row("1", "", "", "COMPLETED", "00:30", "02:01", jobs.Ended, "n1"), row("2", "", "", "RUNNING", "02:01", "", jobs.Running, "n2")}
	for range 2 { // at every list, so that the feed's state persists
		list := jobs.List{Rows: ahead, Complete: true}
		tracker.Update(&list, at("01:01").Time())
		if changed, _ := tracker.Take(10); len(changed) != 0 || list.Dropped[feeds.Future] != 2 || len(list.Faults) != 2 {
			t.Fatalf("said %v, dropped %v: %v", changed, list.Dropped, list.Faults)
		}
	}
	want(t, "the clock is right", step(t, tracker, "02:02", true, ahead...), "1 00:30-02:01 COMPLETED [n1]", "2 02:01-runs RUNNING [n2]")
}

// A job that is new in a list but claims to have started long before the last one: the scheduler's clock is behind.
func TestTrackerDoubtsLateStarts(t *testing.T) {
	running := func(id, start string) jobs.Row { return row(id, "", "", "RUNNING", start, "", jobs.Running, "n1") }
	tracker := newTracker(0, 10)
	for _, c := range []struct {
		what, clock string
		prompt      bool
		rows        []jobs.Row
		doubts      int
	}{
		{"the first list", "01:00", true, []jobs.Row{running("1", "00:01")}, 0},
		{"a clock that is behind by little", "01:01", true, []jobs.Row{running("1", "00:01"), running("2", "00:57")}, 0},
		{"by an hour", "01:02", true, []jobs.Row{running("1", "00:01"), running("2", "00:57"), running("3", "00:02")}, 1},
		{"said once", "01:03", true, []jobs.Row{running("1", "00:01"), running("2", "00:57"), running("3", "00:02")}, 0},
		{"it ended before it was seen", "01:04", true, []jobs.Row{row("4", "", "", "COMPLETED", "00:03", "00:04", jobs.Ended, "n1")}, 0},
		{"a file that others write at their leisure", "01:05", false, []jobs.Row{running("5", "00:05")}, 0},
	} {
		list := jobs.List{Rows: c.rows, Prompt: c.prompt}
		if tracker.Update(&list, at(c.clock).Time()); len(list.Doubts) != c.doubts {
			t.Errorf("%s: %v, want %d", c.what, list.Doubts, c.doubts)
		}
	}
	if changed, _ := tracker.Take(10); len(changed) != 5 {
		t.Errorf("%d jobs, want 5: a job that is doubted is used", len(changed))
	}
}

// The nodes of all remembered jobs are bounded too: ended jobs make room, running ones are counted.
func TestTrackerBoundsNodes(t *testing.T) {
	tracker := newTracker(0, 100)
	nodes := make([]string, jobs.MaxNodes/2)
	day := func(clock string, rows ...jobs.Row) map[string]uint64 {
		list := jobs.List{Rows: rows}
		tracker.Update(&list, at(clock).Time())
		return list.Dropped
	}
	ended := func(id string) jobs.Row {
		return row(id, "", "", "COMPLETED", "00:30", "00:31", jobs.Ended, nodes...)
	}
	running := func(id string, nodes ...string) jobs.Row {
		return row(id, "", "", "RUNNING", "00:30", "", jobs.Running, nodes...)
	}
	for i, clock := range []string{"01:00", "01:01", "01:02", "01:03", "01:04"} {
		if dropped := day(clock, ended(fmt.Sprint(i))); len(dropped) != 0 {
			t.Errorf("%s: jobs that ended made no room: %v", clock, dropped)
		}
	}
	day("02:00", running("a", nodes...))
	day("02:01", running("b", nodes...))
	if dropped := day("02:02", running("c", "n1")); dropped[feeds.TooMany] != 1 {
		t.Errorf("dropped %v, want one job that is too many", dropped)
	}
	if dropped := day("02:03", running("b", "n1"), running("c", "n1")); len(dropped) != 0 {
		t.Errorf("a job that became smaller made no room: %v", dropped)
	}
}

// What is remembered of a job does not keep the text that it was read from.
func TestJobsKeepOnlyTheirNames(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, kept := heap(), []jobs.List{}
	for i := range 32 {
		for _, text := range []string{
			fmt.Sprintf(`{"job_id":"%d","name":"%s","nodes":["n1"],"start":"2026-01-05T00:30:00Z"}`, i, long),
			fmt.Sprintf(`{"job_id":"%d%s","nodes":["n1"],"start":"2026-01-05T00:30:00Z"}`, i, long),
			fmt.Sprintf("job_id,name,user,nodes,start,comment\n%d,job,user,n1,2026-01-05T00:30:00Z,%s\n", i, long),
		} {
			list, err := jobs.Read(strings.NewReader(text), "jobs", jobs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for reason := range list.Dropped {
				if reason != feeds.Unsendable {
					t.Errorf("%.60s: dropped as %s", text, reason)
				}
			}
			kept = append(kept, jobs.List{Rows: list.Rows})
		}
	}
	if grown := int64(heap()) - int64(before); grown > 16<<20 {
		t.Errorf("%d lists keep %d MiB", len(kept), grown>>20)
	}
	runtime.KeepAlive(kept)
}
