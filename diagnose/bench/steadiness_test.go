package bench

import (
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

// exampleMoments are eight moments of one root, which stalls four links in all but the last two. Region IDs are 1, 1, none, 2, 2
// with another verdict, 2 with another root, 2 although the stall is over, and 3, which never was real.
func exampleMoments() (moments []Moment) {
	links := []schema.LinkID{3, 5, 7, 9}
	truth := &scenario.Truth{Causes: []scenario.Cause{{Class: scenario.SystemCause, Jobs: []string{"j"}, Roots: []string{"s 1"}, Links: links}}}
	for _, l := range links {
		truth.Links = append(truth.Links, scenario.LinkTruth{Link: l, CreditPercent: 9, Root: "s 1"})
	}
	for i, id := range []uint64{1, 1, 0, 2, 2, 2, 2, 3} {
		m := Moment{Interval: schema.Interval{StartNanos: int64(i) * int64(time.Minute), DurationNanos: int64(time.Minute)}, Truth: truth}
		if i >= 6 {
			m.Truth = &scenario.Truth{}
		}
		if id > 0 {
			m.Regions = []schema.Region{{ID: id, Metric: schema.XmitWait, Links: links}}
			m.Diagnoses = []schema.Diagnosis{{Root: &schema.Root{Device: "s", Port: "1"}, Jobs: []schema.AccusedJob{{JobID: "j"}}, Cause: schema.Cause{Class: schema.CauseSystem}}}
		}
		if i >= 4 {
			m.Diagnoses[0].Jobs = nil
		}
		if i >= 5 {
			m.Diagnoses[0].Root.Port = "2"
		}
		moments = append(moments, m)
	}
	return moments
}

func TestSteadinessCountsChangesOfASpell(t *testing.T) {
	var s Steadiness
	s.Add(exampleMoments())
	const perHour = 60. / 6 // of a spell of six minutes
	for _, c := range []struct {
		name      string
		got, want float64
	}{{"covered", s.Covered.Value(), 5. / 6}, {"identities", s.Identities.Value(), 2}, {"region changes", s.IdentityChanges.Value(), perHour}, {"root changes", s.RootChanges.Value(), perHour},
		{"verdict changes", s.VerdictChanges.Value(), perHour}, {"held", s.Held.Value(), .5}, {"noise", s.Noise.Value(), 60. / 8}} {
		if diff := c.got - c.want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
