package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// TestWhatFoundARegionDidNotCauseIt: a job that began or a link that failed after a region did not cause it, unless the
// region stalls far more since, or the clocks may be off. A region older than what is remembered was there before
// either.
func TestWhatFoundARegionDidNotCauseIt(t *testing.T) {
	s := &Stage{interval: interval{history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{Duration: 60e9, Now: 100})}}
	rc := &regionCase{in: &s.interval, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 30), onset: 19}} // began in slot 90
	level := func(from int, stall float64) {
		for i := from; i < len(rc.timeline.stall); i++ {
			rc.timeline.stall[i] = stall
		}
	}
	level(19, 40)
	rc.timeline.stall[21] = math.NaN()
	started := func(want map[int64]bool) {
		t.Helper()
		for start, want := range want {
			if got := rc.timeline.foundStalled(schema.Instant(start * 60e9)); got != want {
				t.Errorf("began in slot %d: found it stalled %v, want %v", start, got, want)
			}
		}
	}
	started(map[int64]bool{80: false, 90: false, 91: false, 92: true, 93: true, 100: true, 101: false})
	if score, _ := rc.rateFailure(&history.PlacedFailure{Failure: schema.Failure{Time: 95 * 60e9}}, 0, 1); score != leastScore {
		t.Errorf("a link that failed when the region stalled as it does now has the score %v, want %v", score, leastScore)
	}
	level(22, 90)
	started(map[int64]bool{93: false, 96: true})
	level(0, 90)
	rc.timeline.onset = -1
	started(map[int64]bool{80: false, 96: false})
	rc.timeline.old = true
	started(map[int64]bool{70: false, 80: true, 96: true})
}

