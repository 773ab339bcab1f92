package diagnose

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// Regions whose back pressure begins at one port have one cause in an interval, that of most of their stall. Elsewhere, and
// where most of it is unknown, each has its own.
func TestRegionsOfOneRootHaveOneCause(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	p, _, _ := readings(t, g, nil, nil)
	snap := &schema.Snapshot{Links: g.NumLinks()}
	root, other := linkBetween(t, g, "leaf0>host0"), linkBetween(t, g, "leaf1>host4")
	guilty, beside := &job{Job: schema.Job{ID: "1"}}, &job{Job: schema.Job{ID: "2"}}
	for name, c := range map[string]struct {
		known   float64 // stall of the region with a verdict
		root    schema.LinkID
		suspect bool // the job is known near the other region
		want    schema.CauseClass
	}{
		"one root":       {10, root, true, schema.CauseSystem},
		"another root":   {10, other, true, schema.CauseUnknown},
		"most unknown":   {2, root, true, schema.CauseUnknown},
		"another's jobs": {10, root, false, schema.CauseUnknown},
	} {
		find := func(root schema.LinkID, total float64, jobs ...*job) regionCase {
			rc := regionCase{region: &schema.Region{Metric: schema.CreditStall, Links: []schema.LinkID{root}}, total: total, onset: -1,
				back: backPressure{link: root, kind: incast, use: 100}, verdict: verdict{class: schema.CauseUnknown, confidence: .9}}
			for _, j := range jobs {
				rc.jobs = append(rc.jobs, suspect{job: j})
			}
			return rc
		}
		cases := []regionCase{find(root, c.known, guilty), find(c.root, 3, beside)}
		if c.suspect {
			cases[1] = find(c.root, 3, beside, guilty)
		}
		cases[0].verdict = verdict{class: schema.CauseSystem, confidence: .8, accused: 1}
		s.sameRoot(cases, snap, p)
		v := &cases[1].verdict
		if v.class != c.want || v.class == schema.CauseSystem && (cases[1].jobs[0].job != guilty || v.confidence != .8) {
			t.Errorf("%s: %s of %s, want %s", name, v.class, cases[1].jobs[0].job.ID, c.want)
		}
	}
}

// A region takes a slow link from the one beside it with the link, which its own back pressure did not show to be slow.
func TestRegionsOfOneSlowLink(t *testing.T) {
	g := graphOf(t, "fattree:leaves=4,hosts=4,spines=2")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	slow := linkBetween(t, g, "leaf0>spine0")
	of := regionCase{back: backPressure{link: slow, kind: linkCapacity, slower: true}, verdict: verdict{class: schema.CauseFailure, confidence: .9}}
	rc := regionCase{back: backPressure{link: schema.NoLink, leading: slow, as: linkCapacity}, neck: neck{link: schema.NoLink}}
	s.take(&rc, &of, nil)
	if rc.verdict.class != schema.CauseFailure || rc.slowLink() != slow {
		t.Errorf("%s of link %d, want a failure of link %d", rc.verdict.class, rc.slowLink(), slow)
	}
}
