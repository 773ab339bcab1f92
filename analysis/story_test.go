package analysis_test

import (
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// The demo's story from counters to regions: calm at first, then a region, then
// a High one, and in the end none.
func TestTheDemosStory(t *testing.T) {
	script, err := scenario.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	runner, core := begin(t, script)
	var worst []schema.Severity // by interval
	stories, born, ended := 0, 0, 0
	take := func() {
		for r := core.Next(); r != nil; r = core.Next() {
			severity := schema.Negligible
			for _, region := range r.Regions {
				severity = max(severity, region.Severity)
				if region.Name == "" || region.ID == 0 || region.AgeIntervals == 0 || len(region.Links) != region.Size {
					t.Errorf("region %+v", region)
				}
			}
			worst = append(worst, severity)
			for _, e := range r.Events {
				switch e.Kind {
				case schema.Story:
					stories++
				case schema.RegionBorn:
					born++
				case schema.RegionEnded:
					ended++
				}
			}
			core.Recycle(r)
		}
	}
	end := int64(0)
	for {
		step, ok := runner.Step()
		if !ok {
			break
		}
		end = step.Interval.EndNanos()
		for _, e := range step.Events {
			core.AddEvents([]schema.Event{e}, 0)
		}
		add(t, core, step.Batches...)
		core.Advance(end, end)
		take()
	}
	core.Advance(end+2*script.Interval.Nanoseconds(), end+2*script.Interval.Nanoseconds())
	take()

	if want := int(script.Duration / script.Interval); len(worst) < want {
		t.Fatalf("%d intervals of a story of %d", len(worst), want)
	}
	first := func(s schema.Severity) int {
		for i, w := range worst {
			if w >= s {
				return i
			}
		}
		t.Fatalf("nothing became %v: %v", s, worst)
		return 0
	}
	low, high := first(schema.Low), first(schema.High)
	if low < 5 || high <= low {
		t.Errorf("a region from interval %d, a High one from %d: %v", low, high, worst)
	}
	if last := worst[len(worst)-1]; last != schema.Negligible {
		t.Errorf("at the end the fabric is %v: %v", last, worst)
	}
	if stories < 5 || born == 0 || ended == 0 {
		t.Errorf("%d lines of the story, %d regions born, %d ended", stories, born, ended)
	}
}
