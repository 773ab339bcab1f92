//go:build integration

package dashboards

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// analysed is a story with the results that the analysis makes of its devices' counters.
type analysed struct {
	graph   *topology.Graph
	results []*schema.IntervalResult
	truth   map[int64]int // links that really stall for a quarter of the time, by start
}

// play feeds a story's counters to the analysis.
func play(t *testing.T, script *scenario.Script) *analysed {
	t.Helper()
	graph := topologytest.Parse(t, script.Fabric.Name, script.Fabric.Topology)
	runner, err := scenario.New(graph, script, 1, noon)
	if err != nil {
		t.Fatal(err)
	}
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval, cfg.Window.ClockLateness = script.Interval, script.Interval/2
	core, err := analysis.New(runner.Graph(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	out := &analysed{graph: runner.Graph(), truth: map[int64]int{}}
	for step, more := runner.Step(); more; step, more = runner.Step() {
		for _, b := range step.Batches {
			if err := core.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range step.Events {
			core.AddEvents([]schema.Event{e}, 0)
		}
		for _, l := range step.Truth.Links {
			if max(l.CreditPercent, l.InqPercent) >= 25 {
				out.truth[step.Interval.StartNanos]++
			}
		}
		core.Advance(step.Interval.EndNanos(), step.Interval.EndNanos())
		for r := core.Next(); r != nil; r = core.Next() {
			out.results = append(out.results, r)
		}
	}
	return out
}

// scenes returns the intervals of a story that are checked: before the congestion, at its worst, and at the end.
func (a *analysed) scenes() [3]*schema.IntervalResult {
	worst := slices.MaxFunc(a.results, func(x, y *schema.IntervalResult) int {
		return a.truth[x.Snapshot.Interval.StartNanos] - a.truth[y.Snapshot.Interval.StartNanos]
	})
	return [3]*schema.IntervalResult{a.results[2], worst, a.results[len(a.results)-1]}
}

// Stories on a torus, a fat tree and a dragonfly are followed on the screen: the page says and draws what the
// analysis finds in the simulated counters. The pictures are kept as artefacts.
func TestStoriesOnTheScreen(t *testing.T) {
	text, err := os.Open("testdata/stories/dragonfly.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	dragonfly, err := scenario.Read(text, "dragonfly")
	if err != nil {
		t.Fatal(err)
	}
	scripts := []*scenario.Script{dragonfly}
	for _, name := range []string{"demo", "victim"} {
		script, err := scenario.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, script)
	}
	db, conn := database(t)
	for _, script := range scripts {
		t.Run(script.Name, func(t *testing.T) {
			story := play(t, script)
			h := serveGraphs(t, db, story.graph)
			h.conn = conn
			page := browse(t, h.url+"/?fabric="+url.QueryEscape(script.Fabric.Name))
			for i, r := range story.scenes() {
				h.announce(r)
				page.await(fmt.Sprintf(`document.documentElement.dataset.shown === %q && document.querySelector("[data-painted]") !== null`, time.Unix(0, r.Snapshot.Interval.StartNanos).UTC().Format(time.RFC3339)))
				holdAgainst(t, page, i, r)
			}
		})
	}
}

// holdAgainst compares what is on the screen with a result.
func holdAgainst(t *testing.T, page *tab, scene int, r *schema.IntervalResult) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), fmt.Sprintf("scene-%d.png", scene)), page.screenshot(), 0o644); err != nil {
		t.Fatal(err)
	}
	worst := schema.Negligible
	for _, g := range r.Regions {
		worst = max(worst, g.Severity)
	}
	state := map[schema.Severity]string{schema.Negligible: "calm"}[worst]
	if state == "" {
		state = worst.String() + " congestion"
	}
	if got := page.eval(`document.getElementById("severity").textContent`); !strings.HasPrefix(got, state) {
		t.Errorf("scene %d: the page says %q, and the worst region is %v", scene, got, worst)
	}
	distinct := map[string]bool{}
	for _, g := range r.Regions { // pause is counted at both ends of a link, and shown once
		distinct[g.Name+strings.NewReplacer("_rx", "", "_tx", "").Replace(g.Metric.String())] = true
	}
	if n := page.eval(`String(document.querySelectorAll("#regions li:not(.none)").length)`); n != fmt.Sprint(len(distinct)) {
		t.Errorf("scene %d: %s regions are listed, of %d that differ", scene, n, len(distinct))
	}
	listed := page.eval(`[...document.querySelectorAll("#regions b")].map((e) => e.textContent).join("\n")`)
	for i := range r.Regions {
		if g := &r.Regions[i]; g.Name != "" && !strings.Contains(listed, g.Name) {
			t.Errorf("scene %d: the page does not list %s: %s", scene, g.Name, listed)
		}
	}
	for _, e := range r.Events {
		if e.Kind == schema.Story && !strings.Contains(page.eval(`document.getElementById("events").textContent`), e.Detail) {
			t.Errorf("scene %d: the page does not say %q", scene, e.Detail)
		}
	}
	if (scene == 1) != (worst >= schema.Medium) {
		t.Errorf("scene %d of the story is %v", scene, worst)
	}
}
