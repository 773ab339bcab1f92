package scenario_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// TestFluidAgainstPacketMode compares the fluid mode with the packet mode: senders that
// put megabytes one after the other, over credits and buffers of a few packets. It
// bounds the differences in load and credit stall of every channel that carries data.
// Packets wait in buffers shared by all flows of an input, so VictimRatio is 1. The
// remaining difference is fairness: in packet mode an input with many flows gets no
// more of an output than one with a single flow, while the fluid is fair to flows; this
// shows where a tree's inputs carry unequal numbers of flows.
func TestFluidAgainstPacketMode(t *testing.T) {
	for _, c := range []struct {
		name, spec         string
		pairs              [][2]int
		loadOff, creditOff float64 // means over channels: share of capacity, share of time
	}{
		{"one flow", "fattree:leaves=2,hosts=4,spines=1,gbps=8", [][2]int{{0, 4}}, .01, .01},
		{"incast 3:1", "fattree:leaves=2,hosts=4,spines=1,gbps=8", [][2]int{{0, 4}, {1, 4}, {2, 4}}, .01, .01},
		{"incast 15:1 over spines", "fattree:leaves=4,hosts=4,spines=2,gbps=8", incast(16), .12, .12},
		{"permutation on a fat tree", "fattree:leaves=4,hosts=4,spines=2,gbps=8", permutation(16, 5), .09, .06},
		{"permutation on a mesh", "mesh:4x4", permutation(16, 2), .02, .02},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := topologytest.Parse(t, "f", c.spec)
			if g.Duplex() {
				g = directed(t, g)
			}
			load, credit := packetMode(t, g, c.pairs)
			fluidLoad, fluidCredit := fluidMode(t, g, c.pairs)
			var loadOff, creditOff, n float64
			for ch := range load {
				if fluidLoad[ch] > 0 {
					loadOff += math.Abs(load[ch] - fluidLoad[ch])
					creditOff += math.Abs(credit[ch] - fluidCredit[ch])
					n++
				}
			}
			t.Logf("mean difference over %v channels: load %.1f%% of capacity, credit stall %.1f points", n, 100*loadOff/n, 100*creditOff/n)
			if loadOff/n > c.loadOff || creditOff/n > c.creditOff {
				t.Errorf("want at most %.3f and %.3f", c.loadOff, c.creditOff)
			}
		})
	}
}

func incast(n int) (pairs [][2]int) {
	for i := 1; i < n; i++ {
		pairs = append(pairs, [2]int{i, 0})
	}
	return pairs
}

func permutation(n int, seed uint64) (pairs [][2]int) {
	for i, j := range rand.New(rand.NewPCG(seed, 0)).Perm(n) {
		if i != j {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	return pairs
}

// directed is a grid with a link in each direction, as needed by packet mode.
func directed(t *testing.T, g *topology.Graph) *topology.Graph {
	t.Helper()
	b := topology.NewBuilder(g.Fabric())
	b.SetGrid(*g.Grid())
	for d := range g.NumDevices() {
		b.Device(*g.Device(topology.DeviceID(d)))
	}
	for _, d := range g.Hosts() {
		for _, l := range g.LinksAt(d) {
			if link := g.Link(l); link.From == d {
				link.CapacityBytesPerSecond = 1e9
				b.Both(link)
			}
		}
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// policy is not random: both modes must take the same paths.
func policy(g *topology.Graph) routing.Policy {
	if g.Grid() != nil {
		return routing.Directional
	}
	return routing.DModK
}

const putBytes = 1 << 20

// packetMode returns the load and credit stall of every channel, as shares, after the
// start-up.
func packetMode(t *testing.T, g *topology.Graph, pairs [][2]int) (load, credit []float64) {
	t.Helper()
	cfg := packet.DefaultConfig()
	cfg.LinkSpeed, cfg.FlowControl, cfg.BufferBytes, cfg.NICBufferBytes = 1, packet.Credits, 32<<10, 16<<10
	cfg.DMASpeed, cfg.ActivePuts, cfg.Routing = 1.2, 8, policy(g)
	sim, err := packet.New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	hosts := g.Hosts()
	owner := map[packet.TransferID]int{}
	post := func(flow int) {
		id, err := sim.Post(packet.Request{Verb: packet.Put, From: hosts[pairs[flow][0]], To: hosts[pairs[flow][1]], Bytes: putBytes})
		if err != nil {
			t.Fatal(err)
		}
		owner[id] = flow
	}
	for flow := range pairs {
		post(flow)
		post(flow)
	}
	n := sim.Channels().Len()
	before := make([]packet.Counters, n)
	const warm, end = 20 * packet.Millisecond, 120 * packet.Millisecond
	read := false
	for {
		limit := packet.Time(warm)
		if read {
			limit = end
		}
		notice, ok := sim.Next(limit)
		switch {
		case ok && notice.Kind == packet.Completed:
			post(owner[notice.Transfer])
		case !ok && !read:
			read = true
			for ch := range before {
				before[ch] = sim.Counters(routing.Channel(ch))
			}
		case !ok:
			for ch := range before {
				c := sim.Counters(routing.Channel(ch))
				nanos := packet.Time(end - warm).Nanoseconds()
				load = append(load, (c.BusyNanos-before[ch].BusyNanos)/nanos)
				credit = append(credit, (c.CreditStallNanos-before[ch].CreditStallNanos)/nanos)
			}
			return load, credit
		}
	}
}

func fluidMode(t *testing.T, g *topology.Graph, pairs [][2]int) (load, credit []float64) {
	t.Helper()
	channels := routing.NewChannels(g)
	model, err := fluid.New(channels, fluid.Config{SendBytesPerSecond: 1e9, ReceiveBytesPerSecond: 1.2e9, VictimRatio: 1, DrainShare: 1})
	if err != nil {
		t.Fatal(err)
	}
	router, err := routing.New(channels, policy(g))
	if err != nil {
		t.Fatal(err)
	}
	hosts := g.Hosts()
	flows := &fluid.Flows{Scale: 1}
	for _, pair := range pairs {
		src, dst := hosts[pair[0]], hosts[pair[1]]
		path, _ := router.Append(nil, src, dst, 0)
		flows.Add(model, 1e9, src, dst, path, false)
	}
	var s fluid.State
	model.Solve([]*fluid.Flows{flows}, &s)
	for ch := range s.CreditStall {
		load = append(load, s.LoadBytesPerSecond[ch]/1e9)
	}
	return load, s.CreditStall
}
