package diagnose

import (
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
)

// endScene is a torus on which the traffic of a region ends at 1,1,1, where the load of each link rose by 4% of its
// capacity, and the traffic of a job of some nodes rose by more, bytes/s.
func endScene(t *testing.T, arrives, more float64, nodes ...string) (*Stage, *regionCase, *job, *root.Pressure) {
	t.Helper()
	g := roottest.Graph(t, "torus:4x4x4")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	end, found := g.FindDevice("1,1,1")
	if !found {
		t.Fatal("the torus has no 1,1,1")
	}
	uses := map[string]float64{}
	for _, l := range g.LinksAt(end) {
		from, to := g.Ends(l)
		uses[g.Device(from).Name+">"+g.Device(to).Name] = 8
	}
	p, _ := readings(t, g, nil, uses)
	s.read = &p.Readings
	p.Before = func(schema.LinkID) float64 { return 4 }
	s.history.Clock.Duration = 60e9
	j := &job{Job: &history.Job{Job: schema.Job{ID: "1", Nodes: nodes}, Traffic: history.NewTraffic(1, 0)}}
	j.Place(g)
	s.settle(j)
	rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{}, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 4), onset: 3}, root: rootLoad{link: schema.NoLink}, ends: ends{fullLink: schema.NoLink, arrives: times(arrives)}}
	rc.ends.drain.Device, rc.ends.drain.Fit = end, .9
	j.recent, j.baseline = cachedVolume{known: true, volume: volume{all: 60 * more}}, cachedVolume{known: true, slots: rc.timeline.baseline(), volume: volume{ran: 1}}
	return s, rc, j, p
}

// A job's node that gets less than its share of the job's exchange does not take what arrives; one that gets more is
// sent too much, as is one where the load rose many times.
func TestANodeThatGetsLessThanItsShareStarves(t *testing.T) {
	nodes := []string{"1,1,1", "1,1,2", "2,1,1", "2,1,2"}
	_, rc, j, p := endScene(t, 1, 0, nodes...)
	end, _ := rc.ends.end()
	arrives := p.ArrivesMore(end)
	share := rc.in.brings(rc.ends.drain.Device, j, 1)
	for _, c := range []struct {
		name    string
		shares  float64 // that its exchange would bring there, relative to the load added there
		arrives float64
		want    float64
	}{
		{"an incast", .3, 1.2, 0},
		{"half of its share arrives", 2, 1.2, 1},
		{"half of its share, but many times what it was", 2, 4, 0},
	} {
		_, rc, _, p := endScene(t, c.arrives, c.shares*arrives/share, nodes...)
		if got := gridOf(rc).shortfall(&rc.ends, p); got != c.want {
			t.Errorf("%s: %.2f, want %.2f", c.name, got, c.want)
		}
	}
	_, rc, _, p = endScene(t, 1.2, 2*arrives/share, "3,3,3", "3,3,2")
	if got := gridOf(rc).shortfall(&rc.ends, p); got != 0 {
		t.Errorf("a node of no job gets less by %.2f", got)
	}
}

// TestANodeIsDeniedItsShare: where nothing is known from before a region, a job's node at which back pressure surely
// ends and where half of its share of the job's exchange arrives belongs to a slow host. Its share, an incast, or an
// end that may be a link do not show one.
func TestANodeIsDeniedItsShare(t *testing.T) {
	nodes := []string{"1,1,1", "1,1,2", "2,1,1", "2,1,2"}
	_, rc, j, p := endScene(t, 0, 0, nodes...)
	share, arrives := rc.in.brings(rc.ends.drain.Device, j, 1), p.ArrivesInAll(rc.ends.drain.Device)
	for _, c := range []struct {
		name                           string
		shares, ended, fit, load, want float64
		slow                           bool
		nodes                          []string
	}{
		{"half of its share arrives", 2, .95, .9, 0, 1, true, nodes},
		{"its share arrives", 1, .95, .9, 0, 0, false, nodes},
		{"an incast", .3, .95, .9, 0, 0, false, nodes},
		{"it may end at a link", 2, .8, .9, 0, 0, false, nodes},
		{"where it ends is not known well", 2, .95, .6, 0, 0, false, nodes},
		{"the load before is known", 2, .95, .9, 1.3, 0, false, nodes},
		{"a node of no job", 2, .95, .9, 0, 0, false, []string{"3,3,3", "3,3,2"}},
	} {
		_, rc, j, p := endScene(t, 0, 0, c.nodes...)
		p.Before = func(schema.LinkID) float64 { return -1 }
		rc.timeline.onset, rc.load, rc.ends.drain.Fit = noOnset, times(c.load), c.fit
		j.recent.all = 60 * c.shares * arrives / share
		rc.ends.endings.Any.Found, rc.ends.endings.AtNodes = true, c.ended
		if rc.ends.starved = gridOf(rc).shortfall(&rc.ends, p); rc.ends.starved != c.want {
			t.Errorf("%s: %.2f, want %.2f", c.name, rc.ends.starved, c.want)
		}
		if rc.load = times(0); rc.rules().slowHostScore() > 0 != c.slow {
			t.Errorf("%s: score %.2f of a slow host", c.name, rc.rules().slowHostScore())
		}
	}
}