// TestAJobHoldsItselfUp: if added load is a tree from a job's nodes to one of them, a fall of the job's total traffic
// does not exonerate it, as it does a victim whose links the tree crosses.
func TestAJobHoldsItselfUp(t *testing.T) {
	s, err := New(roottest.Graph(t, "torus:4x4x8"), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	const line = 4 * 4 // from a switch to the next one of the last dimension
	own, other := &job{Job: &history.Job{Devices: []topology.DeviceID{3, 5, 9}}}, &job{Job: &history.Job{Devices: []topology.DeviceID{4, 6}}}
	endsAt := func(d topology.DeviceID, l schema.LinkID) func(*regionCase, *suspect) {
		return func(rc *regionCase, c *suspect) {
			rc.ends.sender, rc.ends.endings = other, root.Endings{OfMeans: true, Any: root.Ending{Found: true, Device: d, Link: l}}
		}
	}
	meetsAt := func(d topology.DeviceID, agree float64) func(*regionCase, *suspect) {
		return func(rc *regionCase, _ *suspect) {
			rc.ends.drain, rc.ends.sender = root.Drain{Device: 4, Fit: .4, Grew: true, Meeting: root.Meeting{Device: d, Agree: agree, Grew: true}}, other
		}
	}
	full := regionCase{in: &s.interval, ends: ends{flooded: true, drain: root.Drain{Device: 5, Fit: .7, Grew: true}, sender: own}}
	for _, c := range []struct {
		name   string
		change func(rc *regionCase, c *suspect)
		want   bool
	}{
		{"ends at its own node", func(*regionCase, *suspect) {}, true},
		{"ends beside it on the line", func(rc *regionCase, _ *suspect) { rc.ends.drain.Device = 5 + line }, false},
		{"the same of a tree that fits all but exactly", func(rc *regionCase, _ *suspect) { rc.ends.drain.Device, rc.ends.drain.Fit = 5+line, .98 }, true},
		{"which ends two steps from it", func(rc *regionCase, _ *suspect) { rc.ends.drain.Device, rc.ends.drain.Fit = 5+2*line, .98 }, false},
		{"such a tree, whatever other places say", func(rc *regionCase, c *suspect) {
			endsAt(4, schema.NoLink)(rc, c)
			rc.ends.sender, rc.ends.drain.Fit = c.job, .98
		}, true},
		{"of all places, at its own node", endsAt(9, schema.NoLink), true},
		{"of all places, at another", endsAt(4, schema.NoLink), false},
		{"of all places, at a link", endsAt(9, 1), false},
		{"of all places, where readings are no means", func(rc *regionCase, c *suspect) { endsAt(9, schema.NoLink)(rc, c); rc.ends.endings.OfMeans = false }, false},
		{"ends elsewhere", func(rc *regionCase, _ *suspect) { rc.ends.drain.Device = 4 }, false},
		{"a tree of another job's", func(rc *regionCase, _ *suspect) { rc.ends.sender = other }, false},
		{"nothing was added", func(rc *regionCase, _ *suspect) { rc.ends.drain.Grew = false }, false},
		{"less arrives there", func(rc *regionCase, _ *suspect) { rc.ends.flooded = false }, false},
		{"hardly a tree", func(rc *regionCase, _ *suspect) { rc.ends.drain.Fit = .4 }, false},
		{"meets at its own node", meetsAt(9, .8), true},
		{"meets elsewhere", meetsAt(4, .8), false},
		{"hardly meets", meetsAt(9, .1), false},
		{"meets there, but not all is its own", func(rc *regionCase, c *suspect) { meetsAt(9, .8)(rc, c); c.cross = .8 }, false},
	} {
		rc, suspected := full, suspect{job: own, cross: .95}
		c.change(&rc, &suspected)
		if got := gridOf(&rc).endsAtOwn(&suspected); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	for _, c := range []struct{ arrives, want float64 }{{0, 0}, {1, 0}, {2, jobConverges + jobRise}} {
		full.ends.arrives = times(c.arrives)
		if got := gridOf(&full).holdsItselfUp(&suspect{known: true}); got != c.want {
			t.Errorf("where %g times as much arrives as before, %v speaks for it, want %v", c.arrives, got, c.want)
		}
	}
	full.ends.drain.Idle = true // buffers are not full, so its traffic would have changed
	for _, c := range []struct{ rise, want float64 }{{0, unmoved * jobConverges}, {1, jobConverges}} {
		if got := gridOf(&full).holdsItselfUp(&suspect{known: true, evidence: evidence{rise: c.rise}}); got != c.want {
			t.Errorf("where links idle and its traffic rises by %g, %v speaks for it, want %v", c.rise, got, c.want)
		}
	}
	if got := gridOf(&full).holdsItselfUp(&suspect{}); got != jobConverges {
		t.Errorf("where links idle and its traffic is unknown, %v speaks for it, want all that the tree does", got)
	}
	full.rerouted = 1
	if got := gridOf(&full).holdsItselfUp(&suspect{}); got != 0 {
		t.Errorf("a link that failed added the load, and %v speaks for the job", got)
	}
}

// TestACulpritMovesWhatArrives: load added at the switch where the traffic of a region of a grid ends arrives over all
// of its links, and a culprit moves a part of it; not if less arrives than before.
func TestACulpritMovesWhatArrives(t *testing.T) {
	g := roottest.Graph(t, "torus:4x4x4")
	end, _ := g.FindDevice("0,0,2")
	uses := map[string]float64{"0,0,1>0,0,2": 20, "0,0,2>0,0,3": 30, "0,0,2>1,0,2": 10}
	p, region := readings(t, g, map[string]float64{"0,0,1>0,0,2": 80, "0,0,2>0,0,3": 80}, uses)
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.read = &p.Readings
	for before, grows := range map[float64]bool{5: true, 60: false} {
		want := 0.
		for name, use := range uses {
			if l := roottest.Link(t, g, name); grows {
				want += (use - before) / 100 * g.Capacity(l)
			}
		}
		p.Before = func(l schema.LinkID) float64 { return min(before, max(before-5, p.UseOf(l))) }
		rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}, timeline: timeline{clock: s.history.Clock, onset: 3}, ends: ends{drain: root.Drain{Device: end, Fit: .6}}}
		rc.ends.flooded = p.IsFlooded(&rc.ends.drain, end)
		arrives := func() float64 {
			if !rc.ends.flooded {
				return 0
			}
			return p.ArrivesMore(end)
		}
		if got := arrives(); got < want-1 || !grows && got > 0 {
			t.Errorf("%g%% before: %.3g bytes/s arrive more, want %.3g", before, got, want)
		}
		rc.ends.drain, _ = s.finder.Region(p, region).Drain(nil)
		rc.ends.arrives, rc.ends.flooded = gridOf(rc).arriving(&rc.ends, p)
		if got := arrives(); got == 0 == grows || rc.ends.arrives.isAbove(1) != grows {
			t.Errorf("%g%% before: %.3g bytes/s arrive more, %.2f times what did", before, got, rc.ends.arrives.times)
		}
	}
}

