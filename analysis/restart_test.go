package analysis_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// played is a story's steps and the results of its uninterrupted analysis.
type played struct {
	graph   *topology.Graph
	config  analysis.Config
	steps   []scenario.Step
	results []*schema.IntervalResult // of each step
}

// play plays a story; edit, if not nil, changes each step before it is analysed.
func play(t *testing.T, script *scenario.Script, edit func(*scenario.Step)) *played {
	runner, err := scenario.New(newGraph(t, script.Fabric.Topology), script, 1, began)
	if err != nil {
		t.Fatal(err)
	}
	p := &played{graph: runner.Graph(), config: analysis.DefaultConfig()}
	p.config.Window.Interval, p.config.Window.ClockLateness = script.Interval, script.Interval/2
	core := p.core(t)
	for step, ok := runner.Step(); ok; step, ok = runner.Step() {
		for i, b := range step.Batches { // copied: the next step reuses their memory
			step.Batches[i] = b.Part(upTo(b.Rows()), upTo(len(b.Columns)))
		}
		step.Events = slices.Clone(step.Events)
		if edit != nil {
			edit(&step)
		}
		p.steps = append(p.steps, step)
		p.results = append(p.results, feed(t, core, &step)...)
	}
	return p
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func (p *played) core(t *testing.T) *analysis.Core {
	core, err := analysis.New(p.graph, p.config)
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// feed adds a step to the analysis and returns the intervals that it closes.
func feed(t *testing.T, core *analysis.Core, step *scenario.Step) (closed []*schema.IntervalResult) {
	core.AddEvents(step.Events, 0)
	core.AddJobs(step.Jobs, 0)
	core.AddFailures(step.Failures, 0)
	core.AddTraffic(step.JobTraffic("f"), 0)
	add(t, core, step.Batches...)
	end := step.Interval.EndNanos()
	core.Advance(end, end)
	for r := core.Next(); r != nil; r = core.Next() {
		closed = append(closed, r)
	}
	return closed
}

// resumed is an analysis resumed after the first n intervals from what the store has of them.
func (p *played) resumed(t *testing.T, n int) *analysis.Core { return p.resumedWithout(t, n, 0) }

// resumedWithout is resumed without the states of the last intervals.
func (p *played) resumedWithout(t *testing.T, n, lost int) *analysis.Core {
	core, saved := p.core(t), max(0, n-1-lost)
	for saved > 0 && p.results[saved].Saved == nil {
		saved--
	}
	if p.results[saved].Saved != nil {
		if err := core.Load(p.results[saved].Snapshot.Interval, p.results[saved].Saved); err != nil {
			t.Fatal(err)
		}
	}
	var since []analysis.Interval
	var said analysis.Feeds
	for i, r := range p.results[:n] {
		if i >= saved {
			since = append(since, analysis.Interval{Interval: r.Snapshot.Interval, Regions: r.Regions, Snapshot: r.Snapshot})
		}
		said.Events = append(said.Events, r.Events...)
		said.Jobs = append(said.Jobs, r.Jobs...)
		said.Failures = append(said.Failures, r.Failures...)
		said.Traffic = append(said.Traffic, r.Traffic...)
	}
	core.Recall(said)
	if err := core.Resume(since); err != nil {
		t.Fatal(err)
	}
	return core
}

// A process that restarts after any interval of a story continues with the same regions and verdicts. Only confidences
// differ slightly, since the history of links and jobs is saved in coarse steps.
func TestStoriesGoOnAfterARestart(t *testing.T) {
	const follow = 4 // intervals after a restart
	for _, story := range []string{"demo", "flap", "incast", "slowhost", "victim"} {
		t.Run(story, func(t *testing.T) {
			script, err := scenario.Builtin(story)
			if err != nil {
				t.Fatal(err)
			}
			p, compared := play(t, script, nil), 0
			for n := 2; n < len(p.results); n += 2 {
				core, at := p.resumed(t, n), n
				for i := n - 2; i < len(p.steps) && at < n+follow; i++ { // a rate needs the reading before
					for _, r := range feed(t, core, &p.steps[i]) {
						want := p.results[at]
						if diff := cmp.Diff(want.Regions, r.Regions, cmpopts.EquateEmpty()); diff != "" {
							t.Errorf("restart after %d, %v: regions (-uninterrupted +resumed):\n%s", n, r.Snapshot.Interval, diff)
						}
						if diff := cmp.Diff(verdictsOf(want), verdictsOf(r), cmpopts.EquateApprox(0, .01)); diff != "" {
							t.Errorf("restart after %d, %v: verdicts (-uninterrupted +resumed):\n%s", n, r.Snapshot.Interval, diff)
						}
						at++
						compared += len(r.Diagnoses)
					}
				}
			}
			if compared < 20 {
				t.Errorf("%d diagnoses compared", compared)
			}
		})
	}
}

// verdict is what a person acts on.
type verdict struct {
	Region     uint64
	Class      schema.CauseClass
	Confidence float64
	Jobs       []string
	Failures   []schema.NearFailure
	Root       *schema.Root
}

func verdictsOf(r *schema.IntervalResult) []verdict {
	all := make([]verdict, len(r.Diagnoses))
	for i, d := range r.Diagnoses {
		all[i] = verdict{d.Region, d.Cause.Class, d.Cause.Confidence, nil, d.Failures, d.Root}
		for _, j := range d.Jobs {
			all[i].Jobs = append(all[i].Jobs, j.JobID)
		}
	}
	return all
}
