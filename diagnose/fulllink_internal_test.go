package diagnose

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// TestAFullLinkThatGainedLoad: what others wait for is a link that is full, more so than before, and does not stall itself;
// of several alike the one before which the region lies.
func TestAFullLinkThatGainedLoad(t *testing.T) {
	u := newTiedUp(t)
	link := func(name string) schema.LinkID { return linkBetween(t, u.stage.graph, name) }
	waits, full, other := link("1,0,0>2,0,0"), link("2,0,0>2,1,0"), link("2,0,0>3,0,0")
	rc := &regionCase{region: &schema.Region{Links: []schema.LinkID{waits}}, neck: neck{link: schema.NoLink}}
	want := func(what string, l schema.LinkID) {
		t.Helper()
		if got := u.stage.fullLink(rc, u.p); got != l {
			t.Errorf("%s: link %d, want %d", what, got, l)
		}
	}
	u.p.stall.Values[waits], u.p.use.Values[waits] = 60, 40
	u.p.use.Values[full], u.was[full] = 70, 30
	want("none is full", schema.NoLink)
	u.p.use.Values[full] = 90
	want("one is full", full)
	u.p.use.Values[other], u.was[other] = 94, 93
	want("another always was", full)
	u.was[other] = 40
	want("another is fuller", other)
	rc.neck = neck{link: full, waits: 1, share: 1}
	want("the region lies before one of two alike", full)
	u.p.stall.Values[other], rc.neck = 30, neck{link: schema.NoLink}
	want("another stalls", full)
}
