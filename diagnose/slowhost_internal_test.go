package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// TestAHostThatTakesLess: if less arrives than before, only a host that does not take it explains a region; if as much arrives, or
// load was added, that is unlikely.
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
		{"load was added where it meets", .7, 1, func(rc *regionCase) { rc.drain.Meeting.Grew = true }, false},
		{"a link is full", .7, 1, func(rc *regionCase) { rc.full = 3 }, false},
		{"it ends at a link", .5, .9, func(rc *regionCase) { rc.endings.Any.Found = true }, false},
		{"something failed", .7, 1, func(rc *regionCase) { rc.failures = []nearFailure{{score: 1}} }, false},
	} {
		rc := &regionCase{loadChange: loadChange{load: c.load}, ends: ends{arrives: c.arrives, full: schema.NoLink, drain: root.Drain{Fit: .8}}}
		c.change(rc)
		if got := rc.scores().takesLess(); got > 0 != c.slow {
			t.Errorf("%s: score %.2f", c.name, got)
		}
	}
}

// TestWhereItEndsTellsHostsFromLinks: back pressure that ends at a switch's nodes speaks against a link, and the reverse; a tree that fits
// almost exactly ends at nodes, and without an end nothing speaks against either.
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
		if host, link := endsElsewhere(rc.atNodes()) > 0, endsElsewhere(1-rc.atNodes()) > 0; host != c.host || link != c.link {
			t.Errorf("%s: against a host: %v, against a link: %v", c.name, host, link)
		}
	}
}