// TestTheNearestJobs: of many jobs around a region only the maxSuspects nearest are listed, without those that cross
// it.
func TestTheNearestJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 3, maxSuspects - 1, maxSuspects, maxSuspects + 1, 400} {
		w := interval{scratch: reused{round: 7}}
		var want []*job
		for order := range n {
			j := &job{Job: &history.Job{}, order: order, hops: int8(rng.IntN(3)), round: 7}
			if w.scratch.around = append(w.scratch.around, j); order%5 == 1 {
				j.round = 0 // crosses it
				continue
			}
			want = append(want, j)
		}
		rng.Shuffle(n, func(a, b int) { w.scratch.around[a], w.scratch.around[b] = w.scratch.around[b], w.scratch.around[a] })
		slices.SortStableFunc(want, func(a, b *job) int { return cmp.Compare(a.hops, b.hops) })
		if got := w.nearest(); !slices.Equal(got, want[:min(len(want), maxSuspects)]) {
			t.Errorf("of %d jobs %d others than the nearest are listed", n, len(got))
		}
	}
}

// TestReadersStaySuspects: a job that reads from elsewhere stays a suspect, however many jobs have more traffic across
// the region.
func TestReadersStaySuspects(t *testing.T) {
	reader := &job{Job: &history.Job{}}
	rc := &regionCase{in: &interval{runningJobs: runningJobs{readers: []*job{reader}}}}
	for i := range 2 * maxSuspects {
		rc.suspects = append(rc.suspects, suspect{job: &job{Job: &history.Job{}}, cross: float64(i+1) / 100})
	}
	rc.suspects = append(rc.suspects, suspect{job: reader, hops: -1})
	rc.dropFarthest()
	if len(rc.suspects) != maxSuspects || !slices.ContainsFunc(rc.suspects, func(c suspect) bool { return c.job == reader }) {
		t.Errorf("%d suspects, without the reader", len(rc.suspects))
	}
	for i := range rc.suspects {
		if c := &rc.suspects[i]; c.job != reader && c.cross <= float64(maxSuspects+1)/100 {
			t.Errorf("a job with a share of %v stays, one with more is dropped", c.cross)
		}
	}
}

// TestAReaderBeyondTheNearest: a job that reads from elsewhere is a suspect within the hops, too, if others are nearer.
func TestAReaderBeyondTheNearest(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=40,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	place := func(host string) *job {
		j := &job{Job: &history.Job{Job: schema.Job{ID: host, Nodes: []string{host}}}}
		j.Place(g)
		s.settle(j)
		return j
	}
	for i := range 40 {
		place(fmt.Sprint("host", i))
	}
	s.readers = []*job{place("host50")}
	rc := &regionCase{in: &s.interval, region: &schema.Region{Links: []schema.LinkID{roottest.Link(t, g, "leaf0>spine0")}}}
	rc.findSuspects()
	if len(rc.suspects) != maxSuspects || !slices.ContainsFunc(rc.suspects, func(c suspect) bool { return c.job == s.readers[0] }) {
		t.Errorf("%d suspects, without the reader", len(rc.suspects))
	}
}
