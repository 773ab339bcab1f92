package diagnose_test

import (
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// Load that a job has from the first interval on is its own, not a slow host's: the class and job of most region lines
// of the stories agree with the truth. That of blade is an exchange, which ends at links: no nodes take in more than others.
func TestStoriesOfLoadThatWasAlwaysThere(t *testing.T) {
	for _, story := range []struct {
		name, fabric string // fabric: instead of the story's
		intervals    int
		floor        float64 // share of the lines with the right class and job
	}{{"namd", "", 34, .95}, {"blade", "", 36, .95}, {"slowhost", "dragonfly:groups=5,routers=4,hosts=4", 3, .95}, {"slowhost", "dragonfly:groups=17,routers=8,hosts=4", 2, .95}} {
		t.Run(story.name+story.fabric, func(t *testing.T) {
			script, err := scenario.Builtin(story.name)
			if err != nil {
				t.Fatal(err)
			}
			if story.fabric != "" {
				script.Fabric.Topology = story.fabric
			}
			lines, right, atNodes := 0, 0, 0
			playScript(t, script, 7, story.intervals, true, func(r *schema.IntervalResult, truth *scenario.Truth) {
				for i := range r.Diagnoses {
					d := &r.Diagnoses[i]
					cause, share := truth.CauseOf(d.Links)
					if cause < 0 || share < .5 {
						continue
					}
					lines++
					c := &truth.Causes[cause]
					if string(d.Cause.Class) == string(c.Class) && (len(d.Jobs) == 0 || d.Jobs[0].JobID == c.Jobs[0]) {
						right++
					}
					if string(c.Class) == string(schema.CauseIntraApplication) && d.Root != nil && d.Root.Port == "" {
						atNodes++
					}
				}
			})
			if lines == 0 || float64(right) < story.floor*float64(lines) {
				t.Errorf("class and job are right in %d of %d lines, want a share of %.2f", right, lines, story.floor)
			}
			if story.name == "blade" && float64(atNodes) > .05*float64(lines) {
				t.Errorf("%d of %d lines name nodes as the root of an exchange", atNodes, lines)
			}
		})
	}
}
