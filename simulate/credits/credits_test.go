package credits_test

import (
	"math"
	"slices"
	"testing"

	"github.com/giverny/giverny/simulate/credits"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// fabric is a graph with routes and rates.
type fabric struct {
	t        testing.TB
	graph    *topology.Graph
	channels *routing.Channels
	router   *routing.Router
	speeds   *credits.Speeds
}

// newFabric is a fabric whose parts all move a cell per step.
func newFabric(t testing.TB, spec string) *fabric {
	t.Helper()
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	f := &fabric{t: t, graph: g, channels: routing.NewChannels(g)}
	if f.router, err = routing.New(f.channels, routing.Default); err != nil {
		t.Fatal(err)
	}
	ones := func(n int) []float64 { return slices.Repeat([]float64{1}, n) }
	f.speeds = &credits.Speeds{Channel: ones(f.channels.Len()), Send: ones(g.NumDevices()), Receive: ones(g.NumDevices())}
	return f
}

func (f *fabric) flow(from, to int) credits.Flow {
	f.t.Helper()
	hosts := f.graph.Hosts()
	path, ok := f.router.Append(nil, hosts[from], hosts[to], uint64(from)<<16|uint64(to))
	if !ok {
		f.t.Fatalf("no route from host %d to %d", from, to)
	}
	return credits.Flow{From: hosts[from], To: hosts[to], Path: path}
}

// channel is the one that leaves a port.
func (f *fabric) channel(name string) routing.Channel {
	f.t.Helper()
	ch, err := f.channels.Find(name)
	if err != nil {
		f.t.Fatal(err)
	}
	return ch
}

func (f *fabric) network(work ...credits.Work) *credits.Network {
	f.t.Helper()
	n, err := credits.New(f.channels, f.speeds, work)
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// busy is a stream that always has something to send.
func busy(flows ...credits.Flow) credits.Work { return credits.Work{Flows: flows, Cells: 2000} }

// near compares a measured share or rate.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s: %.3f, want %.3f", what, got, want)
	}
}

// A flow alone gets the rate of its slowest part, and waits for no credits.
func TestLoneFlow(t *testing.T) {
	f := newFabric(t, "fattree:leaves=2,hosts=2,spines=1")
	n := f.network(busy(f.flow(0, 2)))
	n.Run(100)
	n.Reset()
	n.Run(1000)
	near(t, "rate", float64(n.Stats().Delivered[0])/1000, 1, .02)
	if waited := slices.Max(n.Stats().Waited); waited > 0 {
		t.Errorf("a channel waited in %d steps", waited)
	}
	f.speeds.Send[f.graph.Hosts()[0]] = .3
	n = f.network(busy(f.flow(0, 2)))
	n.Run(1000)
	near(t, "rate of a slow sender", float64(n.Stats().Delivered[0])/1000, .3, .02)
}

// Three hosts that send to one share its link, wait two thirds of the time, and wait for the port in front of it.
func TestIncast(t *testing.T) {
	f := newFabric(t, "fattree:leaves=1,hosts=4,spines=1")
	n := f.network(busy(f.flow(0, 3)), busy(f.flow(1, 3)), busy(f.flow(2, 3)))
	n.Run(100)
	n.Reset()
	n.Run(3000)
	s := n.Stats()
	for h := range 3 {
		near(t, "rate", float64(s.Delivered[h])/3000, 1./3, .02)
	}
	for _, host := range []string{"host0 1", "host1 1", "host2 1"} {
		near(t, host, float64(s.Waited[f.channel(host)])/3000, 2./3, .06)
	}
	port := f.channel("leaf0 4")
	if s.Waited[port] > 0 {
		t.Errorf("the full port waited in %d steps", s.Waited[port])
	}
	waits := n.AppendWaits(nil)
	if len(waits) != 3 {
		t.Errorf("waits %v, want one of each sender", waits)
	}
	for _, w := range waits {
		if w.At != port {
			t.Errorf("%s waits for %v", f.channels.Name(w.Channel), w)
		}
	}
}

