package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/routes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestFlooded: where full buffers hold up others a region carries less in all, but more arrives where its traffic ends;
// before a host that takes little, less does.
func TestFlooded(t *testing.T) {
	g := graphOf(t, "torus:4x4x4")
	end, _ := g.FindDevice("0,0,2")
	stalls := map[string]float64{"0,0,1>0,0,2": 80, "0,0,2>0,0,3": 80}
	p, _, _ := readings(t, g, stalls, map[string]float64{"0,0,1>0,0,2": 20, "0,0,2>0,0,3": 20, "0,0,2>1,0,2": 20})
	s := &Stage{graph: g}
	for _, c := range []struct {
		name   string
		before float64
		drain  drain
		want   bool
	}{
		{"more arrives", 2, drain{device: end, fit: .6}, true},
		{"less arrives", 40, drain{device: end, fit: .6}, false},
		{"not known what was before", -1, drain{device: end, fit: .6}, false},
		{"no end", 2, drain{}, false},
		{"added on the tree", 40, drain{device: end, fit: .6, grew: true}, true},
	} {
		p.before = func(schema.LinkID) float64 { return c.before }
		if got := s.floods(&regionCase{onset: 3, drain: c.drain}, p); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestFollowedNeck: a link that most of a region was followed to and for which packets wait needs no tree of suspects.
func TestFollowedNeck(t *testing.T) {
	around := &drain{tree: .2}
	for _, c := range []struct {
		neck neck
		want bool
	}{
		{neck{fit: .4, share: .9, waits: .9}, true},
		{neck{fit: .4, share: .9, waits: .1}, false},
		{neck{fit: .4, share: .1, waits: .9}, false},
		{neck{fit: .5, share: .1, waits: 0}, true},
	} {
		if got := c.neck.before(around); got != c.want {
			t.Errorf("%+v: %v, want %v", c.neck, got, c.want)
		}
	}
}

// TestPartsShareAnEnd: a part of a tree that does not show where it ends takes the end of the part beside it that does,
// if its links lead there; what lies apart, leads elsewhere or began at another time does not.
func TestPartsShareAnEnd(t *testing.T) {
	g := graphOf(t, "torus:8x8x8")
	end, _ := g.FindDevice("0,0,4")
	stalls := map[string]float64{"0,0,2>0,0,3": 80, "0,0,3>0,0,4": 80, "0,7,2>0,0,2": 80, "0,6,2>0,7,2": 80, "3,3,3>3,3,4": 80, "0,1,2>1,1,2": 80, "0,1,2>0,1,3": 80}
	p, _, _ := readings(t, g, stalls, map[string]float64{"0,7,2>0,0,2": 20, "0,6,2>0,7,2": 20, "3,3,3>3,3,4": 20, "0,1,2>0,1,3": 20})
	s := &Stage{graph: g, router: routes.NewRouter(g)}
	part := func(onset int, names ...string) regionCase {
		rc := regionCase{region: &schema.Region{Metric: schema.CreditStall}, onset: onset, neck: neck{link: schema.NoLink}}
		for _, n := range names {
			rc.region.Links = append(rc.region.Links, linkBetween(t, g, n))
		}
		slices.Sort(rc.region.Links)
		return rc
	}
	for _, c := range []struct {
		name string
		part regionCase
		want bool
	}{
		{"beside it", part(5, "0,7,2>0,0,2", "0,6,2>0,7,2"), true},
		{"apart", part(5, "3,3,3>3,3,4"), false},
		{"leads elsewhere", part(5, "0,1,2>0,1,3"), false},
		{"began at another time", part(15, "0,7,2>0,0,2", "0,6,2>0,7,2"), false},
	} {
		whole := part(4, "0,0,2>0,0,3", "0,0,3>0,0,4")
		whole.drain, whole.flooded = drain{device: end, fit: .9, grew: true}, true
		cases := []regionCase{whole, c.part}
		s.shareEnds(cases, false, p, &schema.Snapshot{Links: g.NumLinks(), Series: []schema.Series{*p.stall}})
		if got := cases[1].shared && cases[1].drain.device == end && cases[1].flooded; got != c.want {
			t.Errorf("%s: shares the end %v, want %v", c.name, got, c.want)
		}
	}
}

// TestLaterJobsDidNotBegin: a job that began well after a region did not cause it, whatever it has added since.
func TestLaterJobsDidNotBegin(t *testing.T) {
	s := &Stage{clock: clock{duration: 60e9, now: 100}}
	rc := &regionCase{stall: make([]float64, 30), onset: 19} // began in slot 90
	for start, want := range map[int64]bool{80: false, 90: false, 92: false, 96: true} {
		if got := s.beganLater(rc, &job{Job: schema.Job{Start: schema.Instant(start * 60e9)}}); got != want {
			t.Errorf("began in slot %d: later %v, want %v", start, got, want)
		}
	}
}

// TestWhatFoundARegionDidNotCauseIt: a job that began or a link that failed, unless the region stalls far more since then, or the
// clocks may be off. A region that is older than what is remembered was there before all of it.
func TestWhatFoundARegionDidNotCauseIt(t *testing.T) {
	s := &Stage{clock: clock{duration: 60e9, now: 100}}
	rc := &regionCase{stall: make([]float64, 30), onset: 19} // began in slot 90
	level := func(from int, stall float64) {
		for i := from; i < len(rc.stall); i++ {
			rc.stall[i] = stall
		}
	}
	level(19, 40)
	rc.stall[21] = math.NaN()
	started := func(want map[int64]bool) {
		t.Helper()
		for start, want := range want {
			if got := s.foundStalled(rc, schema.Instant(start*60e9)); got != want {
				t.Errorf("began in slot %d: found it stalled %v, want %v", start, got, want)
			}
		}
	}
	started(map[int64]bool{80: false, 90: false, 91: false, 92: true, 93: true, 100: true, 101: false})
	if score := s.failureScore(rc, &failure{Failure: schema.Failure{Time: 95 * 60e9}}, 0, 1, nil); score != leastScore {
		t.Errorf("a link that failed when the region stalled as it does now has the score %v, want %v", score, leastScore)
	}
	level(22, 90)
	started(map[int64]bool{93: false, 96: true})
	level(0, 90)
	rc.onset = -1
	started(map[int64]bool{80: false, 96: false})
	rc.old = true
	started(map[int64]bool{70: false, 80: true, 96: true})
}

// TestAJobHoldsItselfUp: where added load is a tree of a job's nodes to one of them, that all that it moves fell does not
// speak for it, as it does for a victim whose links the tree crosses.
func TestAJobHoldsItselfUp(t *testing.T) {
	own, other := &job{devices: []topology.DeviceID{3, 5, 9}}, &job{devices: []topology.DeviceID{4, 6}}
	meetsAt := func(d topology.DeviceID, agree float64) func(*regionCase, *suspect) {
		return func(rc *regionCase, _ *suspect) {
			rc.drain = drain{device: 4, fit: .4, grew: true, job: other, meeting: meeting{device: d, agree: agree, grew: true}}
		}
	}
	full := regionCase{flooded: true, drain: drain{device: 5, fit: .7, grew: true, job: own}}
	for _, c := range []struct {
		name   string
		change func(rc *regionCase, c *suspect)
		want   bool
	}{
		{"ends at its own node", func(*regionCase, *suspect) {}, true},
		{"ends elsewhere", func(rc *regionCase, _ *suspect) { rc.drain.device = 4 }, false},
		{"a tree of another job's", func(rc *regionCase, _ *suspect) { rc.drain.job = other }, false},
		{"nothing was added", func(rc *regionCase, _ *suspect) { rc.drain.grew = false }, false},
		{"less arrives there", func(rc *regionCase, _ *suspect) { rc.flooded = false }, false},
		{"hardly a tree", func(rc *regionCase, _ *suspect) { rc.drain.fit = .4 }, false},
		{"meets at its own node", meetsAt(9, .8), true},
		{"meets elsewhere", meetsAt(4, .8), false},
		{"hardly meets", meetsAt(9, .1), false},
		{"meets there, but not all is its own", func(rc *regionCase, c *suspect) { meetsAt(9, .8)(rc, c); c.cross = .8 }, false},
	} {
		rc, suspected := full, suspect{job: own, cross: .95}
		c.change(&rc, &suspected)
		if got := rc.endsAtOwn(&suspected); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := full.holdsItselfUp(&suspect{}); got != jobConverges+jobRise {
		t.Errorf("it holds itself up: %v", got)
	}
	full.moved = 1
	if got := full.holdsItselfUp(&suspect{}); got != 0 {
		t.Errorf("a link that failed added the load, and %v speaks for the job", got)
	}
}

// TestACulpritMovesWhatArrives: what was added at the switch where the traffic of a region of a grid ends comes over all of its
// links, and is what a culprit moves a part of; not where less arrives than before.
func TestACulpritMovesWhatArrives(t *testing.T) {
	g := graphOf(t, "torus:4x4x4")
	end, _ := g.FindDevice("0,0,2")
	uses := map[string]float64{"0,0,1>0,0,2": 20, "0,0,2>0,0,3": 30, "0,0,2>1,0,2": 10}
	p, _, region := readings(t, g, map[string]float64{"0,0,1>0,0,2": 80, "0,0,2>0,0,3": 80}, uses)
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for before, grows := range map[float64]bool{5: true, 60: false} {
		want := 0.
		for name, use := range uses {
			if l := linkBetween(t, g, name); grows {
				want += (use - before) / 100 * g.Capacity(l)
			}
		}
		p.before = func(l schema.LinkID) float64 { return min(before, max(before-5, p.useOf(l))) }
		rc := &regionCase{onset: 3, region: &schema.Region{Links: region}, drain: drain{device: end, fit: .6}}
		rc.flooded = s.floods(rc, p)
		if got := s.arrivesMore(rc, p); got < want-1 || !grows && got > 0 {
			t.Errorf("%g%% before: %.3g bytes/s arrive more, want %.3g", before, got, want)
		}
		s.drain(rc, p)
		if got := s.arrivesMore(rc, p); got == 0 == grows || rc.carries != got {
			t.Errorf("%g%% before: the region carries %.3g bytes/s, and %.3g arrive more", before, rc.carries, got)
		}
	}
}
