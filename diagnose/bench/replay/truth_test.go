package replay

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/credits"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// sceneOf is a fabric of two leaves with eight hosts each, and the jobs and faults of a test.
func sceneOf(t *testing.T, jobs []job, faults ...fault) *scene {
	t.Helper()
	g, err := topology.Parse("test", "fattree:leaves=2,hosts=8,spines=4")
	if err != nil {
		t.Fatal(err)
	}
	return &scene{graph: g, seed: 3, send: 1, receive: 1, ports: portsOf(g), jobs: jobs, faults: faults, length: 20, states: map[string]*state{}}
}

// running is a job that moves something all the time.
func running(id string, pairs [][2]int, duty float64) job {
	return job{id: id, end: 20, traffic: []traffic{{pairs: pairs, cells: 3, duty: duty, from: math.MinInt, to: 20}}}
}

// truthAt is the truth of a region of all links, in a minute.
func truthAt(t *testing.T, s *scene, minute int) bench.Truth {
	t.Helper()
	p := &play{in: &Incident{scene: *s}}
	p.minute.half, p.minute.channels = halves*minute, routing.NewChannels(s.graph)
	for h := range halves {
		p.minute.states[h] = s.at(halves*minute + h)
	}
	region := &schema.Region{}
	o, err := s.replay(p.minute.states[0], noCause)
	if err != nil {
		t.Fatal(err)
	}
	for l, stall := range o.stall {
		if stall >= stalled {
			region.Links = append(region.Links, schema.LinkID(l))
		}
	}
	truth, err := p.truthOf(region)
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

func hostsFrom(first, n int) (hosts []int) {
	for h := range n {
		hosts = append(hosts, first+h)
	}
	return hosts
}

// The truth of scenes whose cause is plain.
func TestTruth(t *testing.T) {
	incast := running("incast", toOne(hostsFrom(0, 7), 8), .95)
	incast.hosts = hostsFrom(0, 9)
	outward := incast
	outward.hosts = hostsFrom(0, 7)
	unlisted := incast
	unlisted.unlisted = true
	victim := running("victim", opposite([]int{0, 1, 2, 9, 10, 11}), .4)
	small := running("small", [][2]int{{0, 9}, {9, 0}}, .15)
	beside := job{id: "beside", end: 20, traffic: []traffic{{pairs: opposite(hostsFrom(0, 16)), cells: 1, rate: .25, to: 20}}}
	elsewhere := running("elsewhere", [][2]int{{14, 15}, {15, 14}}, .9)
	writer := job{id: "writer", end: 20, traffic: []traffic{{pairs: toOne(hostsFrom(0, 7), 8), cells: 3, rate: .4, file: writes, to: 20}}}
	service := job{id: "service", end: 20, traffic: []traffic{{pairs: allToAll(hostsFrom(0, 16)), cells: 4, rate: .025, to: 20}}}
	slow := fault{kind: slowHost, device: 5, share: .1, to: 20}
	for _, c := range []struct {
		name    string
		jobs    []job
		faults  []fault
		classes []schema.CauseClass
		blamed  []string
		root    bench.Place
	}{
		{"an incast that hurts no other job", []job{incast, elsewhere}, nil, []schema.CauseClass{schema.CauseIntraApplication}, []string{"incast"}, bench.Place{Device: "leaf1", Port: "1"}},
		{"an incast at a host of others", []job{outward, elsewhere}, nil, []schema.CauseClass{schema.CauseSystem, schema.CauseIntraApplication}, []string{"incast"}, bench.Place{Device: "leaf1", Port: "1"}},
		{"an incast on the way of others", []job{elsewhere, incast, victim}, nil, []schema.CauseClass{schema.CauseSystem}, []string{"incast"}, bench.Place{Device: "leaf1", Port: "1"}},
		{"an incast that hurts only a job with little traffic there", []job{incast, small}, nil, []schema.CauseClass{schema.CauseSystem, schema.CauseIntraApplication}, []string{"incast"}, bench.Place{Device: "leaf1", Port: "1"}},
		{"an incast beside others that wait, but lose little", []job{incast, beside}, nil, []schema.CauseClass{schema.CauseSystem, schema.CauseIntraApplication}, []string{"incast"}, bench.Place{Device: "leaf1", Port: "1"}},
		{"an incast of a job that is not listed", []job{unlisted, victim}, nil, []schema.CauseClass{schema.CauseUnknown}, nil, bench.Place{Device: "leaf1", Port: "1"}},
		{"file traffic", []job{writer, elsewhere}, nil, []schema.CauseClass{schema.CauseSystem}, []string{"writer"}, bench.Place{Device: "leaf1", Port: "1"}},
		{"a slow host", []job{service}, []fault{slow}, []schema.CauseClass{schema.CauseSlowHost}, nil, bench.Place{Device: "host5"}},
	} {
		truth := truthAt(t, sceneOf(t, c.jobs, c.faults...), 3)
		if !truth.Scored || !slices.Equal(truth.Classes, c.classes) || !slices.Equal(truth.Jobs, c.blamed) || !slices.Contains(truth.Roots, c.root) {
			t.Errorf("%s: %+v; want %v by %v at %v", c.name, truth, c.classes, c.blamed, c.root)
		}
	}
}

// Two jobs without which half of the waiting is gone are both right; a job that merely waits is not.
func TestTruthOfTwoJobs(t *testing.T) {
	a := running("a", toOne(hostsFrom(0, 4), 8), .95)
	b := running("b", toOne(hostsFrom(4, 4), 8), .95)
	truth := truthAt(t, sceneOf(t, []job{a, b}), 3)
	if !slices.Equal(truth.Jobs, []string{"a", "b"}) {
		t.Errorf("%+v; want both jobs", truth)
	}
}

// What a cable's failure diverts waits elsewhere: the failed cable and the port that is full now are right.
func TestTruthOfAFailure(t *testing.T) {
	service := job{id: "service", end: 20, traffic: []traffic{{pairs: opposite(hostsFrom(0, 16)), cells: 4, rate: .2, to: 20}}}
	s := sceneOf(t, []job{service})
	c := routing.NewChannels(s.graph)
	for _, port := range []string{"leaf0 9", "leaf0 10", "leaf0 11"} {
		ch, err := c.Find(port)
		if err != nil {
			t.Fatal(err)
		}
		device, _ := c.Ends(ch)
		_, back := c.Ports(device, port[len("leaf0 "):])
		s.faults = append(s.faults, fault{kind: linkDown, device: device, port: port[len("leaf0 "):], channels: []routing.Channel{ch, back}, from: 4, to: 20})
	}
	truth := truthAt(t, s, 3)
	for _, root := range []bench.Place{{Device: "leaf0", Port: "9"}, {Device: "leaf0", Port: "12"}} {
		if !slices.Equal(truth.Classes, []schema.CauseClass{schema.CauseFailure}) || len(truth.Jobs) > 0 || !slices.Contains(truth.Roots, root) {
			t.Errorf("%+v; want a failure with root %v", truth, root)
		}
	}
	if truth := truthAt(t, s, 0); truth.Scored {
		t.Errorf("before the failure: %+v", truth)
	}
	s.jobs[0].hosts, s.jobs[0].traffic[0].from = hostsFrom(0, 16), 10
	for i := range s.faults {
		s.faults[i].from = 2
	}
	if truth, want := truthAt(t, s, 6), []schema.CauseClass{schema.CauseFailure, schema.CauseIntraApplication}; !slices.Equal(truth.Classes, want) || len(truth.Jobs) == 0 {
		t.Errorf("of a job that began long after the failure: %+v; want %v", truth, want)
	}
}

// Of ports at which the waits begin alike, each of four is a root, none of eight.
func TestRootsStandOut(t *testing.T) {
	s := sceneOf(t, nil)
	for ports, want := range map[int]bool{4: true, 8: false} {
		in := minute{channels: routing.NewChannels(s.graph)}
		o := &outcome{}
		for ch := range routing.Channel(ports) {
			o.waits = append(o.waits, credits.Wait{Channel: 20, At: ch, Times: 10})
		}
		for h := range in.states {
			in.states[h] = &state{all: o}
		}
		var truth bench.Truth
		if s.findRoots(&truth, []schema.LinkID{in.channels.Link(20)}, &in); (len(truth.Roots) > 0) != want {
			t.Errorf("of %d ports: %v", ports, truth.Roots)
		}
	}
}

// Loads rise in steps; a job's end ends them.
func TestLevels(t *testing.T) {
	ramp := traffic{from: 4, to: 12, low: .2, risesAt: 2, rises: 2}
	var got []int
	for half := range 13 {
		got = append(got, ramp.level(half))
	}
	if want := []int{0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("levels %v, want %v", got, want)
	}
	if ramp.share(1) != .2 || ramp.share(levels) != 1 {
		t.Errorf("shares %v to %v, want .2 to 1", ramp.share(1), ramp.share(levels))
	}
}
