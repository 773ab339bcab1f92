package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// Regions whose back pressure begins at one port have one cause in an interval, that of most of their stall. Elsewhere, and
// where most of it is unknown, each has its own.
func TestRegionsOfOneRootHaveOneCause(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	port, other := roottest.Link(t, g, "leaf0>host0"), roottest.Link(t, g, "leaf1>host4")
	guilty, beside := &job{Job: schema.Job{ID: "1"}}, &job{Job: schema.Job{ID: "2"}}
	for name, c := range map[string]struct {
		known   float64 // stall of the region with a verdict
		root    schema.LinkID
		suspect bool // the job is known near the other region
		want    schema.CauseClass
	}{
		"one root":       {10, port, true, schema.CauseSystem},
		"another root":   {10, other, true, schema.CauseUnknown},
		"most unknown":   {2, port, true, schema.CauseUnknown},
		"another's jobs": {10, port, false, schema.CauseUnknown},
	} {
		find := func(port schema.LinkID, total float64, jobs ...*job) regionCase {
			rc := regionCase{region: &schema.Region{Metric: schema.CreditStall, Links: []schema.LinkID{port}}, total: total, onset: -1,
				back: root.BackPressure{Link: port, Kind: schema.RootIncast, Use: 100}, verdict: verdict{class: schema.CauseUnknown, confidence: .9}}
			for _, j := range jobs {
				rc.jobs = append(rc.jobs, suspect{job: j})
			}
			return rc
		}
		cases := []regionCase{find(port, c.known, guilty), find(c.root, 3, beside)}
		if c.suspect {
			cases[1] = find(c.root, 3, beside, guilty)
		}
		cases[0].verdict = verdict{class: schema.CauseSystem, confidence: .8, accused: 1}
		s.sameRoot(cases)
		v := &cases[1].verdict
		if v.class != c.want || v.class == schema.CauseSystem && (cases[1].jobs[0].job != guilty || v.confidence != .8) {
			t.Errorf("%s: %s of %s, want %s", name, v.class, cases[1].jobs[0].job.ID, c.want)
		}
	}
}

// A region takes a slow link from the one beside it with the link, which its own back pressure did not show to be slow.
func TestRegionsOfOneSlowLink(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=4,hosts=4,spines=2")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	slow := roottest.Link(t, g, "leaf0>spine0")
	of := regionCase{back: root.BackPressure{Link: slow, Kind: schema.RootLinkCapacity, Slower: true}, verdict: verdict{class: schema.CauseFailure, confidence: .9}}
	rc := regionCase{back: root.BackPressure{Link: schema.NoLink, Leading: slow, As: schema.RootLinkCapacity}, neck: root.Neck{Link: schema.NoLink}}
	s.take(&rc, &of)
	if rc.verdict.class != schema.CauseFailure || rc.slowLink() != slow {
		t.Errorf("%s of link %d, want a failure of link %d", rc.verdict.class, rc.slowLink(), slow)
	}
}