// TestANodeThatGetsMoreThanItsShareIsOverloaded: many send to a node of a job at which most of what the job moves
// arrives. Where as much arrives as the job's exchange brings, or at a node of another, a host may be slow.
func TestANodeThatGetsMoreThanItsShareIsOverloaded(t *testing.T) {
	nodes := []string{"1,1,1", "1,1,2", "2,1,1", "2,1,2"}
	_, rc, j, p := endScene(t, 1, 0, nodes...)
	share := rc.in.brings(rc.ends.drain.Device, j, 1)
	arrives := 2 * p.ArrivesMore(rc.ends.drain.Device) // half of it did before
	for _, c := range []struct {
		name   string
		shares float64 // that its exchange brings there, relative to what arrives
		nodes  []string
		want   bool
	}{
		{"an incast", .3, nodes, true},
		{"its share arrives", 1, nodes, false},
		{"another's node", .3, []string{"3,3,3", "3,3,2"}, false},
	} {
		_, rc, j, _ := endScene(t, 1, c.shares*arrives/share, c.nodes...)
		if got := rc.overloads(&suspect{job: j, known: true}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAJobConcentratesOnItsOwnNode: what a job moved before goes to one of its nodes, and back pressure surely ends
// there. The load there is the job's, though its total did not grow, unless another is there, too little more arrives,
// or it moves too little.
func TestAJobConcentratesOnItsOwnNode(t *testing.T) {
	nodes := []string{"1,1,1", "1,1,2", "2,1,1", "2,1,2"}
	_, rc, j, p := endScene(t, 1, 0, nodes...)
	share := rc.in.brings(rc.ends.drain.Device, j, 1)
	arrives := 2 * p.ArrivesMore(rc.ends.drain.Device)
	for _, c := range []struct {
		name                  string
		shares, grew, atNodes float64
		nodes                 []string
		others, want          bool
	}{
		{"an incast", .5, 2, .95, nodes, false, true},
		{"perhaps not at its node", .5, 2, .8, nodes, false, false},
		{"no more arrives", .5, 1.1, .95, nodes, false, false},
		{"its share arrives", 1, 2, .95, nodes, false, false},
		{"it moves too little", .05, 2, .95, nodes, false, false},
		{"another's node", .5, 2, .95, []string{"3,3,3", "3,3,2"}, false, false},
		{"a node of two jobs", .5, 2, .95, nodes, true, false},
	} {
		s, rc, j, _ := endScene(t, c.grew, 0, c.nodes...)
		j.recent.all = 60 * c.shares * arrives / share
		rc.ends.endings.Any.Found, rc.ends.endings.AtNodes = true, c.atNodes
		if c.others {
			other := &job{Job: &history.Job{Job: schema.Job{ID: "2", Nodes: c.nodes}}}
			other.Place(s.graph)
			s.settle(other)
		}
		if got := rc.rules().receives(&suspect{job: j, known: true}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	_, rc, j, _ = endScene(t, 2, 0, nodes...)
	j.recent.all, rc.ends.endings.Any.Found, rc.ends.endings.AtNodes = 60*.5*arrives/share, true, .95
	if rc.rules().receives(&suspect{job: j, known: true, file: true, filesKnown: true}) {
		t.Error("a job that hardly reads is blamed for its files")
	}
}

// A job's exchange does not end at a node of no job: only what passes there counts, however much the job grew.
func TestAnExchangeOnlyPassesWhereNoNodeOfItsIs(t *testing.T) {
	for _, c := range []struct {
		name    string
		nodes   []string
		against bool
	}{
		{"its routes do not come near", []string{"3,3,3", "3,3,2", "3,2,3", "3,2,2"}, true},
		{"it ends there", []string{"1,1,1", "1,1,2", "2,1,1", "2,1,2"}, false},
	} {
		_, rc, j, _ := endScene(t, 1.5, 1e12, c.nodes...)
		rc.root.carries = 1
		if got := rc.tooLittlePenalty(&suspect{job: j, known: true}); got > 0 != c.against {
			t.Errorf("%s: %.1f against the job", c.name, got)
		}
	}
}

// A region waits for a full link: a job that grew by what was added to the link can have filled it, even if more
// arrives at the switch to which it leads, where traffic that goes on is counted twice. A job that grew by less, or
// does not use the link, is judged as before.
func TestWhoFillsALinkGrewByWhatWasAddedToIt(t *testing.T) {
	for name, c := range map[string]struct {
		full    string
		grew    float64 // relative to the load added to the full link
		against bool
	}{
		"as much as was added":         {"1,1,0>1,1,1", 1, false},
		"a third of it":                {"1,1,0>1,1,1", .33, true},
		"a link it does not lead over": {"0,3,2>1,3,2", 1, true},
		"no link is full":              {"", 1, true},
	} {
		s, rc, j, p := endScene(t, 1.5, 0, "1,1,0", "1,1,1")
		on := roottest.Link(t, s.graph, "1,1,0>1,1,1")
		added, _ := p.Added(on)
		if j.recent.all = 60 * c.grew * added; c.full != "" {
			rc.ends.fullLink = roottest.Link(t, s.graph, c.full)
		}
		rc.root.carries = 1
		if got := rc.tooLittlePenalty(&suspect{job: j, known: true}); got > 0 != c.against {
			t.Errorf("%s: %.1f against the job", name, got)
		}
	}
}

// Several jobs that write to one storage node share the load added there: one with a third of it is a culprit if the
// others, with what is left, rose at the onset, too, but not if they did not or if it has a small part.
func TestJobsFillAStorageNodeTogether(t *testing.T) {
	for name, c := range map[string]struct {
		own, others, rise float64 // of the load added, and whether the others rose
		against           bool
	}{
		"a third each":          {.33, .66, 1, false},
		"the others did before": {.33, .66, 0, true},
		"it is alone":           {.33, 0, 1, true},
		"a small part":          {.1, .9, 1, true},
	} {
		_, rc, j, p := endScene(t, 1.5, 0, "1,1,0", "1,1,1")
		more := 60 * p.ArrivesMore(rc.ends.drain.Device)
		writer := func(j *job, part, rise float64) suspect {
			j.recent.all, j.recent.files = part*more, part*more
			return suspect{job: j, known: true, file: true, filesKnown: true, evidence: evidence{rise: rise}}
		}
		other := *j
		rc.root.carries, rc.suspects = 1, []suspect{writer(j, c.own, 1), writer(&other, c.others, c.rise)}
		if got := rc.tooLittlePenalty(&rc.suspects[0]); got > 0 != c.against {
			t.Errorf("%s: %.1f against the job", name, got)
		}
	}
}

// TestStallWhereNoTrafficCanBe: if no load is measured, it counts against any suspect that the stall lies where its
// traffic cannot be.
func TestStallWhereNoTrafficCanBe(t *testing.T) {
	for _, c := range []struct {
		loads       bool
		space, want float64
	}{{true, .5, 0}, {false, 1, 0}, {false, .5, jobUnplaced / 2}} {
		s, rc, _, _ := endScene(t, 1.5, 0, "1,1,0", "1,1,1")
		s.measuresLoad = c.loads
		if got := gridOf(rc).unplacedPenalty(c.space); got != c.want {
			t.Errorf("%+v: %v against it", c, got)
		}
	}
}
