package fluid_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// bench is a fabric with a model and a router on it.
type bench struct {
	graph    *topology.Graph
	channels *routing.Channels
	model    *fluid.Model
	router   *routing.Router
}

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func newBench(t fataler, spec string, cfg fluid.Config) *bench {
	t.Helper()
	g := topologytest.Parse(t, "f", spec)
	b := &bench{graph: g, channels: routing.NewChannels(g)}
	var err error
	if b.model, err = fluid.New(b.channels, cfg); err != nil {
		t.Fatal(err)
	}
	if b.router, err = routing.New(b.channels, routing.Default); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) add(t fataler, f *fluid.Flows, demand float64, src, dst string) {
	t.Helper()
	s, ok1 := b.graph.FindDevice(src)
	d, ok2 := b.graph.FindDevice(dst)
	path, ok := b.router.Append(nil, s, d, 0)
	if !ok || !ok1 || !ok2 {
		t.Fatalf("no way from %s to %s", src, dst)
	}
	f.Add(b.model, demand, s, d, path, false)
}

func (b *bench) channel(t fataler, name string) routing.Channel {
	t.Helper()
	ch, err := b.channels.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func fair() fluid.Config {
	return fluid.Config{SendBytesPerSecond: 1e9, ReceiveBytesPerSecond: 1e9, VictimRatio: math.Inf(1), DrainShare: .05}
}

type demandOf struct {
	src, dst string
	bytes    float64
}

func TestSteadyStates(t *testing.T) {
	type at map[string]float64
	coupled := fair()
	coupled.VictimRatio = 1
	for _, test := range []struct {
		name        string
		spec        string
		cfg         fluid.Config
		flows       []demandOf
		slow        string // host that receives a quarter of its rate
		down        string
		load        at
		credit, inq at
	}{
		{name: "enough for all", spec: "fattree:leaves=2,hosts=3,spines=1,gbps=8", cfg: fair(),
			flows: []demandOf{{"host0", "host3", .3e9}, {"host1", "host3", .6e9}},
			load:  at{"leaf0 4": .9e9, "leaf1 1": .9e9}, credit: at{"host0 1": 0, "leaf0 4": 0}, inq: at{"leaf0 4": 0}},
		{name: "two to one: each sends half of the time and stalls the other half", spec: "fattree:leaves=1,hosts=3,spines=1,gbps=8", cfg: fair(),
			flows: []demandOf{{"host0", "host2", 1e9}, {"host1", "host2", 1e9}},
			load:  at{"leaf0 3": 1e9}, credit: at{"host0 1": .5, "host1 1": .5, "leaf0 3": 0}, inq: at{"leaf0 3": .5}},
		{name: "back pressure reaches the source through switches", spec: "mesh:2x4", cfg: fluid.Config{SendBytesPerSecond: 4e9, ReceiveBytesPerSecond: 1e9, VictimRatio: math.Inf(1), DrainShare: 1},
			flows:  []demandOf{{"0,0", "0,3", 4e9}},
			credit: at{"0,0 Y+": .75, "0,1 Y+": .75, "0,2 Y+": .75}, load: at{"0,2 Y+": 1e9}},
		{name: "a slow host holds up its switch", spec: "fattree:leaves=1,hosts=2,spines=1,gbps=8", cfg: fair(), slow: "host1",
			flows:  []demandOf{{"host0", "host1", 1e9}},
			credit: at{"host0 1": .75, "leaf0 2": .75}, load: at{"leaf0 2": .25e9}},
		{name: "a queue per flow has no victims", spec: "fattree:leaves=2,hosts=3,spines=1,gbps=8", cfg: fair(),
			flows: []demandOf{{"host0", "host3", .5e9}, {"host1", "host4", .5e9}, {"host4", "host3", 1e9}},
			load:  at{"leaf1 2": .5e9, "leaf1 1": 1e9}},
		{name: "one queue for all has", spec: "fattree:leaves=2,hosts=3,spines=1,gbps=8", cfg: coupled, slow: "host3",
			flows:  []demandOf{{"host0", "host3", .5e9}, {"host1", "host4", .5e9}},
			load:   at{"leaf1 1": .25e9, "leaf1 2": .25e9},
			credit: at{"host0 1": .5, "host1 1": .5, "leaf0 4": .5, "leaf1 2": 0}},
		{name: "a dead channel drains slowly and stalls what comes before", spec: "fattree:leaves=2,hosts=2,spines=1,gbps=8", cfg: fair(), down: "leaf0 3",
			flows: []demandOf{{"host0", "host2", 1e9}}, credit: at{"host0 1": .95}, load: at{"leaf0 3": 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, test.spec, test.cfg)
			f := &fluid.Flows{Scale: 1}
			for _, d := range test.flows {
				b.add(t, f, d.bytes, d.src, d.dst)
			}
			if test.slow != "" {
				d, _ := b.graph.FindDevice(test.slow)
				b.model.SetShare(b.model.Receive(d), .25)
			}
			if test.down != "" {
				b.channels.SetUp(b.channel(t, test.down), false)
			}
			var s fluid.State
			b.model.Solve([]*fluid.Flows{f}, &s)
			for _, c := range []struct {
				what string
				want at
				got  []float64
			}{{"load", test.load, s.LoadBytesPerSecond}, {"credit stall", test.credit, s.CreditStall}, {"inq stall", test.inq, s.InqStall}} {
				for name, want := range c.want {
					if got := c.got[b.channel(t, name)]; math.Abs(got-want) > 1e-6*math.Max(1, want) {
						t.Errorf("%s of %s = %v, want %v", c.what, name, got, want)
					}
				}
			}
		})
	}
}

