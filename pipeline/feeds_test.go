package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/schema"
)

// jobLog is a topic of jobs: record i is there from the test's second sent[i] on.
type jobLog struct {
	began   time.Time
	records []schema.Job
	sent    []int

	mu        sync.Mutex
	committed int // records
}

func (l *jobLog) Name() string { return "jobs" }

func (l *jobLog) Commit(_ context.Context, offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.committed = max(l.committed, int(offset)+1)
	return nil
}

func (l *jobLog) Run(ctx context.Context, in *Intake) error {
	l.mu.Lock()
	next := l.committed
	l.mu.Unlock()
	for ; next < len(l.records) && ctx.Err() == nil; time.Sleep(time.Second / 4) {
		for next < len(l.records) && time.Since(l.began) >= time.Duration(l.sent[next])*time.Second {
			if err := in.Jobs(l, l.records[next:next+1], int64(next), 0); err != nil {
				return err
			}
			next++
		}
	}
	<-ctx.Done()
	return nil
}

func jobAt(id string, start, end int) schema.Job {
	j := schema.Job{Fabric: "f", ID: id, Start: schema.Instant(epoch + int64(start)*second), Nodes: []string{"0,0,0"}}
	if end > 0 {
		j.End = schema.Instant(epoch + int64(end)*second)
	}
	return j
}

// said lists the jobs in all results, each as often as it was stored.
func said(results []*schema.IntervalResult) string {
	var all []string
	for _, r := range results {
		for _, j := range r.Jobs {
			end := ""
			if j.End != 0 {
				end = fmt.Sprint("-", (int64(j.End)-epoch)/second)
			}
			all = append(all, fmt.Sprintf("%s@%d%s", j.ID, (r.Snapshot.Interval.StartNanos-epoch)/second, end))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Rows that wait for their interval when a process ends are read again by the next
// one; rows that were stored are read again too, but not stored again.
func TestJobsSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		log := &jobLog{began: time.Now(), records: []schema.Job{jobAt("old", -500, 0), jobAt("ahead", 55, 0), jobAt("now", 6, 0), jobAt("now", 6, 12), jobAt("after", 33, 0), jobAt("old", -500, 52)},
			sent: []int{0, 1, 8, 14, 33, 52}}
		src := &polls{graph: g}
		sources := func() []Source { return []Source{src, log} }
		runFor(t, 20*time.Second, r.fabric(t, g, sources))
		if log.committed != 1 {
			t.Errorf("%d records committed while one waits, want those before it", log.committed)
		}
		runFor(t, 30*time.Second, r.fabric(t, g, sources))
		runFor(t, 30*time.Second, r.fabric(t, g, sources))
		got := said(r.store.stored("f"))
		for _, want := range []string{"ahead@55", "after@"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%s is there %d times: %s", want, strings.Count(got, want), got)
			}
		}
		if n := strings.Count(got, "now@"); n != 2 || strings.Count(got, "-12") != 1 {
			t.Errorf("job now and its end: %s", got)
		}
		if n := strings.Count(got, "old@"); n != 2 || strings.Count(got, "-52") != 1 {
			t.Errorf("job old and its end: %s", got)
		}
		if log.committed != len(log.records) {
			t.Errorf("%d of %d records committed", log.committed, len(log.records))
		}
	})
}

// A flood of jobs, and rows that cannot be used, do no harm to the intervals.
func TestAFloodOfJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		log := &jobLog{began: time.Now()}
		for i := range 10_000 {
			log.records, log.sent = append(log.records, jobAt(fmt.Sprint("j", i), 5+i%5, 0)), append(log.sent, 5)
		}
		f := r.fabric(t, g, func() []Source { return []Source{&polls{graph: g}, log} })
		runFor(t, 30*time.Second, f)
		stored := r.store.stored("f")
		if n := strings.Count(said(stored), "@"); n != 10_000 || len(stored) < 25 || len(gaps(startsOf(stored))) > 0 {
			t.Errorf("%d jobs in %d intervals, missing %v", n, len(stored), gaps(startsOf(stored)))
		}
	})
}

// Rows of another fabric are refused, and nothing else; the reasons are metrics.
func TestFeedsOfAnotherFabric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := newRig(), graphOf(t, "f", "torus:4x4x4")
		src := &polls{graph: g}
		var errs []error
		src.before = func(n int) error {
			in := src.intake
			if n != 3 {
				return nil
			}
			foreign := jobAt("x", 1, 0)
			foreign.Fabric = "g"
			errs = append(errs, in.Jobs(src, []schema.Job{jobAt("own", 1, 0), foreign}, NoOffset, 0),
				in.Failures(src, []schema.Failure{{Fabric: "g", Kind: schema.NodeFailed}}, NoOffset, 0),
				in.Traffic(src, []schema.JobTraffic{{Fabric: "g", JobID: "1"}}, NoOffset, 0),
				in.Jobs(src, []schema.Job{jobAt("waits", -1_000_000, 0)}, NoOffset, 0))
			return nil
		}
		f := r.fabric(t, g, one(src))
		runFor(t, 15*time.Second, f)
		foreign := func(err error) bool {
			return err != nil && strings.Contains(err.Error(), `row for fabric "g": wrong fabric`)
		}
		if len(errs) != 4 || !foreign(errs[0]) || !foreign(errs[1]) || !foreign(errs[2]) || errs[3] != nil {
			t.Errorf("%v", errs)
		}
		if got := said(r.store.stored("f")); got != "" {
			t.Errorf("stored: %s", got)
		}
		if n := testutil.ToFloat64(r.metrics.dropped.WithLabelValues("f", "jobs_not_started")); n != 1 {
			t.Errorf("%v counted", n)
		}
		if len(r.store.stored("f")) < 10 {
			t.Errorf("%d intervals", len(r.store.stored("f")))
		}
	})
}
