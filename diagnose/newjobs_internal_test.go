package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// TestJobsThatBeganAreLoad: the load of full links does not rise when new jobs take a part of it. If jobs that began
// with the region carry much of that load, the cause is load rather than a slow host.
func TestJobsThatBeganAreLoad(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	s.comparable = true
	for name, c := range map[string]struct {
		jobs []suspect
		load bool
	}{
		"half of it":         {[]suspect{{evidence: evidence{started: true}, known: true, share: .3}, {evidence: evidence{started: true}, known: true, share: .2}, {known: true, share: .5}}, true},
		"little of it":       {[]suspect{{evidence: evidence{started: true}, known: true, share: .1}, {known: true, share: .9}}, false},
		"of one that ran":    {[]suspect{{known: true, share: 1}}, false},
		"it is not measured": {[]suspect{{evidence: evidence{started: true}, share: .5}}, false},
	} {
		rc := &regionCase{in: &s.interval, p: u.p, region: &schema.Region{Metric: schema.CreditStall}, suspects: c.jobs, load: times(.95), ends: ends{arrives: times(.6), fullLink: schema.NoLink, neck: root.Neck{Link: schema.NoLink}}}
		if got := gridOf(rc).newJobsLoad(); got != c.load {
			t.Errorf("%s: %v, want %v", name, got, c.load)
		}
		if got := rc.ground().slowHostScore(); got > 0 == c.load {
			t.Errorf("%s: a slow host has a score of %.1f", name, got)
		}
	}
	s.comparable = false
	if gridOf(&regionCase{in: &s.interval, p: u.p, suspects: []suspect{{evidence: evidence{started: true}, known: true, share: 1}}}).newJobsLoad() {
		t.Error("shares count where traffic of jobs and of links is not measured alike")
	}
}