// A host that accepts a quarter of what arrives holds up the port in front of it, where the wait begins at the host; a flow
// that shares an uplink with the waiting one waits as well.
func TestSlowHostAndVictim(t *testing.T) {
	f := newFabric(t, "fattree:leaves=2,hosts=2,spines=1")
	slow := f.graph.Hosts()[2]
	f.speeds.Receive[slow] = .25
	n := f.network(busy(f.flow(0, 2)), busy(f.flow(1, 3)))
	n.Run(200)
	n.Reset()
	n.Run(2000)
	s := n.Stats()
	near(t, "rate to the slow host", float64(s.Delivered[0])/2000, .25, .02)
	if rate := float64(s.Delivered[1]) / 2000; rate > .7 {
		t.Errorf("the other flow, through the same uplink, has a rate of %.3f", rate)
	}
	near(t, "port in front of the host", float64(s.Waited[f.channel("leaf1 1")])/2000, .75, .05)
	at, all := 0, 0
	for _, w := range n.AppendWaits(nil) {
		if all += w.Times; w.At == routing.NoChannel && w.Host == slow {
			at += w.Times
		}
	}
	if 10*at < 9*all || at == 0 {
		t.Errorf("%d of %d waits begin at the slow host", at, all)
	}
}

// An exchange begins again when its last cell has arrived: it moves no more than its slowest rank.
func TestBarrier(t *testing.T) {
	f := newFabric(t, "fattree:leaves=1,hosts=4,spines=1")
	work := credits.Work{Flows: []credits.Flow{f.flow(0, 1), f.flow(2, 3)}, Cells: 20, Barrier: true}
	f.speeds.Receive[f.graph.Hosts()[3]] = .1
	n := f.network(work)
	n.Run(200)
	n.Reset()
	n.Run(4000)
	near(t, "rate of both", float64(n.Stats().Delivered[0])/4000, .2, .02)
	work.Rounds = 2 // one flow after the other
	n = f.network(work)
	n.Run(200)
	n.Reset()
	n.Run(4000)
	near(t, "rate in two rounds", float64(n.Stats().Delivered[0])/4000, 2./11, .02)
}

// Every host of a torus sends half-way round every ring at full rate. With one lane that is a deadlock.
func TestNoDeadlockOnATorus(t *testing.T) {
	f := newFabric(t, "torus:4x4x4")
	var w credits.Work
	for h := range 64 {
		w.Flows = append(w.Flows, f.flow(h, (h+2)%4+4*((h/4+2)%4)+16*((h/16+2)%4)))
	}
	w.Cells = 50
	n := f.network(w)
	n.Run(2000)
	n.Reset()
	n.Run(500)
	if n.Stats().Delivered[0] < 500 {
		t.Errorf("%d cells arrived in 500 steps", n.Stats().Delivered[0])
	}
}

// Cells are neither lost nor made: what left the hosts has arrived when all exchanges are over.
func TestConservation(t *testing.T) {
	f := newFabric(t, "dragonfly:groups=5,routers=4,hosts=2")
	var w credits.Work
	for h := range 40 {
		for k := range 6 {
			w.Flows = append(w.Flows, f.flow(h, (h+1+5*k)%40))
		}
	}
	w.Cells, w.Barrier, w.PauseSteps = 7, true, 1e6
	n := f.network(w)
	n.Run(1_200_000)
	sent := int64(0)
	for ch, cells := range n.Stats().Sent {
		if from, _ := f.channels.Ends(routing.Channel(ch)); !f.graph.IsSwitch(from) {
			sent += int64(cells)
		}
	}
	exchange := int64(len(w.Flows) * w.Cells)
	if arrived := n.Stats().Delivered[0]; arrived != sent || arrived == 0 || arrived%exchange != 0 {
		t.Errorf("%d cells were sent, %d have arrived; an exchange has %d", sent, arrived, exchange)
	}
}

// Work elsewhere does not change a job's pauses, and the same network runs the same.
func TestCommonRandomNumbers(t *testing.T) {
	f := newFabric(t, "fattree:leaves=2,hosts=4,spines=2")
	a := credits.Work{Flows: []credits.Flow{f.flow(0, 1), f.flow(1, 0)}, Cells: 9, Barrier: true, PauseSteps: 30, Seed: 5}
	b := credits.Work{Flows: []credits.Flow{f.flow(4, 5), f.flow(5, 4)}, Cells: 4, Barrier: true, PauseSteps: 11, Seed: 6}
	alone, both, again := f.network(a), f.network(b, a), f.network(b, a)
	for range 20 {
		alone.Run(37)
		both.Run(37)
		again.Run(37)
		if alone.Stats().Delivered[0] != both.Stats().Delivered[1] || !slices.Equal(both.Stats().Sent, again.Stats().Sent) {
			t.Fatalf("%d cells alone, %d beside another job", alone.Stats().Delivered[0], both.Stats().Delivered[1])
		}
	}
}

