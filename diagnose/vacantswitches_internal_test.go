package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestAnExchangeCongestsItsOwnGround: a region on a torus that lies more than usual on switches without a listed job
// speaks against exchanges that are measured.
func TestAnExchangeCongestsItsOwnGround(t *testing.T) {
	u := newTiedUp(t)
	s := u.stage
	s.findRunning()
	rc := &regionCase{in: &s.interval, p: u.p, region: &schema.Region{Links: []schema.LinkID{0, 1, 2}}}
	gridOf(rc).findEmpty()
	if math.Abs(rc.emptyExcess) > 1e-9 {
		t.Errorf("without jobs a region is emptier than the torus by %.2f", rc.emptyExcess)
	}
	for _, l := range rc.region.Links { // a job at both ends of all links
		from, to := s.graph.Ends(l)
		s.settle(&job{Job: &history.Job{Devices: []topology.DeviceID{from, to}}})
	}
	gridOf(rc).findEmpty()
	if rc.emptyExcess >= 0 {
		t.Errorf("a region among jobs is emptier than the torus by %.2f", rc.emptyExcess)
	}
	rc.emptyExcess = .2
	for name, c := range map[string]struct {
		suspect suspect
		against float64
	}{
		"an exchange": {suspect{known: true}, jobEmpty * (.2 - usualEmpty)},
		"files":       {suspect{known: true, file: true}, 0},
		"unmeasured":  {suspect{}, 0},
	} {
		if got := gridOf(rc).emptyGroundPenalty(&c.suspect); math.Abs(got-c.against) > 1e-9 {
			t.Errorf("%s: %.2f against it, want %.2f", name, got, c.against)
		}
	}
}
