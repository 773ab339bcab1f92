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
		{"something failed", .7, 1, func(rc *regionCase) { rc.failures = []nearFailure{{score: 1}} }, false},
	} {
		rc := &regionCase{arrives: c.arrives, load: c.load, full: schema.NoLink, drain: root.Drain{Fit: .8}}
		c.change(rc)
		if got := rc.takesLess(); got > 0 != c.slow {
			t.Errorf("%s: score %.2f", c.name, got)
		}
	}
}