func TestFaultsOfSpeeds(t *testing.T) {
	f := newFabric(t, "fattree:leaves=2,hosts=2,spines=1")
	f.speeds.Channel[3] = 0
	if _, err := credits.New(f.channels, f.speeds, nil); err == nil {
		t.Error("a channel without a rate is accepted")
	}
	f.speeds.Channel = f.speeds.Channel[1:]
	if _, err := credits.New(f.channels, f.speeds, nil); err == nil {
		t.Error("rates of another fabric are accepted")
	}
}

// allToAll is heavy traffic among the hosts of a fabric.
func allToAll(f *fabric) *credits.Network {
	w := credits.Work{Cells: 2, Barrier: true, PauseSteps: 5}
	n := len(f.graph.Hosts())
	for h := range n {
		for k := range 12 {
			w.Flows = append(w.Flows, f.flow(h, (h+1+k*(n-1)/12)%n))
		}
	}
	return f.network(w)
}

func TestNoAllocationOnceWarm(t *testing.T) {
	n := allToAll(newFabric(t, "fattree:k=4"))
	n.Run(5000)
	if allocs := testing.AllocsPerRun(20, func() { n.Reset(); n.Run(100) }); allocs > 0 {
		t.Errorf("%v allocations in 100 steps", allocs)
	}
}

func BenchmarkStep(b *testing.B) {
	f := newFabric(b, "fattree:k=8")
	n := allToAll(f)
	n.Run(500)
	b.Run("links=768", func(b *testing.B) {
		for b.Loop() {
			n.Run(1)
		}
		b.ReportMetric(float64(f.channels.Len()*b.N)/b.Elapsed().Seconds(), "links/s")
	})
}

// The rate by how long rounds last is that of what arrives.
func TestPeriods(t *testing.T) {
	f := newFabric(t, "fattree:leaves=2,hosts=4,spines=2")
	n := f.network(credits.Work{Flows: []credits.Flow{f.flow(0, 4), f.flow(1, 4)}, Cells: 10, Barrier: true, PauseSteps: 30},
		credits.Work{Flows: []credits.Flow{f.flow(2, 6)}, Cells: 4, PauseSteps: 20})
	n.Run(20_000)
	s := n.Stats()
	for w, cells := range []float64{20, 4} {
		near(t, "rate by periods", cells*float64(s.Ended[w])/s.PeriodSteps[w], float64(s.Delivered[w])/20_000, .01)
	}
}

// Every port of a host sends and accepts at its own rate; a slow host is slow at all of them.
func TestPortsOfAHost(t *testing.T) {
	f := newFabric(t, "fattree:leaves=1,hosts=3,spines=1,rails=4")
	hosts := f.graph.Hosts()
	by := func(from, to, port int) credits.Flow {
		path, ok := f.router.AppendBy(nil, f.channels.Out(hosts[from])[port], f.channels.In(hosts[to])[port], 0)
		if !ok {
			t.Fatalf("no route by port %d", port)
		}
		return credits.Flow{From: hosts[from], To: hosts[to], Path: path}
	}
	both := []credits.Work{busy(by(0, 1, 0), by(0, 1, 1), by(0, 1, 2), by(0, 1, 3)), busy(by(2, 1, 3))}
	rates := func() (all, beside float64) {
		n := f.network(both...)
		n.Run(200)
		n.Reset()
		n.Run(2000)
		return float64(n.Stats().Delivered[0]) / 2000, float64(n.Stats().Delivered[1]) / 2000
	}
	all, beside := rates()
	near(t, "three ports alone and half of one", all, 3.5, .05)
	near(t, "the other half", beside, .5, .05)
	f.speeds.Receive[hosts[1]] = .2
	all, beside = rates()
	near(t, "three slow ports alone and half of one", all, .7, .02)
	near(t, "the other half", beside, .1, .02)
	f.speeds.Receive[hosts[1]], f.speeds.Send[hosts[0]] = 1, .3
	all, beside = rates()
	near(t, "four ports of a host that sends slowly", all, 1.2, .05)
	near(t, "what it leaves at one", beside, .7, .05)
}
