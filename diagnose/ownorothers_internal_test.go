package diagnose

import (
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

func TestOthersShareOfWhatWaits(t *testing.T) {
	suspectOf := func(id string, nodes int, waits float64, moved float64) suspect {
		j := &job{Job: &history.Job{Job: schema.Job{ID: id}, Devices: make([]topology.DeviceID, nodes)}}
		if moved > 0 {
			j.Traffic, j.recent = &history.Traffic{}, cachedVolume{known: true, volume: volume{all: moved}}
		}
		return suspect{job: j, waitPerByte: waits}
	}
	for _, c := range []struct {
		name string
		jobs []suspect
		want float64
	}{
		{"no job waits", []suspect{suspectOf("a", 8, 0, 0)}, 1},
		{"alone", []suspect{suspectOf("a", 8, .5, 0), suspectOf("b", 100, 0, 0)}, 0},
		{"as many others wait as much", []suspect{suspectOf("a", 8, .5, 0), suspectOf("b", 8, .5, 0)}, .5},
		{"many others wait a little", []suspect{suspectOf("a", 10, .5, 0), suspectOf("b", 50, .05, 0)}, 1. / 3},
		{"others move a quarter", []suspect{suspectOf("a", 8, .5, 800), suspectOf("b", 8, .5, 200)}, 1. / 3},
		{"many nodes that move as much in all", []suspect{suspectOf("a", 2, .5, 800), suspectOf("b", 8, .5, 800)}, 2. / 3},
		{"what others move is not known", []suspect{suspectOf("a", 8, .5, 800), suspectOf("b", 8, .5, 0)}, .5},
		{"requeued, it is itself", []suspect{suspectOf("a", 8, .5, 0), suspectOf("a", 8, .5, 0)}, 0},
	} {
		s, err := New(roottest.Graph(t, "torus:4x4x4"), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		rc := &regionCase{in: &s.interval, suspects: c.jobs}
		if got := rc.othersPart(&rc.suspects[0]); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.3f, want %.3f", c.name, got, c.want)
		}
	}
}

// Near the boundary between the classes either is likely to be right, far from it one is all but certain. The part of
// others over the last intervals counts, not in a single one.
func TestClassByTheOthersPart(t *testing.T) {
	for _, fabric := range []string{"fattree:leaves=2,hosts=10,spines=1", "torus:4x4x4", "torus:4x4x2"} {
		g := roottest.Graph(t, fabric)
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		s.history.Clock.Duration = 60e9
		p, _ := readings(t, g, nil, nil)
		s.read = &p.Readings
		own, other := &job{Job: &history.Job{Job: schema.Job{ID: "1"}, Devices: make([]topology.DeviceID, 10)}}, &job{Job: &history.Job{Job: schema.Job{ID: "2"}, Devices: make([]topology.DeviceID, 10)}}
		region := &schema.Region{ID: 1, Links: []schema.LinkID{0}}
		if s.router.Grid == nil { // as many nodes of both jobs send over the link
			region.Links[0] = roottest.Link(t, g, "leaf0>spine0")
			own.Devices, other.Devices = hostsOf(t, g, "host0", "host10"), hostsOf(t, g, "host1", "host11")
		}
		if s.measuresLoad = fabric == "torus:4x4x2"; s.measuresLoad { // both exchange over the link
			own.Devices, other.Devices = hostsOf(t, g, "0,0,0", "1,0,0"), hostsOf(t, g, "0,0,0", "1,0,0")
		}
		classOf := func(part float64, onset int, accused int) (schema.CauseClass, float64) {
			rc := &regionCase{in: &s.interval, pressure: p, region: region, waits: []float64{.5}, timeline: timeline{clock: s.history.Clock, onset: onset}, root: rootLoad{link: schema.NoLink}, ends: ends{fullLink: schema.NoLink}}
			rc.suspects = []suspect{{job: own, cross: 1, share: 1 - part, waitPerByte: 1 - part}, {job: other, cross: 1, share: part, waitPerByte: part}}
			if s.router.Grid == nil || s.measuresLoad {
				own.Traffic, other.Traffic = &history.Traffic{}, &history.Traffic{}
				own.recent, other.recent = cachedVolume{known: true, volume: volume{all: 1 - part}}, cachedVolume{known: true, volume: volume{all: part}}
			}
			return rc.classOf(accused)
		}
		last, least := 1., 1.
		for part := 0.; part < .9; part += .01 {
			class, right := classOf(part, -1, 1)
			if class == schema.CauseIntraApplication && (right > last || right < least && part > .5) || right < .7 || right > 1 {
				t.Errorf("%s: of %.2f others' %s with %.2f", fabric, part, class, right)
			}
			last, least = right, min(least, right)
		}
		if first, _ := classOf(0, -1, 1); first != schema.CauseIntraApplication || least > .95 || last < .95 {
			t.Errorf("%s: alone %s, at the boundary %.2f, of others %.2f", fabric, first, least, last)
		}
		if class, right := classOf(0, -1, 2); class != schema.CauseSystem || right != 1 {
			t.Errorf("%s: two accused: %s %.2f", fabric, class, right)
		}
		s.earlier.means[1] = &meanScores{}
		for i, part := range []float64{.1, .1, .1, .7} {
			if class, _ := classOf(part, 20, 1); class != schema.CauseIntraApplication && part < .5 || i == 3 && s.earlier.means[1].parts != meanIntervals {
				t.Errorf("%s: interval %d: %s", fabric, i, class)
			}
		}
		if m := s.earlier.means[1]; math.Abs(m.others-.25) > 1e-9 {
			t.Errorf("%s: a mean of %.3f", fabric, m.others)
		}
	}
}

// Load at a host without a job is file traffic, even if only its senders are at the region; at another job's host it is
// not the accused's alone, either.
func TestClassAtAHostOfNoJob(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.history.Clock.Duration = 60e9
	p, region := readings(t, g, map[string]float64{"host1>leaf0": 50}, nil)
	s.read = &p.Readings
	own := &job{Job: &history.Job{Job: schema.Job{ID: "1"}, Devices: hostsOf(t, g, "host1", "host2")}}
	rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{ID: 1, Links: region}, waits: []float64{.5}, suspects: []suspect{{job: own, cross: 1, waitPerByte: .5}}, timeline: timeline{clock: s.history.Clock, onset: -1}}
	rc.back.Root.Link, rc.back.Root.Kind = roottest.Link(t, g, "leaf0>host0"), schema.RootIncast
	if class, right := rc.classOf(1); class != schema.CauseSystem || right != 1 {
		t.Errorf("%s %.2f", class, right)
	}
	_, host := g.Ends(rc.back.Root.Link)
	s.tenants[host] = []*job{{Job: &history.Job{Job: schema.Job{ID: "2"}}}}
	if class, right := rc.classOf(1); class != schema.CauseSystem || right != 1 {
		t.Errorf("at another job's host: %s %.2f", class, right)
	}
	own = &job{Job: &history.Job{Job: schema.Job{ID: "1"}, Devices: hostsOf(t, g, "host0", "host1", "host2")}}
	rc.suspects[0].job, s.tenants[host] = own, []*job{own}
	if class, _ := rc.classOf(1); class != schema.CauseIntraApplication {
		t.Errorf("at its own host: %s", class)
	}
}