func TestVictimKnowsItsRoot(t *testing.T) {
	cfg := fair()
	cfg.VictimRatio = 1
	b := newBench(t, "fattree:leaves=2,hosts=3,spines=1,gbps=8", cfg)
	aggressor, victim := &fluid.Flows{Owner: 1, Scale: 1}, &fluid.Flows{Owner: 2, Scale: 1}
	b.add(t, aggressor, .5e9, "host0", "host3")
	b.add(t, victim, .5e9, "host1", "host4")
	host3, _ := b.graph.FindDevice("host3")
	b.model.SetShare(b.model.Receive(host3), .25)
	var s fluid.State
	b.model.Solve([]*fluid.Flows{aggressor, victim}, &s)
	owners := map[int]bool{}
	b.model.EachBlocked(b.channel(t, "leaf0 4"), func(f fluid.Blame) {
		owners[f.Owner] = true
		if f.Root != b.model.Receive(host3) {
			t.Errorf("flow of %d is held up by resource %d, want the receiving side of host3", f.Owner, f.Root)
		}
	})
	if !owners[1] || !owners[2] {
		t.Errorf("held up on the shared uplink: owners %v, want 1 and 2", owners)
	}
	if offered, sent := b.model.Sent(victim); offered != .5e9 || sent != .25e9 {
		t.Errorf("victim offers %v and sends %v, want 5e8 and 2.5e8", offered, sent)
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	if err := (fluid.Config{VictimRatio: .5, ContentionShare: 2}).Validate(); err == nil {
		t.Fatal("a config of zeros must not pass")
	} else if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) != 4 {
		t.Errorf("want four faults: %v", err)
	}
	if err := fluid.DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
}

// For any queue sharing: nothing carries more than its capacity, stalls are shares of
// time that leave room for the load, and a fabric without a full resource has no stall
// from back pressure.
func TestStatesAreConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, groups, twins := drawn(t, rapid.SampledFrom([]float64{1, 1.5, 3, math.Inf(1)}).Draw(t, "ratio"))
		var s fluid.State
		b.model.Solve(groups, &s)
		offered := map[fluid.Resource]float64{}
		for _, f := range twins {
			for _, r := range f.path {
				offered[r] += f.demand
			}
		}
		full := false
		for r, o := range offered {
			full = full || o > b.model.Capacity(r)
		}
		for ch, load := range s.LoadBytesPerSecond {
			c := b.model.Capacity(fluid.Resource(ch))
			used, credit, inq := load/c, s.CreditStall[ch], s.InqStall[ch]
			if !(used <= 1+1e-9 && credit >= 0 && used+credit <= 1+1e-9 && inq >= 0 && inq <= 1) {
				t.Fatalf("%s: used %v, credit stall %v, inq stall %v", b.channels.Name(routing.Channel(ch)), used, credit, inq)
			}
			if !full && credit > 1e-9 {
				t.Fatalf("%s stalls for credits (%v) though nothing is full", b.channels.Name(routing.Channel(ch)), credit)
			}
		}
		for _, f := range groups {
			if offered, sent := b.model.Sent(f); !(sent >= 0 && sent <= offered*(1+1e-9)+1) {
				t.Fatalf("group offers %v and sends %v", offered, sent)
			}
		}
	})
}

