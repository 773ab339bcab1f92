package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// tiedUp is a snapshot of a torus on which links carry and stall what is set.
type tiedUp struct {
	stage *Stage
	p     *pressure
	was   map[schema.LinkID]float64 // percent carried before
}

func newTiedUp(t *testing.T) *tiedUp {
	t.Helper()
	s, err := New(graphOf(t, "torus:8x8x8"), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	n := s.graph.NumLinks()
	snap := &schema.Snapshot{Links: n}
	for _, m := range []schema.Metric{schema.CreditStall, schema.BandwidthUsed} {
		series := schema.Series{Metric: m, Values: make([]float32, n), Valid: schema.NewBitmap(n), Count: n}
		for l := range n {
			series.Valid.Set(l)
		}
		snap.Series = append(snap.Series, series)
	}
	u := &tiedUp{stage: s, p: newPressure(s.graph, s.router.Grid, snap), was: map[schema.LinkID]float64{}}
	u.p.stall = snap.Find(schema.CreditStall)
	u.p.ends = &s.work.ends
	u.p.before = func(l schema.LinkID) float64 { return u.was[l] }
	return u
}

func (u *tiedUp) device(t *testing.T, name string) topology.DeviceID {
	t.Helper()
	d, ok := u.stage.graph.FindDevice(name)
	if !ok {
		t.Fatal(name)
	}
	return d
}

// send lets senders add a percent of a 15 GB/s link each to all links on their ways, which always have more to send.
func (u *tiedUp) send(senders []topology.DeviceID, to topology.DeviceID) (links []schema.LinkID) {
	for _, d := range senders {
		u.stage.router.Grid.EachOnRoute(d, to, func(l schema.LinkID) {
			if u.p.use.Values[l] == 0 {
				links = append(links, l)
			}
			u.p.use.Values[l] += float32(100 * .15e9 / u.stage.graph.Capacity(l))
			u.p.stall.Values[l] = 100 - u.p.use.Values[l]
		})
	}
	return links
}

// TestTrafficConverges: senders with one switch for their goal show it, by what was added to links and by which wait,
// not where the senders are of another job.
func TestTrafficConverges(t *testing.T) {
	u := newTiedUp(t)
	var senders, others []topology.DeviceID
	for i, name := range []string{"0,1,2", "1,5,2", "2,2,6", "4,4,5", "5,0,1", "3,6,3", "6,3,0", "1,1,4", "7,7,3"} {
		senders = append(senders, u.device(t, name))
		others = append(others, topology.DeviceID(17*i+5))
	}
	slices.Sort(senders)
	goal := u.device(t, "3,3,2")
	links := u.send(senders, goal)
	h := &u.stage.work.held
	h.take(links, u.p)
	if !h.grew {
		t.Fatal("all that the links carry was added, and it is not seen")
	}
	best, at := 0., topology.DeviceID(0)
	ends, most := h.ends(u.p)
	if !most {
		t.Error("no line has most of one tree")
	}
	for _, d := range ends {
		if fit := h.treeFit(senders, d, u.p); fit > best {
			best, at = fit, d
		}
	}
	if at != goal || best < .98 {
		t.Errorf("the tree ends at %s with a fit of %.3f, want %s", u.stage.graph.Device(at).Name, best, u.stage.graph.Device(goal).Name)
	}
	if fit := h.treeFit(others, goal, u.p); fit > drainFit {
		t.Errorf("the tree of other senders fits by %.3f", fit)
	}
	d := drain{device: goal, fit: best, senders: senders}
	if !d.excludes(&suspect{job: &job{devices: others}}) || d.excludes(&suspect{job: &job{devices: senders}}) {
		t.Error("who is excluded is not who does not send")
	}
	rc, c := &regionCase{region: &schema.Region{}, drain: d, onset: -1}, &suspect{job: &job{devices: others}, cross: 1, growth: 1, burden: 1, known: true}
	if u.stage.rate(rc, c, u.p); !math.IsInf(c.score, -1) {
		t.Errorf("where nobody who is known sends the tree, a job that does not has a score of %.1f", c.score)
	}
	rc.drain.job = &job{devices: senders}
	if u.stage.rate(rc, c, u.p); math.IsInf(c.score, -1) {
		t.Error("the tree of another job leaves no score")
	}
}

// TestSeveralTrees: of traffic that ends on two lines, neither of which has most of it, the ends are those of the line with more.
func TestSeveralTrees(t *testing.T) {
	u := newTiedUp(t)
	var links []schema.LinkID
	for goal, senders := range map[string][]string{"3,3,2": {"3,3,4", "3,3,0", "3,1,2"}, "6,6,6": {"6,6,4", "6,6,0", "6,4,6", "6,0,6"}} {
		var from []topology.DeviceID
		for _, name := range senders {
			from = append(from, u.device(t, name))
		}
		links = append(links, u.send(from, u.device(t, goal))...)
	}
	slices.Sort(links)
	h := &u.stage.work.held
	h.take(links, u.p)
	ends, most := h.ends(u.p)
	if most || len(ends) != 8 || !slices.Contains(ends, u.device(t, "6,6,6")) {
		t.Errorf("%d ends, want the line of 6,6,6", len(ends))
	}
}

// TestALinkThatLostRate: what an exchange of a job sends over one link waits before it, and it carries less than it did.
func TestALinkThatLostRate(t *testing.T) {
	u := newTiedUp(t)
	grid := u.stage.router.Grid
	var nodes []topology.DeviceID
	for d := range topology.DeviceID(u.stage.graph.NumDevices()) {
		if c := u.stage.graph.Device(d).Coord; max(c[0], c[1], c[2]) < 5 {
			nodes = append(nodes, d)
		}
	}
	slow := linkBetween(t, u.stage.graph, "2,2,2>2,2,3")
	tail := u.device(t, "2,2,2")
	waits := map[schema.LinkID]bool{}
	for _, a := range nodes {
		for _, b := range nodes {
			var way []schema.LinkID
			grid.EachOnRoute(a, b, func(l schema.LinkID) {
				u.p.use.Values[l] += .15
				u.was[l] += .15
				way = append(way, l)
			})
			for i, l := range way {
				if l == slow && u.stage.graph.Device(a).Coord[2] <= 2 { // upwards
					for _, before := range way[:i] {
						waits[before] = true
					}
				}
			}
		}
	}
	var links []schema.LinkID
	for l := range schema.LinkID(u.stage.graph.NumLinks()) {
		if waits[l] {
			u.p.stall.Values[l] = 50
			links = append(links, l)
		}
	}
	u.p.use.Values[slow] /= 4
	rc := &regionCase{region: &schema.Region{Metric: schema.CreditStall, Links: links}, jobs: []suspect{{job: &job{devices: nodes}, cross: 1}}}
	u.stage.converge(rc, u.p)
	if n := rc.neck; n.link != slow || n.tail != tail || !n.slower || math.Abs(n.lost-.75) > .01 || !n.before(&rc.drain) {
		t.Errorf("neck %+v, want link %d from device %d; drain %+v", n, slow, tail, rc.drain)
	}
	if root := u.stage.centreRoot(rc, &verdict{class: schema.CauseFailure}); root == nil || root.Device != "2,2,2" || root.Port != "Z+" || root.Kind != linkCapacity {
		t.Errorf("root %+v", root)
	}
	if u.stage.slowLinkScore(rc) <= slowLinkFell {
		t.Errorf("score %v", u.stage.slowLinkScore(rc))
	}
	rc.neck.cannot = true
	for load, want := range map[float64]float64{0: slowLinkMeasured, .5: slowLinkMeasured, 8: slowLinkMeasured - mostRose} { // what broke makes nothing carry more
		if rc.load = load; u.stage.slowLinkScore(rc) != want {
			t.Errorf("of a region that carries %g times what it did, a link that shows that it is slow has the score %v, want %v", load, u.stage.slowLinkScore(rc), want)
		}
	}
}

// TestFitsAreExact: sums run in one order, so that the same snapshot gives the same bits.
func TestFitsAreExact(t *testing.T) {
	fits := func() (bits []uint64) {
		u := newTiedUp(t)
		senders := []topology.DeviceID{3, 17, 40, 99, 130, 201, 333, 402, 511}
		links := u.send(senders, 146)
		for i, l := range links {
			u.p.stall.Values[l] *= .3 + .07*float32(i%9)
		}
		rc := &regionCase{region: &schema.Region{Metric: schema.CreditStall, Links: links}, jobs: []suspect{{job: &job{devices: senders}, cross: 1}}}
		u.stage.converge(rc, u.p)
		return append(bits, math.Float64bits(rc.drain.fit), math.Float64bits(rc.drain.tree), math.Float64bits(rc.neck.fit), uint64(rc.drain.device))
	}
	first := fits()
	for range 10 {
		if again := fits(); !slices.Equal(first, again) {
			t.Fatalf("%x, then %x", first, again)
		}
	}
}
