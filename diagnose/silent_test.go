package diagnose_test

import (
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// A dead cable is named without a log: not the links that it fed, nor those that carry its detour. A cable that lost
// half of its rate is not reported down.
func TestDeadCableWithoutALog(t *testing.T) {
	for _, c := range []struct {
		name string
		do   scenario.Action
	}{{"dead", scenario.FailLink}, {"slow", scenario.SlowLink}} {
		t.Run(c.name, func(t *testing.T) {
			script, err := scenario.Builtin("flap")
			if err != nil {
				t.Fatal(err)
			}
			e := &script.Events[1]
			e.Do, e.Period, e.Down = c.do, 0, 0
			if c.do == scenario.SlowLink {
				e.Percent = 50
			}
			lines, right, down := 0, 0, 0
			playScript(t, script, 11, 60, false, func(r *schema.IntervalResult, _ *scenario.Truth) {
				for i := range r.Diagnoses {
					d := &r.Diagnoses[i]
					lines++
					if len(d.Failures) == 0 {
						continue
					}
					if f := d.Failures[0]; f.Kind == schema.LinkDownSuspected {
						down++
						if at := f.Device + " " + f.Port; (at == "leaf3 9" || at == "spine0 4") && d.Cause.Class == schema.CauseFailure && strings.Contains(d.Text, "nothing in either direction") {
							right++
						}
					}
				}
			})
			if lines == 0 {
				t.Fatal("no region")
			}
			if c.do == scenario.SlowLink && down > 0 {
				t.Errorf("%d of %d verdicts call a slow link down", down, lines)
			}
			if c.do == scenario.FailLink && float64(right) < .9*float64(lines) {
				t.Errorf("%d of %d verdicts name the cable that is down", right, lines)
			}
		})
	}
}

// If a job is accused and back pressure begins at a failed link, the failure is named beside the job, and the action
// begins with its cable.
func TestFailedRootBesideAJob(t *testing.T) {
	lines := 0
	playStory(t, "demo", 3, 50, func(r *schema.IntervalResult, _ *scenario.Truth) {
		for i := range r.Diagnoses {
			d := &r.Diagnoses[i]
			if len(d.Jobs) == 0 || d.Root == nil || d.Root.Kind != schema.RootLinkDown {
				continue
			}
			lines++
			if len(d.Failures) == 0 || d.Failures[0].Device != "5,5,4" || !strings.HasPrefix(d.Action, "First replace or reseat the cable at 5,5,4 port Y+ (to 5,6,4 port Y-).") {
				t.Errorf("failures %v, action %q", d.Failures, d.Action)
			}
		}
	})
	if lines == 0 {
		t.Error("no job is accused where back pressure begins at a link that failed")
	}
}
