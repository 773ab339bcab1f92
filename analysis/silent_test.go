package analysis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// silentStories congest a few links with a job, while a switch in its way reports nothing, or fails.
var silentStories = map[string]struct{ fabric, device string }{
	"torus":    {`{name: f, topology: "torus:4x4x4", kind: gemini}`, "1,1,1"},
	"fat tree": {`{name: f, topology: "fattree:leaves=4,hosts=4,spines=2", kind: infiniband}`, "spine0"},
}

const silentStory = `
name: silent
about: The readings of a switch stop.
fabric: %s
interval: 10s
duration: 6m
telemetry: {loss_percent: 1}
jobs:
  - {id: "1", name: sender, %s, traffic: [{pattern: all_to_all, gigabytes_per_second: %s}, {pattern: many_to_one, gigabytes_per_second: 1}]}
events: [%s]
`

// A switch whose readings stop, or are dropped because its clock is minutes off, while it forwards traffic has not failed, and
// nothing is blamed on it; one that fails has.
func TestASwitchWithoutReadings(t *testing.T) {
	for name, story := range silentStories {
		for _, how := range []string{"silent", "clock", "fails"} {
			t.Run(name+" "+how, func(t *testing.T) {
				fails := how == "fails"
				job, load := `hosts: "0-15"`, "5"
				if name == "torus" {
					job, load = `at: [0,0,0], size: [4,4,4]`, "1"
				}
				event := ""
				if fails {
					event = fmt.Sprintf("{after: 100s, do: fail_switch, object: %q, for: 150s}", story.device)
				}
				script := readScript(t, fmt.Sprintf(silentStory, story.fabric, job, load, event), "silent")
				want := []string{"switch_silent " + story.device, "switch_reporting " + story.device}
				if fails {
					want = []string{"switch_failed " + story.device, "switch_restored " + story.device}
				}
				got, blamed := playSilence(t, script, story.device, how == "clock")
				if !slices.Equal(got, want) {
					t.Errorf("events %v, want %v", got, want)
				}
				if blamed && !fails {
					t.Error("a region is blamed on the failure of a switch that works")
				}
			})
		}
	}
}

// playSilence plays a story without its log and without the readings of a device between 100 s and 250 s, or with readings
// of three minutes before. It returns the events of devices, and whether a diagnosis blames a failure of the device.
func playSilence(t *testing.T, script *scenario.Script, device string, clock bool) (events []string, blamed bool) {
	diagnosed := false
	runner, core := begin(t, script)
	for step, ok := runner.Step(); ok; step, ok = runner.Step() {
		for _, b := range step.Batches {
			add(t, core, without(b, device, began+100*second, began+250*second, clock))
		}
		core.Advance(step.Interval.EndNanos(), step.Interval.EndNanos())
		for r := core.Next(); r != nil; r = core.Next() {
			for _, e := range r.Events {
				if strings.HasPrefix(string(e.Kind), "switch_") || strings.HasPrefix(string(e.Kind), "node_") {
					events = append(events, fmt.Sprintf("%s %s", e.Kind, e.Device))
					t.Log(e.Kind, e.Device, e.Detail)
				}
			}
			for _, d := range r.Diagnoses {
				diagnosed = diagnosed || len(r.Diagnoses) > 0
				blamed = blamed || d.Cause.Class == schema.CauseFailure && slices.ContainsFunc(d.Failures, func(f schema.NearFailure) bool { return f.Device == device })
			}
			core.Recycle(r)
		}
	}
	if !diagnosed {
		t.Error("no region")
	}
	return events, blamed
}

// without returns a batch without a device's rows of a span, or with those three minutes earlier.
func without(b *schema.CounterBatch, device string, from, to int64, earlier bool) *schema.CounterBatch {
	cut := *b
	cut.TimeNanos, cut.PortIndex, cut.Columns = nil, nil, slices.Clone(b.Columns)
	for c := range cut.Columns {
		cut.Columns[c].Values = nil
	}
	for row, p := range b.PortIndex {
		at := b.TimeNanos[row]
		if b.Ports[p].Device == device && at >= from && at < to {
			if !earlier {
				continue
			}
			at -= 180 * second
		}
		cut.TimeNanos = append(cut.TimeNanos, at)
		cut.PortIndex = append(cut.PortIndex, p)
		for c := range cut.Columns {
			cut.Columns[c].Values = append(cut.Columns[c].Values, b.Columns[c].Values[row])
		}
	}
	return &cut
}
