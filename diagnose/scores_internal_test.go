package diagnose

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestScoresDoNotWriteTheCase: the score of a cause does not depend on which others were rated before it.
func TestScoresDoNotWriteTheCase(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	p, links := readings(t, g, map[string]float64{"host1>leaf0": 50}, map[string]float64{"leaf0>host0": 100})
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.read, s.measuresLoad, s.history.Clock.Duration = &p.Readings, true, 60e9
	port := roottest.Link(t, g, "leaf0>host0")
	onTree := &regionCase{in: &s.interval, p: p, region: &schema.Region{Links: links}, weight: []float64{50}, totalWeight: 50,
		waits: []float64{.5}, timeline: timeline{clock: s.history.Clock, onset: noOnset, burst: noOnset},
		back: root.BackPressure{Root: root.Port{Kind: schema.RootIncast, Link: port}}, root: rootLoad{link: port, carries: 1e9}}
	for _, host := range []string{"host1", "host4"} {
		j := &job{Job: &history.Job{Job: schema.Job{ID: host, Nodes: []string{host}}, Traffic: history.NewTraffic(20, 0)}}
		j.Place(g)
		onTree.suspects = append(onTree.suspects, suspect{job: j, known: true, cross: .8})
	}
	for name, rc := range map[string]*regionCase{"grid": incastTo(t, "2,3,4", sendingNodes, otherNodes), "directed": onTree} {
		before := *rc
		before.suspects, before.failures = slices.Clone(rc.suspects), slices.Clone(rc.failures)
		before.addedByLink, before.waits, before.weight = slices.Clone(rc.addedByLink), slices.Clone(rc.waits), slices.Clone(rc.weight)
		for i := range rc.suspects {
			rc.rateJob(&rc.suspects[i])
		}
		rc.rateSlowHost()
		rc.rateSlowLink()
		rc.rules().unlistedPart(1)
		if !reflect.DeepEqual(*rc, before) {
			t.Errorf("%s: the case was\n%+v\nand is\n%+v", name, before, *rc)
		}
	}
}

func TestCoincidenceOfAFailure(t *testing.T) {
	for after, want := range map[int64]float64{-2: -.5, -1: 1, 0: 1, 2: 1, 3: .88, 9: .16, 10: .1, 100: .1} {
		if got := coincidenceOf(after); math.Abs(got-want) > 1e-9 {
			t.Errorf("a burst %d intervals after it: %v, want %v", after, got, want)
		}
	}
}

func TestShortOfEnough(t *testing.T) {
	for _, c := range []struct{ share, least, enough, want float64 }{
		{.6, .25, .5, 0},
		{.5, .25, .5, 0},
		{.375, .25, .5, .5},
		{.25, .25, .5, 1},
		{.125, .25, .5, 1},
		{0, .25, .5, 1},
	} {
		if got := shortOf(c.share, c.least, c.enough); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestLittleOfAPort(t *testing.T) {
	for _, c := range []struct{ use, stall, want float64 }{
		{0, 100, 1},
		{pausedPercent, 90, 1},
		{20, 80, .5},
		{slowPercent, 70, 0},
		{90, 10, 0},
		{0, 15, .5}, // hardly anything waits: it may be idle
		{0, 0, 0},
	} {
		if got := littleOf(c.use, c.stall); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestRatiosThatAreNotKnown: a ratio that is not known is neither above nor below anything, and no evidence.
func TestRatiosThatAreNotKnown(t *testing.T) {
	var unknown ratio
	one := ratio{1, true}
	if unknown.isAbove(0) || unknown.isBelow(1) || unknown.atLeast(0) || unknown.doublings() != 0 {
		t.Error("it is compared")
	}
	if got := unknown.orMore(one); got != one {
		t.Errorf("with one that is known: %+v", got)
	}
	if got := one.orMore(unknown); got != one {
		t.Errorf("beside one that is known: %+v", got)
	}
	if got := one.orMore(ratio{2, true}); got.times != 2 {
		t.Errorf("the greater is %+v", got)
	}
	if !one.atLeast(1) || one.isAbove(1) || one.isBelow(1) || (ratio{8, true}).doublings() != mostDoublings {
		t.Error("a known ratio is not compared by its value")
	}
	if idle := percentOf(0); !idle.known || percentOf(-1).known || percentOf(-1).orZero() != 0 {
		t.Errorf("an idle link: %+v, one that was not read: %+v", idle, percentOf(-1))
	}
}