func hostsOf(t *testing.T, g *topology.Graph, names ...string) (found []topology.DeviceID) {
	t.Helper()
	for _, name := range names {
		d, known := g.FindDevice(name)
		if !known {
			t.Fatalf("no host %s", name)
		}
		found = append(found, d)
	}
	return found
}

// Others' part in a link is the least of what their exchanges put there and of what it carried before, of what it
// carries now. Job 1 has host0 and host2, job 2 host1 and host3; half of what each moves goes from leaf0 to leaf1.
// Capacities are 1% = 1.
func TestOthersLoad(t *testing.T) {
	const across = "leaf0>spine0"
	for _, c := range []struct {
		name       string
		stalls     map[string]float64
		carries    float64 // by the link across, percent
		before     float64 // -1: not known
		own, other float64 // moved, percent of a link's capacity
		comparable bool
		want       float64
	}{
		{"alone", map[string]float64{across: 50}, 60, 0, 120, 0, true, 0},
		{"half is others'", map[string]float64{across: 50}, 60, -1, 60, 60, true, .5},
		{"the rest is the accused's, however little of its exchange is there", map[string]float64{across: 50}, 90, -1, 20, 20, true, 1. / 9},
		{"others have no more than was there before", map[string]float64{across: 50}, 60, 6, 60, 60, true, .1},
		{"others have no more than they move, whatever was there before", map[string]float64{across: 50}, 60, 50, 60, 12, true, .1},
		{"no readings of load", map[string]float64{across: 50}, 0, -1, 30, 10, true, .25},
		{"traffic that is not measured as load is", map[string]float64{across: 50}, 60, 60, 3, 1, false, .25},
		{"others wait at their host", map[string]float64{across: 30, "host1>leaf0": 10}, 60, 0, 120, 0, true, .25},
		{"no job's link waits", map[string]float64{across: 30, "spine0>leaf2": 10}, 60, 0, 120, 0, true, .25},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := roottest.Graph(t, "fattree:leaves=3,hosts=2,spines=1")
			s, err := New(g, DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			s.history.Clock.Duration, s.comparable = 1e9, c.comparable
			p, region := readings(t, g, c.stalls, map[string]float64{across: c.carries})
			s.read = &p.Readings
			p.Before = func(schema.LinkID) float64 { return c.before }
			percent := g.Capacity(roottest.Link(t, g, across)) / 100
			jobOf := func(id string, moved float64, hosts ...string) *job {
				return &job{Job: &history.Job{Job: schema.Job{ID: id}, Devices: hostsOf(t, g, hosts...), Traffic: &history.Traffic{}}, recent: cachedVolume{known: true, volume: volume{all: moved * percent}}}
			}
			rc := &regionCase{in: &s.interval, pressure: p, region: &schema.Region{Links: region}, suspects: []suspect{
				{job: jobOf("1", c.own, "host0", "host2"), cross: 1}, {job: jobOf("2", c.other, "host1", "host3"), cross: 1}}}
			for _, l := range region {
				rc.waits = append(rc.waits, c.stalls[g.Device(g.Link(l).From).Name+">"+g.Device(g.Link(l).To).Name]/100)
			}
			if got := rc.othersPart(&rc.suspects[0]); math.Abs(got-c.want) > 1e-6 {
				t.Errorf("%.3f, want %.3f", got, c.want)
			}
		})
	}
}