// The same flows in another order give the same loads.
func TestOrderOfGroupsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, groups, _ := drawn(t, math.Inf(1))
		var s, reversed fluid.State
		b.model.Solve(groups, &s)
		for i, j := 0, len(groups)-1; i < j; i, j = i+1, j-1 {
			groups[i], groups[j] = groups[j], groups[i]
		}
		b.model.Solve(groups, &reversed)
		for ch, load := range s.LoadBytesPerSecond {
			if math.Abs(load-reversed.LoadBytesPerSecond[ch]) > 1e-6*math.Max(1e6, load) {
				t.Fatalf("%s carries %v or %v", b.channels.Name(routing.Channel(ch)), load, reversed.LoadBytesPerSecond[ch])
			}
		}
	})
}

// shifts sends from every host to others at several distances.
func shifts(t fataler, spec string, perHost int, demand float64) (*bench, []*fluid.Flows) {
	b := newBench(t, spec, fluid.DefaultConfig())
	hosts := b.graph.Hosts()
	f := &fluid.Flows{Scale: 1}
	var path []routing.Channel
	for k := range perHost {
		for i, src := range hosts {
			dst := hosts[(i*31+k*1009+17)%len(hosts)]
			if src == dst {
				continue
			}
			path, _ = b.router.Append(path[:0], src, dst, uint64(i))
			f.Add(b.model, demand/float64(perHost), src, dst, path, false)
		}
	}
	return b, []*fluid.Flows{f}
}

func TestNoAllocationOnceWarm(t *testing.T) {
	b, groups := shifts(t, "torus:6x6x6", 4, 9e9)
	var s fluid.State
	b.model.Solve(groups, &s)
	if n := testing.AllocsPerRun(5, func() { b.model.Solve(groups, &s) }); n > 0 {
		t.Errorf("%v allocations per Solve", n)
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, c := range []struct {
		name, spec string
		perHost    int
		demand     float64
	}{{"torus24/flows=13824", "torus:24x24x24", 1, 9e9}, {"torus24/flows=110592", "torus:24x24x24", 8, 9e9},
		{"torus24calm/flows=110592", "torus:24x24x24", 8, .3e9}, {"clos138k/flows=110592", "fattree:k=48", 4, 9e9}} {
		b.Run(c.name, func(b *testing.B) {
			bench, groups := shifts(b, c.spec, c.perHost, c.demand)
			var s fluid.State
			bench.model.Solve(groups, &s)
			for b.Loop() {
				bench.model.Solve(groups, &s)
			}
			b.ReportMetric(float64(bench.channels.Len())*float64(b.N)/b.Elapsed().Seconds(), "channels/s")
		})
	}
}

// TestTheQueueStandsBeforeTheFirstDeadChannel: if the second of two dead channels has more flows than the first, and so
// the smaller share, flows across both still wait for the first.
func TestTheQueueStandsBeforeTheFirstDeadChannel(t *testing.T) {
	b := newBench(t, "mesh:2x4", fluid.Config{SendBytesPerSecond: 4e9, ReceiveBytesPerSecond: 4e9, VictimRatio: math.Inf(1), DrainShare: .05})
	flows := fluid.Flows{Scale: 1}
	b.add(t, &flows, 1e9, "0,0", "0,3")
	b.add(t, &flows, 1e9, "0,2", "0,3")
	for _, name := range []string{"0,1 Y+", "0,2 Y+"} {
		b.channels.SetUp(b.channel(t, name), false)
	}
	var state fluid.State
	b.model.Solve([]*fluid.Flows{&flows}, &state)
	first, second := b.channel(t, "0,1 Y+"), b.channel(t, "0,2 Y+")
	roots := map[fluid.Resource]bool{}
	b.model.EachBlocked(b.channel(t, "0,0 Y+"), func(f fluid.Blame) { roots[f.Root] = true })
	if !roots[fluid.Resource(first)] || roots[fluid.Resource(second)] {
		t.Errorf("what comes from 0,0 waits for %v, want channel %d, which is dead and comes first, not %d", roots, first, second)
	}
}
