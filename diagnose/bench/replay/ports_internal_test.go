package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/credits"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// sceneOn is sceneOf on another fabric. A name that ends with "adapters" has a device for each port of a host.
func sceneOn(t *testing.T, fabric string, fileRails int, jobs ...job) *scene {
	t.Helper()
	s := sceneOf(t, jobs)
	spec, isOfAdapters := strings.CutSuffix(fabric, " adapters")
	g, err := topology.Parse("test", spec)
	if err == nil && isOfAdapters {
		g, err = withAdapters(g)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.graph, s.ports = g, portsOf(g)
	s.ports.fileRails = fileRails
	return s
}

const (
	fourRails  = "fattree:leaves=2,hosts=8,spines=4,rails=4"
	fourPlanes = "fattree:leaves=2,hosts=8,spines=4,planes=4"
	twoPlanes  = "fattree:leaves=4,hosts=8,spines=4,planes=2"
	leafPairs  = "fattree:leaves=4,hosts=8,spines=4,rails=2"
)

// flowsOf routes the first traffic of a scene's first job, with some ports down. Ports are named as by routing.Find.
func flowsOf(t *testing.T, s *scene, down ...string) ([]credits.Flow, *routing.Channels) {
	t.Helper()
	c := routing.NewChannels(s.graph)
	for _, name := range down {
		ch, err := c.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		device, _ := c.Ends(ch)
		_, back := c.Ports(device, name[len(s.graph.Device(device).Name)+1:])
		c.SetUp(ch, false)
		c.SetUp(back, false)
	}
	router, err := routing.New(c, routing.Default)
	if err != nil {
		t.Fatal(err)
	}
	return s.flows(router, c, 0, &s.jobs[0], &s.jobs[0].traffic[0]), c
}

// countPorts counts flows by the numbers of the hosts' ports that they leave and enter, as "1>1".
func countPorts(s *scene, flows []credits.Flow) map[string]int {
	number := map[routing.Channel]int{}
	for h := range s.ports.devices {
		for i := range s.ports.many {
			number[s.ports.out[h][i]], number[s.ports.in[h][i]] = i+1, i+1
		}
	}
	count := map[string]int{}
	for _, f := range flows {
		count[fmt.Sprintf("%d>%d", number[f.Path[0]], number[f.Path[len(f.Path)-1]])]++
	}
	return count
}

// A pair exchanges over all rails, and where a port or a plane is gone over others.
func TestFlowsUseAllPorts(t *testing.T) {
	across := running("across", [][2]int{{0, 8}}, .5)
	inPlace := running("beside", [][2]int{{0, 1}}, .5)
	reader := running("reader", [][2]int{{0, 8}}, .5)
	reader.traffic[0].file = reads
	one := running("one", [][2]int{{0, 8}}, .5)
	one.hasRail, one.rail = true, 2
	spread := running("spread", allToAll(hostsFrom(0, 32)), .5)
	for _, c := range []struct {
		name, fabric string
		job          job
		down         []string
		want         map[string]int // nil: every one of some, by hash
		some         []string
	}{
		{"rails", fourRails, across, nil, map[string]int{"1>1": 1, "2>2": 1, "3>3": 1, "4>4": 1}, nil},
		{"adapters", fourRails + " adapters", across, nil, map[string]int{"1>1": 1, "2>2": 1, "3>3": 1, "4>4": 1}, nil},
		{"file traffic", fourRails, reader, nil, map[string]int{"1>1": 1, "2>2": 1}, nil},
		{"a job on one rail", fourRails, one, nil, map[string]int{"3>3": 1}, nil},
		{"three of the sender's ports are down", fourRails, across, []string{"host0 1", "host0 2", "host0 4"}, map[string]int{"3>1": 1, "3>2": 1, "3>3": 1, "3>4": 1}, nil},
		{"and of its adapters", fourRails + " adapters", across, []string{"host0 mlx5_0 1", "host0 mlx5_1 1", "host0 mlx5_3 1"}, map[string]int{"3>1": 1, "3>2": 1, "3>3": 1, "3>4": 1}, nil},
		{"of planes, whose other ports do not reach", fourPlanes, across, []string{"host0 1", "host0 2", "host8 4"}, map[string]int{"3>3": 4}, nil},
		{"a plane without spines", twoPlanes, across, []string{"leaf0-0 9", "leaf0-0 10", "leaf0-0 11", "leaf0-0 12"}, map[string]int{"2>2": 2}, nil},
		{"and on its leaf", twoPlanes, spread, nil, nil, []string{"1>1", "2>2"}},
		{"pairs of leaves", leafPairs, spread, nil, nil, []string{"1>1", "1>2", "2>1", "2>2"}},
		{"hosts of one pair", leafPairs, running("pair", allToAll(hostsFrom(0, 8)), .5), nil, nil, []string{"1>1", "2>2"}},
		{"no port", fourRails, inPlace, []string{"host0 1", "host0 2", "host0 3", "host0 4"}, map[string]int{}, nil},
	} {
		s := sceneOn(t, c.fabric, 2, c.job)
		flows, _ := flowsOf(t, s, c.down...)
		got := countPorts(s, flows)
		right := len(got) == len(c.want)
		for by, n := range c.want {
			right = right && got[by] == n
		}
		if c.want == nil {
			right = len(got) == len(c.some) && len(flows) == 2*len(c.job.traffic[0].pairs)
			for _, by := range c.some {
				right = right && 2*len(c.some)*got[by] > len(flows)
			}
		}
		if !right {
			t.Errorf("%s: %v; want %v%v", c.name, got, c.want, c.some)
		}
	}
}

// The flows of a pair are in one round.
func TestRoundsOfRails(t *testing.T) {
	j := running("all", allToAll(hostsFrom(0, 16)), .5)
	j.traffic[0].rounds = 3
	flows, _ := flowsOf(t, sceneOn(t, fourRails, 1, j))
	rounds := map[[2]topology.DeviceID]map[int]bool{}
	for i, f := range flows {
		pair := [2]topology.DeviceID{f.From, f.To}
		if rounds[pair] == nil {
			rounds[pair] = map[int]bool{}
		}
		rounds[pair][i%3] = true
	}
	for pair, in := range rounds {
		if len(in) > 1 {
			t.Errorf("the flows of %v are in rounds %v", pair, in)
		}
	}
}

// The truth of scenes whose cause is at a port that is not the host's first.
func TestTruthAtOtherPorts(t *testing.T) {
	incast := running("incast", toOne(hostsFrom(0, 7), 8), .95)
	incast.hosts = hostsFrom(0, 9)
	first, third := incast, incast
	first.hasRail, third.hasRail, third.rail = true, true, 2
	first.id = "first"
	s := sceneOn(t, fourRails, 1, third)
	if truth, want := truthAt(t, s, 3), (bench.Place{Device: "leaf2-1", Port: "1"}); !slices.Equal(truth.Jobs, []string{"incast"}) || !slices.Contains(truth.Roots, want) || slices.Contains(truth.Roots, bench.Place{Device: "leaf0-1", Port: "1"}) {
		t.Errorf("an incast in rail 2: %+v; want root %v", truth, want)
	}
	beside := running("incast", toOne(hostsFrom(8, 8), 8), .95) // without spines, by which rails would differ
	beside.traffic[0].cells = 12
	if truth := truthAt(t, sceneOn(t, fourRails, 1, beside), 3); len(truth.Roots) != 8 { // the port of each rail, by both of its ends
		t.Errorf("an incast in all rails: roots %v", truth.Roots)
	}
	elsewhere := third
	elsewhere.id, elsewhere.rail = "elsewhere", 1
	if truth := truthAt(t, sceneOn(t, fourPlanes, 1, elsewhere, first, running("small", [][2]int{{0, 8}}, .01)), 3); len(truth.Jobs) != 2 {
		t.Errorf("incasts in two planes: jobs %v, want both", truth.Jobs)
	}
}

// What a host exchanged by ports that failed fills the one that is left.
func TestTruthOfAFailedPort(t *testing.T) {
	service := job{id: "service", end: 20, traffic: []traffic{{pairs: append(toOne(hostsFrom(1, 7), 8), opposite(hostsFrom(0, 16))...), cells: 4, rate: .065, from: math.MinInt, to: 20}}}
	service.hosts = hostsFrom(0, 16)
	s := sceneOn(t, twoPlanes, 2, service)
	c := routing.NewChannels(s.graph)
	into := c.In(s.graph.Hosts()[8])
	d := draft{scene: s, channels: c, site: &site{graph: s.graph}}
	d.cut(fault{kind: linkDown, from: 4, to: 20}, into[1])
	if truth := truthAt(t, s, 0); truth.Scored {
		t.Errorf("before the failure: %+v", truth)
	}
	truth := truthAt(t, s, 3)
	for _, root := range []bench.Place{{Device: "leaf1-1", Port: "1"}, {Device: "leaf0-1", Port: "1"}} {
		if !slices.Equal(truth.Classes, []schema.CauseClass{schema.CauseFailure}) || !slices.Contains(truth.Roots, root) {
			t.Errorf("%+v; want a failure with root %v", truth, root)
		}
	}
}

// Every fabric of the set has hosts with several ports, all of which carry something when an incident begins; some have a
// device for each, all of which are nodes of the job.
func TestRailsAreUsed(t *testing.T) {
	seen := map[string]bool{}
	for seed := int64(1); seed < 60 && len(seen) < 8; seed++ {
		in, err := draw("rails", Crossing, seed, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if seen[in.Topology] {
			continue
		}
		seen[in.Topology] = true
		s := &in.scene
		o, err := s.replay(s.at(in.Onset+10), noCause)
		if err != nil {
			t.Fatal(err)
		}
		used := make([]int, s.ports.many)
		for h := range s.ports.devices {
			for port, ch := range s.ports.out[h] {
				if o.sent[ch] > 0 {
					used[port]++
				}
			}
		}
		if len(used) < 2 || 6*slices.Min(used) < len(s.ports.devices) {
			t.Errorf("%s: hosts that send, by port: %v", in.Topology, used)
		}
		r := &schema.IntervalResult{Snapshot: &schema.Snapshot{}}
		newReader(in).show(r, 0, make([]float64, 99))
		for _, j := range r.Jobs {
			own := s.jobs[slices.IndexFunc(s.jobs, func(x job) bool { return x.id == j.ID })]
			if len(j.Nodes) != len(own.hosts)*len(s.ports.devices[0]) {
				t.Errorf("%s: job of %d hosts has nodes %q", in.Topology, len(own.hosts), j.Nodes)
			}
		}
	}
	if len(seen) != 8 { // three of five twice
		t.Errorf("fabrics drawn: %v", seen)
	}
}
