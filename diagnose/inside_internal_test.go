package diagnose

import (
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
)

// What waits inside the switches of links that a slow host holds back is the host's too; on other ground, around weaker
// stall or beside a job's region the verdict stays.
func TestInsideTakesTheVerdictAround(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	at := slices.Clone(s.graph.LinksAt(u.device(t, "1,1,1")))
	far := slices.Clone(s.graph.LinksAt(u.device(t, "5,5,5")))
	for name, c := range map[string]struct {
		around   []schema.LinkID
		severity schema.Severity
		class    schema.CauseClass
		want     schema.CauseClass
	}{
		"slow host":   {at, schema.High, schema.CauseSlowHost, schema.CauseSlowHost},
		"failure":     {at, schema.High, schema.CauseFailure, schema.CauseFailure},
		"job":         {at, schema.High, schema.CauseSystem, schema.CauseIntraApplication},
		"unknown":     {at, schema.High, schema.CauseUnknown, schema.CauseIntraApplication},
		"far":         {far, schema.High, schema.CauseSlowHost, schema.CauseIntraApplication},
		"weaker":      {at, schema.Low, schema.CauseSlowHost, schema.CauseIntraApplication},
		"half beside": {append(slices.Clone(at[:3]), far[:3]...), schema.High, schema.CauseSlowHost, schema.CauseSlowHost},
	} {
		drained := u.device(t, "1,1,1")
		cases := []regionCase{
			{region: &schema.Region{Metric: schema.InqStall, Severity: schema.Medium, Links: at}},
			{region: &schema.Region{Metric: schema.CreditStall, Severity: c.severity, Links: c.around}, total: 1,
				verdict: verdict{class: c.class}, drain: drain{device: drained, fit: 1}},
		}
		got := s.inside(&cases[0], verdict{class: schema.CauseIntraApplication, accused: 1}, cases)
		if got.class != c.want {
			t.Errorf("%s: %v, want %v", name, got.class, c.want)
		}
		if taken := cases[0].drain.device == drained && cases[0].drain.fit == 1; taken != (c.want == c.class && c.class != schema.CauseIntraApplication) {
			t.Errorf("%s: root taken over: %v", name, taken)
		}
	}
}
