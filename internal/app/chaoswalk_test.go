//go:build integration

package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/chaos"
	"github.com/giverny/giverny/topology/topologytest"
)

// The walk's seed and length come from the environment, as `make chaos SEED=7 FOR=2h` sets them.
const (
	seedVariable   = "GIVERNY_CHAOS_SEED"
	lengthVariable = "GIVERNY_CHAOS_FOR"

	defaultSeed   = "7"
	waitTime      = 2 * time.Second // allowed_lateness of intervals of a second
	defaultLength = 60 * time.Second
	quietTime     = 20 * time.Second // readings after the last fault is healed
	settleTime    = 5 * time.Minute  // after which everything must be right
	settledTime   = 90 * time.Second // without a change, after which nothing more is expected
)

func walkOf(t *testing.T) (seed uint64, length time.Duration) {
	t.Helper()
	var err error
	if seed, err = strconv.ParseUint(cmp.Or(os.Getenv(seedVariable), defaultSeed), 10, 64); err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	if length, err = time.ParseDuration(cmp.Or(os.Getenv(lengthVariable), defaultLength.String())); err != nil {
		t.Fatalf("%s: %v", lengthVariable, err)
	}
	return seed, length
}

// A random walk over faults of every kind, on a whole cluster. Every reading that a collector passed on, to
// Kafka or the spool, must finally be in its interval, exactly, and nothing else may be there.
func TestChaosWalk(t *testing.T) {
	seed, length := walkOf(t)
	c := startCluster(t)
	steps := chaos.Plan(seed, c.kinds(), length)
	note := func(line string) { fmt.Println("chaos:", time.Now().UTC().Format("15:04:05.0"), line) }
	note(fmt.Sprintf("seed %d for %v, %d faults; files in %s", seed, length, len(steps), c.dir))
	c.awaitIntervals(t, 3)
	from := time.Now()
	if err := chaos.Run(t.Context(), steps, note); err != nil {
		t.Errorf("faults that could not be thrown or healed: %v", err)
	}
	time.Sleep(quietTime)
	report := c.settle(t, from, time.Now().Add(-5*time.Second), note)
	ours, others := c.stumbled()
	for _, s := range ours {
		t.Error(s)
	}
	for _, s := range others {
		note("without a fault of its own: " + strings.SplitN(s, "\n", 2)[0])
	}
	if len(report.Problems) > 0 {
		t.Errorf("seed %d: %v\nthe faults:\n%s", seed, report, lines(steps))
		c.keepLogs(t)
	}
	fmt.Printf("chaos: seed %d for %v: %d faults thrown (%s); %v\n", seed, length, len(steps), countsOf(steps), report)
}

func countsOf(steps []chaos.Step) string {
	counts := chaos.Counts(steps)
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s %d", kind, counts[kind]))
	}
	return strings.Join(list, ", ")
}

func lines(steps []chaos.Step) string {
	var s strings.Builder
	for _, step := range steps {
		fmt.Fprintln(&s, step)
	}
	return s.String()
}

// awaitIntervals waits until the cluster works.
func (c *cluster) awaitIntervals(t *testing.T, n int) {
	t.Helper()
	var last error
	if await.Holds(2*time.Minute, time.Second, func() bool {
		tables, err := c.tables(t.Context())
		last = err
		return err == nil && len(tables.Intervals) >= n
	}) {
		return
	}
	c.keepLogs(t)
	t.Fatalf("the cluster stores nothing: %v", last)
}

// settle repeats the check until everything is right or the time is over.
func (c *cluster) settle(t *testing.T, from, to time.Time, note func(string)) *chaos.Report {
	t.Helper()
	g := topologytest.Parse(t, clusterFabric, clusterTopology)
	fabric := config.DefaultFabric()
	rules := chaos.Rules{IntervalNanos: int64(time.Second), MaxGapNanos: int64(fabric.Analysis.Window.MaxGapIntervals) * int64(time.Second), MinCover: fabric.Analysis.Window.MinCoverOfInterval, WaitNanos: int64(waitTime),
		ClockNanos: int64(fabric.Analysis.Clocks.Tolerance(time.Second)), Truth: chaosTruth, Owner: owner(g),
		FromNanos: from.Truncate(time.Second).UnixNano(), ToNanos: to.Truncate(time.Second).UnixNano()}
	var report *chaos.Report
	state, changed := "", time.Now()
	for began := time.Now(); ; time.Sleep(3 * time.Second) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		history, err := c.history()
		if err != nil {
			t.Fatal(err)
		}
		tables, err := c.tables(ctx)
		cancel()
		if err == nil {
			report = chaos.Check(history, tables, rules)
			if len(report.Problems) == 0 {
				note(fmt.Sprintf("all is right %.0f s after the last fault", (time.Since(began) + quietTime).Seconds()))
				return report
			}
			err = fmt.Errorf("%v", report.Counts())
		}
		if err.Error() != state {
			state, changed = err.Error(), time.Now()
			note("not yet: " + state)
		}
		if time.Since(began) > settleTime || time.Since(changed) > settledTime {
			if report == nil {
				c.keepLogs(t)
				t.Fatal(err)
			}
			return report
		}
	}
}

// keepLogs shows the end of every part's log.
func (c *cluster) keepLogs(t *testing.T) {
	t.Helper()
	const most = 3000 // bytes of each
	for name := range c.parts {
		if text, err := os.ReadFile(filepath.Join(c.dir, name+".log")); err == nil {
			t.Logf("the end of %s's log:\n%s", name, text[max(0, len(text)-most):])
		}
	}
}
