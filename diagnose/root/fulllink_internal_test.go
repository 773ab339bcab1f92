package root

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestAFullLinkThatGainedLoad: a region waits for a link that is full, more so than before, and does not stall itself;
// of several equally full, for the one that the region lies upstream of.
func TestAFullLinkThatGainedLoad(t *testing.T) {
	u := newTiedUp(t)
	link := func(name string) schema.LinkID { return roottest.Link(t, u.Graph, name) }
	waits, full, other := link("1,0,0>2,0,0"), link("2,0,0>2,1,0"), link("2,0,0>3,0,0")
	bottleneck := Bottleneck{Link: schema.NoLink}
	want := func(what string, l schema.LinkID) {
		t.Helper()
		if got := u.f.Region(u.p, []schema.LinkID{waits}).FullLink(&bottleneck, &Drain{}); got != l {
			t.Errorf("%s: link %d, want %d", what, got, l)
		}
	}
	u.p.Stall.Values[waits], u.p.Use.Values[waits] = 60, 40
	u.p.Use.Values[full], u.Was[full] = 70, 30
	want("none is full", schema.NoLink)
	u.p.Use.Values[full] = 90
	want("one is full", full)
	u.p.Use.Values[other], u.Was[other] = 94, 93
	want("another always was", full)
	u.Was[other] = 40
	want("another is fuller", other)
	bottleneck = Bottleneck{Link: full, Waits: 1, Share: 1}
	want("the region lies before one of two alike", full)
	bottleneck.Slower, bottleneck.Lost = true, .5
	want("it lies before a link that lost rate, and another is fuller", other)
	u.p.Stall.Values[other], bottleneck = 30, Bottleneck{Link: schema.NoLink}
	want("another stalls", full)
}

// TestLittleWaitsBeforeAFullLink: a full link with little waiting upstream, relative to where the region's traffic
// ends, is not its root.
func TestLittleWaitsBeforeAFullLink(t *testing.T) {
	u := newTiedUp(t)
	link := func(name string) schema.LinkID { return roottest.Link(t, u.Graph, name) }
	waits, full, last := link("1,0,0>2,0,0"), link("2,0,0>2,1,0"), link("5,5,4>5,5,5")
	u.p.Use.Values[full], u.Was[full] = 95, 30
	u.p.Stall.Values[last], u.p.Use.Values[last] = 60, 40
	d := Drain{Device: u.Device(t, "5,5,5"), Fit: .9}
	for _, c := range []struct {
		stall float32
		want  schema.LinkID
	}{{5, schema.NoLink}, {50, full}} {
		u.p.Stall.Values[waits], u.p.Use.Values[waits] = c.stall, 40
		if got := u.f.Region(u.p, []schema.LinkID{waits}).FullLink(&Bottleneck{Link: schema.NoLink}, &d); got != c.want {
			t.Errorf("before it links stall for %.0f%%: link %d, want %d", c.stall, got, c.want)
		}
	}
}
