package analysis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// failureStory breaks two switches and mends them.
const failureStory = `
name: failures
about: Two switches fail and return.
fabric: {name: f, topology: "torus:4x4x2", kind: gemini}
interval: 10s
duration: 5m
telemetry: {loss_percent: 1}
events:
  - {after: 60s, do: fail_switch, object: "1,1,0", for: 100s}
  - {after: 95s, do: fail_switch, object: "1,1,1", for: 100s}
`

// The counters alone show what a simulated story's log says: without the log's
// events the same devices fail and return, some intervals later. With the log's
// events, nothing is reported twice.
func TestFailuresOfAStory(t *testing.T) {
	for _, withLog := range []bool{false, true} {
		t.Run(fmt.Sprintf("log %v", withLog), func(t *testing.T) {
			truth, got := tellFailures(t, withLog)
			if len(truth) < 2 {
				t.Fatalf("the story has %d failures", len(truth))
			}
			if !slices.Equal(got, truth) {
				t.Errorf("events:\n%v\nthe story's:\n%v", got, truth)
			}
		})
	}
}

// What a log reported lately is not reported again by a process that starts afterwards.
func TestFailuresOfALogAfterARestart(t *testing.T) {
	p := play(t, readScript(t, failureStory, "failures"), func(step *scenario.Step) { step.Events = nil })
	logged := 0
	for i := range p.steps {
		logged += len(p.steps[i].Failures)
	}
	if logged < 4 {
		t.Fatalf("the log has %d failures and recoveries", logged)
	}
	for n := 1; n < len(p.results); n++ {
		core := p.resumed(t, n)
		var got []string
		for i := max(0, n-2); i < len(p.steps); i++ { // a rate needs the reading before
			for _, r := range feed(t, core, &p.steps[i]) {
				got = failuresOf(got, r.Events)
			}
		}
		if len(got) > 0 {
			t.Errorf("started after %d intervals it says of the story that has a log: %v", n, got)
		}
	}
}

// A failure that the counters show is reported once, at most late, and so is its end, whenever the process restarts: what
// was reported before and after is the whole story.
func TestFailuresOfCountersAfterARestart(t *testing.T) {
	p := play(t, readScript(t, failureStory, "failures"), func(step *scenario.Step) { step.Events, step.Failures = nil, nil })
	var want []string
	for _, r := range p.results {
		want = failuresOf(want, r.Events)
	}
	if len(want) < 4 {
		t.Fatalf("the story has %d failures and recoveries", len(want))
	}
	for n := 1; n < len(p.results); n++ {
		for _, c := range [][2]int{{0, 2}, {0, 5}, {1, 2}, {4, 2}, {9, 5}} {
			away, again := c[0], c[1] // intervals of which no state was stored, for the process was killed, and that are read again
			core := p.resumedWithout(t, n, away)
			var got []string
			for _, r := range p.results[:n] {
				got = failuresOf(got, r.Events)
			}
			for i := max(0, n-again); i < len(p.steps); i++ {
				for _, r := range feed(t, core, &p.steps[i]) {
					got = failuresOf(got, r.Events)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("restarted after %d intervals, states of the last %d lost: %v, want %v", n, away, got, want)
			}
		}
	}
}

// However long nothing is read around a restart, all that is reported after it is true.
func TestRestartsAfterAPauseReportNothingFalse(t *testing.T) {
	p := play(t, readScript(t, failureStory, "failures"), func(step *scenario.Step) { step.Events, step.Failures = nil, nil })
	for n := 1; n < len(p.results); n++ {
		for from := n; from < min(n+8, len(p.steps)); from++ {
			core := p.resumed(t, n)
			for i := from; i < len(p.steps); i++ {
				for _, r := range feed(t, core, &p.steps[i]) {
					for _, text := range failuresOf(nil, r.Events) {
						if !strings.HasSuffix(text, " 1,1,0") && !strings.HasSuffix(text, " 1,1,1") {
							t.Errorf("restarted after %d intervals, nothing was read up to %d: %s", n, from, text)
						}
					}
				}
			}
		}
	}
}

func readScript(t *testing.T, text, name string) *scenario.Script {
	t.Helper()
	script, err := scenario.Read(strings.NewReader(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// began is when stories begin.
const began = 1_700_000_000 * second

// begin returns a story and a core that analyses it.
func begin(t *testing.T, script *scenario.Script) (*scenario.Runner, *analysis.Core) {
	t.Helper()
	runner, err := scenario.New(newGraph(t, script.Fabric.Topology), script, 1, began)
	if err != nil {
		t.Fatal(err)
	}
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval, cfg.Window.ClockLateness = script.Interval, script.Interval/2
	core, err := analysis.New(runner.Graph(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return runner, core
}

// failuresOf appends the failures and recoveries among the events as text.
func failuresOf(to []string, events []schema.Event) []string {
	for _, e := range events {
		if e.Kind == schema.SwitchFailed || e.Kind == schema.SwitchRestored || e.Kind == schema.LinkFailed || e.Kind == schema.LinkRestored {
			to = append(to, fmt.Sprintf("%s %s%s", e.Kind, e.Device, e.Port))
		}
	}
	return to
}

// tellFailures returns the failures in the story's log and those that the analysis
// reports from its counters, with or without the log.
func tellFailures(t *testing.T, withLog bool) (truth, got []string) {
	runner, core := begin(t, readScript(t, failureStory, "failures"))
	take := failuresOf
	for {
		step, ok := runner.Step()
		if !ok {
			return truth, got
		}
		truth = take(truth, step.Events)
		for _, e := range step.Events {
			if withLog {
				core.AddEvents([]schema.Event{e}, 0)
			}
		}
		add(t, core, step.Batches...)
		core.Advance(step.Interval.EndNanos(), step.Interval.EndNanos())
		for r := core.Next(); r != nil; r = core.Next() {
			got = take(got, r.Events)
			core.Recycle(r)
		}
	}
}

// A subnet that falls silent at once, in logs and counters, delays the analysis for only a moment.
func TestAFloodOfFailuresHoldsNothingUp(t *testing.T) {
	g := newGraph(t, "torus:16x16x16")
	f, core := fabric{graph: g}, newCore(t, g)
	add(t, core, f.poll(10*second, calm))
	var failures []schema.Failure
	var events []schema.Event
	for i := range 40_000 {
		l := g.Link(schema.LinkID(i % g.NumLinks()))
		one := schema.Failure{Fabric: "f", Time: schema.Instant(10*second + int64(i)), Kind: schema.LinkFailed, Device: g.Device(l.From).Name, Port: l.FromPort}
		failures = append(failures, one)
		events = append(events, schema.Event{Fabric: "f", TimeNanos: int64(one.Time) + second/2, Kind: one.Kind, Device: one.Device, Port: one.Port})
	}
	core.AddFailures(failures, 0)
	core.AddEvents(events, 0)
	began, came := time.Now(), 0
	for _, r := range results(core, 11*second) {
		came += len(r.Failures) + len(r.Events)
	}
	if took := time.Since(began); came != len(failures)+len(events) || took > 20*time.Second {
		t.Errorf("%d came in %v", came, took)
	}
}
