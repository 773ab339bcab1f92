package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// TestAHostThatTakesLess: if less arrives than before, only a host that does not take it explains a region; if as much
// arrives, or load was added, that is unlikely.
func TestAHostThatTakesLess(t *testing.T) {
	for _, c := range []struct {
		name          string
		arrives, load float64
		change        func(rc *regionCase)
		slow          bool
	}{
		{"half arrives", .5, .9, func(*regionCase) {}, true},
		{"half arrives while others carry more", .5, 1.2, func(*regionCase) {}, true},
		{"as much arrives", 1, 1, func(*regionCase) {}, false},
		{"twice as much arrives", 2, 1, func(*regionCase) {}, false},
		{"it is not known where, and the region carries less", 0, .5, func(*regionCase) {}, true},
		{"load was added where it meets", .7, 1, func(rc *regionCase) { rc.ends.drain.Meeting.Grew = true }, false},
		{"it ends at a link", .5, .9, func(rc *regionCase) { rc.ends.endings.Any.Found = true }, false},
		{"something failed", .7, 1, func(rc *regionCase) { rc.failures = []nearFailure{{score: 1}} }, false},
	} {
		rc := &regionCase{load: times(c.load), ends: ends{arrives: times(c.arrives), fullLink: schema.NoLink, drain: root.Drain{Fit: .8}}}
		c.change(rc)
		if got := gridOf(rc).takesLess(); got > 0 != c.slow {
			t.Errorf("%s: score %.2f", c.name, got)
		}
	}
}

// TestWhereItEndsTellsHostsFromLinks: back pressure that ends at a switch's nodes speaks against a link, and the
// reverse; a tree that fits almost exactly ends at nodes, and without an end nothing speaks against either.
func TestWhereItEndsTellsHostsFromLinks(t *testing.T) {
	for _, c := range []struct {
		name       string
		end        root.Endings
		fit        float64
		host, link bool // speaks against it
	}{
		{"at nodes", root.Endings{Any: root.Ending{Found: true}, AtNodes: .9}, .8, false, true},
		{"at a link", root.Endings{Any: root.Ending{Found: true}, AtNodes: .1}, .3, true, false},
		{"as likely at either", root.Endings{Any: root.Ending{Found: true}, AtNodes: .5}, .3, false, false},
		{"at a link, but a tree fits", root.Endings{Any: root.Ending{Found: true}, AtNodes: .1}, exactFit, false, true},
		{"nowhere", root.Endings{}, 0, false, false},
	} {
		rc := &regionCase{ends: ends{endings: c.end, drain: root.Drain{Fit: c.fit}}}
		if host, link := endsElsewhere(rc.ends.nodesProbability()) > 0, endsElsewhere(1-rc.ends.nodesProbability()) > 0; host != c.host || link != c.link {
			t.Errorf("%s: against a host: %v, against a link: %v", c.name, host, link)
		}
	}
}

// TestAHostPausesItsPort: without load readings a port that is paused nearly all the time shows a host that takes next to
// nothing, as only that host pauses it: whatever jobs began or are accused, it is no incast. One that is paused for half of
// the time may carry half.
func TestAHostPausesItsPort(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=2")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		metric schema.Metric
		stall  float64
		score  float64
		kind   string
	}{
		{schema.PFCPauseRx(3), 95, slowHostPaused, schema.RootSlowReceiver},
		{schema.CreditStall, 95, slowHostPaused, schema.RootSlowReceiver},
		{schema.PFCPauseRx(3), 80, (slowHostMaybe + slowHostPaused) / 2, schema.RootSlowReceiver},
		{schema.PFCPauseRx(3), 60, slowHostMaybe, schema.RootIncast},
		{schema.XmitWait, 95, slowHostPaused, schema.RootSlowReceiver},
	} {
		rc := &regionCase{in: &s.interval, region: &schema.Region{Metric: c.metric}, verdict: verdict{accused: 1},
			back: root.BackPressure{Root: root.Port{Kind: schema.RootSlowReceiver, Link: roottest.Link(t, g, "leaf0>host0"), Use: -1, Stall: c.stall}}}
		if got := rc.rules().slowHostScore(); math.Abs(got-c.score) > 1e-9 {
			t.Errorf("%v of %v: score %.2f, want %.2f", c.stall, c.metric, got, c.score)
		}
		if got := rc.beginsAtPort(); got.Kind != c.kind {
			t.Errorf("%v of %v: %s, want %s", c.stall, c.metric, got.Kind, c.kind)
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