// TestAStandingRegionOfFiles: a job that moves mostly files is in the way of others, even if nothing shows when it began
// to; with an onset, evidence by time shows whether the files stall the region.
func TestAStandingRegionOfFiles(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=3,spines=1")
	for name, c := range map[string]struct {
		files float64
		known bool
		onset int
		rdma  bool // the table has its RDMA traffic, so that files may be from links
		want  bool
	}{
		"mostly files":       {.6, true, noOnset, false, true},
		"few files":          {.4, true, noOnset, false, false},
		"with an onset":      {.6, true, 4, false, false},
		"its traffic unread": {0, false, noOnset, false, false},
		"by links":           {.6, true, noOnset, true, false},
	} {
		p, _ := readings(t, g, nil, nil)
		s, j := oneWriter(t, g, p, 0)
		j.recent.volume, j.Traffic.Listed[history.RDMARead] = volume{all: 1, files: c.files}, c.rdma
		rc := &regionCase{in: &s.interval, pressure: p, timeline: timeline{clock: s.history.Clock, stall: make([]float64, 6), onset: c.onset}}
		if got := rc.mostlyFiles(&suspect{job: j, known: c.known, filesKnown: true}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestAnExchangeEndsAtItsOwn: back pressure that surely ends at nodes away from a job's is not of its exchange.
func TestAnExchangeEndsAtItsOwn(t *testing.T) {
	g := roottest.Graph(t, "torus:6x6x6")
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	at := hostsOf(t, g, "2,2,2")[0]
	for _, c := range []struct {
		name    string
		node    string
		link    schema.LinkID
		atNodes float64
		want    bool
	}{
		{"at others'", "2,3,4", schema.NoLink, .95, true},
		{"at its own", "2,2,2", schema.NoLink, .95, false},
		{"beside it on the line", "2,2,3", schema.NoLink, .95, false},
		{"perhaps at a link", "2,3,4", schema.NoLink, .8, false},
		{"at a link", "2,3,4", 7, .95, false},
	} {
		rc := &regionCase{in: &s.interval}
		rc.ends.endings.Any, rc.ends.endings.AtNodes = root.Ending{Found: true, Device: at, Link: c.link}, c.atNodes
		if got := rc.endsOutside(&job{Job: &history.Job{Devices: hostsOf(t, g, c.node)}}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestBehindAFullPortOfItsOwn: where all waits for a host of the accused alone, others that pass behind it are held up,
// and make that no contention, unless their hosts wait to send, too.
func TestBehindAFullPortOfItsOwn(t *testing.T) {
	g := roottest.Graph(t, "fattree:leaves=2,hosts=4,spines=1")
	port := roottest.Link(t, g, "leaf0>host0")
	for name, c := range map[string]struct {
		waits string
		want  schema.CauseClass
	}{
		"a link that others pass": {"spine0>leaf0", schema.CauseIntraApplication},
		"a host of others":        {"host5>leaf1", schema.CauseSystem},
	} {
		s, err := New(g, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		own := &job{Job: &history.Job{Job: schema.Job{ID: "1"}, Devices: hostsOf(t, g, "host0", "host4")}}
		s.tenants = make([][]*job, g.NumDevices())
		s.tenants[own.Devices[0]] = []*job{own}
		p, _ := readings(t, g, nil, nil)
		s.read = &p.Readings
		s.tenants[hostsOf(t, g, "host5")[0]] = []*job{{Job: &history.Job{Job: schema.Job{ID: "2"}}}}
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 1, Links: []schema.LinkID{roottest.Link(t, g, c.waits)}},
			waits: []float64{.5}, suspects: []suspect{{job: own}}, // its exchange is not seen on the link: all there is others'
			back: root.BackPressure{Root: root.Port{Link: port, Kind: schema.RootIncast}}}
		if class, _ := rc.classOf(1); class != c.want {
			t.Errorf("%s waits: %s, want %s", name, class, c.want)
		}
	}
}
