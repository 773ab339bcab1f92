package diagnose_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// enzoVerdict sums up the verdicts on the regions that Enzo causes, in one interval.
type enzoVerdict struct {
	minute         int
	regions, first int     // of them, those that accuse Enzo first
	wrong          int     // those that accuse another job
	deviations     float64 // minimum, if Enzo is accused
	feature        string
	lag            float64
}

// storyStart is when stories begin, nanoseconds since 1970.
const storyStart = int64(1_767_571_200e9)

// playStory plays a built-in story up to an interval, drawn from a seed, and yields each result with its truth.
func playStory(t *testing.T, name string, seed uint64, intervals int, yield func(*schema.IntervalResult, *scenario.Truth)) {
	t.Helper()
	script, err := scenario.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	playScript(t, script, seed, intervals, true, yield)
}

// playScript plays a script; without a log its failures are hidden from the stage.
func playScript(t *testing.T, script *scenario.Script, seed uint64, intervals int, log bool, yield func(*schema.IntervalResult, *scenario.Truth)) {
	t.Helper()
	graph, err := topology.Parse("fabric", script.Fabric.Topology)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := scenario.New(graph, script, seed, storyStart)
	if err != nil {
		t.Fatal(err)
	}
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval, cfg.Window.ClockLateness = script.Interval, script.Interval/2
	core, err := analysis.New(graph, cfg)
	if err != nil {
		t.Fatal(err)
	}
	stage, err := diagnose.New(graph, diagnose.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	steps := map[int64]scenario.Step{}
	for range intervals {
		step, more := runner.Step()
		if !more {
			break
		}
		for _, b := range step.Batches {
			if err := core.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		step.Jobs, step.Failures, step.Traffic = slices.Clone(step.Jobs), slices.Clone(step.Failures), slices.Clone(step.Traffic)
		steps[step.Interval.StartNanos] = step
		end := step.Interval.EndNanos()
		core.Advance(end, end)
		for r := core.Next(); r != nil; r = core.Next() {
			if s, known := steps[r.Snapshot.Interval.StartNanos]; known {
				r.Jobs, r.Failures, r.Traffic = s.Jobs, s.Failures, nil
				if !log {
					r.Failures = nil
				}
				for i := range s.Traffic {
					m := &s.Traffic[i]
					r.Traffic = append(r.Traffic, schema.JobTraffic{JobID: m.JobID, Time: schema.Instant(s.Interval.StartNanos),
						Read: &m.ReadBytes, Write: &m.WriteBytes, RDMARead: &m.RDMAReadBytes, RDMAWrite: &m.RDMAWriteBytes})
				}
				stage.Step(r)
				yield(r, s.Truth)
			}
			core.Recycle(r)
		}
	}
}

// playEnzo plays the built-in story up to a minute.
func playEnzo(t *testing.T, minutes int) (out []enzoVerdict) {
	t.Helper()
	playStory(t, "enzo", 1, minutes, func(r *schema.IntervalResult, truth *scenario.Truth) {
		out = append(out, judgeEnzo(int((r.Snapshot.Interval.StartNanos-storyStart)/60e9), r, truth))
	})
	return out
}

// judgeEnzo compares the verdicts of an interval with the truth of the simulator's flows.
func judgeEnzo(minute int, r *schema.IntervalResult, truth *scenario.Truth) enzoVerdict {
	v := enzoVerdict{minute: minute}
	for i := range r.Diagnoses {
		d := &r.Diagnoses[i]
		cause, share := truth.CauseOf(d.Links)
		if cause < 0 || share < .5 || len(truth.Causes[cause].Jobs) == 0 || truth.Causes[cause].Jobs[0] != "enzo" {
			continue
		}
		v.regions++
		switch {
		case len(d.Jobs) == 0:
		case d.Jobs[0].JobID == "enzo":
			if v.first == 0 || d.Jobs[0].Deviations < v.deviations {
				v.deviations, v.feature, v.lag = d.Jobs[0].Deviations, d.Jobs[0].Feature, d.Jobs[0].LagSeconds
			}
			v.first++
		default:
			v.wrong++
		}
	}
	return v
}

// While the torus stalls, the largest of Enzo's regions accuses it in every interval, and surely once the stall has
// lasted.
func TestEnzoWhileTheTorusStalls(t *testing.T) {
	const severe, lasted, until = 54, 68, 70
	playStory(t, "enzo", 7, until, func(r *schema.IntervalResult, truth *scenario.Truth) {
		minute := int((r.Snapshot.Interval.StartNanos - storyStart) / 60e9)
		if minute < severe || len(r.Diagnoses) == 0 {
			return
		}
		largest := slices.MaxFunc(r.Diagnoses, func(a, b schema.Diagnosis) int { return cmp.Compare(len(a.Links), len(b.Links)) })
		if cause, share := truth.CauseOf(largest.Links); cause < 0 || share < .5 || truth.Causes[cause].Jobs[0] != "enzo" {
			return
		}
		if len(largest.Jobs) == 0 || largest.Jobs[0].JobID != "enzo" || largest.Jobs[0].Feature != "rdma_read_bytes" || minute >= lasted && largest.Cause.Confidence < .95 {
			t.Errorf("minute %d: %d links, %+v, jobs %+v", minute, len(largest.Links), largest.Cause, largest.Jobs)
		}
	})
}

// The Enzo case (Monet, section 7): 32 nodes along Z at (0,16,16) read a checkpoint at minute 30 and, from
// minute 50 on, until the torus stalls: the congestion is severe at minute 53. Enzo's RDMA read is the outlier
// in each of its regions in the first interval that has one, 23 minutes before that.
func TestEnzo(t *testing.T) {
	first := -1
	for _, v := range playEnzo(t, 54) {
		switch {
		case v.regions == 0:
			continue
		case first < 0:
			first = v.minute
			if v.first != v.regions {
				t.Errorf("the first regions: %+v", v)
			}
		}
		if v.wrong > 0 || v.first == 0 || 10*v.first < 8*v.regions {
			t.Errorf("%+v", v)
		}
		if v.feature != "rdma_read_bytes" || v.deviations < 5 {
			t.Errorf("what stands out: %+v", v)
		}
	}
	if first != 30 {
		t.Errorf("the first regions are of minute %d, and Enzo reads from minute 30 on", first)
	}
}
