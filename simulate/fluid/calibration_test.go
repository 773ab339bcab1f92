package fluid_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
)

// slotted is a minimal packet network, as a reference for the fluid model: in every
// slot a channel passes one packet into a bounded queue at its far end if there is room
// (credits), an endpoint takes one packet, and every output serves one of the queues
// that want it. With shared queues a blocked packet holds up all behind it; otherwise
// each flow has its own queue.
type slotted struct {
	channels int
	classes  int // queues per channel: 1, or one per flow
	flows    []*slotFlow
	queues   [][]int         // by channel and class: FIFO of flow numbers
	wants    [][]int         // by output, endpoints behind the channels: queues, or sources as ^flow
	share    map[int]float64 // by device: endpoints that take less than a packet per slot
	rng      *rand.Rand

	busy, noCredit []float64
}

// slotFlow sends a message, computes, and sends the next; alone, it sends demand
// packets per slot on average.
type slotFlow struct {
	dst      int
	path     []routing.Channel
	demand   float64
	left     int     // packets of the message still to be sent
	thinking float64 // slots until the next message
}

// Queues are short compared with messages, as buffers are compared with transfers.
const (
	messagePackets = 256
	queueDepth     = 4
)

func (s *slotted) queue(ch routing.Channel, flow int) int { return int(ch)*s.classes + flow%s.classes }

// step simulates one slot.
func (s *slotted) step(measure bool) {
	for i, f := range s.flows {
		if f.left == 0 {
			if f.thinking--; f.thinking <= 0 {
				f.left = messagePackets
				f.thinking = messagePackets * (1/f.demand - 1) * (.5 + s.rng.Float64())
			}
		}
		if f.left > 0 {
			s.want(int(f.path[0]), ^i)
		}
	}
	for q, packets := range s.queues {
		if len(packets) == 0 {
			continue
		}
		f := s.flows[packets[0]]
		if hop := slices.Index(f.path, routing.Channel(q/s.classes)) + 1; hop < len(f.path) {
			s.want(int(f.path[hop]), q)
		} else {
			s.want(s.channels+f.dst, q)
		}
	}
	for output, all := range s.wants {
		if len(all) > 0 {
			s.serve(output, all, measure)
		}
		s.wants[output] = all[:0]
	}
}

func (s *slotted) want(output, from int) { s.wants[output] = append(s.wants[output], from) }

// serve moves one packet through an output, chosen at random, which is fair on average.
func (s *slotted) serve(output int, all []int, measure bool) {
	if output >= s.channels {
		if share, slow := s.share[output-s.channels]; !slow || s.rng.Float64() < share {
			q := all[s.rng.IntN(len(all))]
			s.queues[q] = s.queues[q][1:]
		}
		return
	}
	flowOf := func(from int) int {
		if from < 0 {
			return ^from
		}
		return s.queues[from][0]
	}
	can := all[:0]
	for _, from := range all {
		if len(s.queues[s.queue(routing.Channel(output), flowOf(from))]) < queueDepth {
			can = append(can, from)
		}
	}
	if measure && len(can) == 0 {
		s.noCredit[output]++
	}
	if len(can) == 0 {
		return
	}
	if measure {
		s.busy[output]++
	}
	from := can[s.rng.IntN(len(can))]
	flow := flowOf(from)
	if from < 0 {
		s.flows[flow].left--
	} else {
		s.queues[from] = s.queues[from][1:]
	}
	to := s.queue(routing.Channel(output), flow)
	s.queues[to] = append(s.queues[to], flow)
}

func newSlotted(b *bench, pairs [][2]int, demand float64, shared bool) *slotted {
	s := &slotted{channels: b.channels.Len(), classes: len(pairs), share: map[int]float64{}, rng: rand.New(rand.NewPCG(1, 1))}
	if shared {
		s.classes = 1
	}
	hosts := b.graph.Hosts()
	for i, pair := range pairs {
		path, _ := b.router.Append(nil, hosts[pair[0]], hosts[pair[1]], uint64(i))
		s.flows = append(s.flows, &slotFlow{dst: int(hosts[pair[1]]), path: path, demand: demand})
	}
	s.queues = make([][]int, s.channels*s.classes)
	s.wants = make([][]int, s.channels+b.graph.NumDevices())
	s.busy, s.noCredit = make([]float64, s.channels), make([]float64, s.channels)
	return s
}

// TestAgainstPackets compares the stall law and the bandwidth sharing with packets on
// small fabrics, with bounded differences. If senders always have something to send,
// load and stall agree within two points. Means know no bursts: if a few senders
// compute in between, packets collide where the fluid would flow freely, and their
// pauses leave gaps that the fluid would fill. And packets in shared queues share an
// output by queues, the fluid by flows.
func TestAgainstPackets(t *testing.T) {
	hosts := func(pairs ...int) (f [][2]int) {
		for i := 0; i < len(pairs); i += 2 {
			f = append(f, [2]int{pairs[i], pairs[i+1]})
		}
		return f
	}
	permutation := func(n int, seed uint64) (f [][2]int) {
		for i, j := range rand.New(rand.NewPCG(seed, 0)).Perm(n) {
			if i != j {
				f = append(f, [2]int{i, j})
			}
		}
		return f
	}
	for _, c := range []struct {
		name, spec        string
		flows             [][2]int
		demand            float64 // of a channel's rate
		shared            bool
		slow              int // host that receives a fifth of its rate; -1: none
		loadOff, stallOff float64
	}{
		{"incast 3:1", "fattree:leaves=2,hosts=4,spines=1,gbps=8", hosts(0, 7, 1, 7, 2, 7), .999, false, -1, .01, .01},
		{"incast 3:1, demand .6", "fattree:leaves=2,hosts=4,spines=1,gbps=8", hosts(0, 7, 1, 7, 2, 7), .6, false, -1, .02, .03},
		{"two bottlenecks", "fattree:leaves=2,hosts=4,spines=1,gbps=8", hosts(0, 4, 1, 4, 2, 5, 6, 5, 3, 7), .999, false, -1, .03, .04},
		{"a lone sender to a slow host", "fattree:leaves=2,hosts=4,spines=1,gbps=8", hosts(0, 4, 1, 5), .3, false, 4, .05, .17},
		{"three senders in bursts, uplink used 80%", "fattree:leaves=2,hosts=4,spines=1,gbps=8", hosts(0, 4, 1, 5, 2, 6), .3, false, 4, .08, .13},
		{"slow host, shared queues", "fattree:leaves=2,hosts=4,spines=1,gbps=8", hosts(0, 4, 1, 5), .4, true, 4, .03, .05},
		{"an uplink just full of bursts", "fattree:leaves=2,hosts=4,spines=1,gbps=8", hosts(0, 4, 1, 5, 2, 6), .5, false, 4, .08, .08},
		{"permutation on a fat tree", "fattree:leaves=4,hosts=4,spines=2,gbps=8", permutation(16, 5), .999, false, -1, .03, .05},
		{"permutation on a mesh", "mesh:4x4", permutation(16, 2), .999, false, -1, .05, .06},
		{"the same, shared queues", "mesh:4x4", permutation(16, 2), .999, true, -1, .08, .12},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := fluid.Config{SendBytesPerSecond: 1e9, ReceiveBytesPerSecond: 1e9, VictimRatio: math.Inf(1), DrainShare: 1}
			if c.shared {
				cfg.VictimRatio = 1
			}
			b := newUniformBench(t, c.spec, cfg)
			s := newSlotted(b, c.flows, c.demand, c.shared)
			f := &fluid.Flows{Scale: 1}
			h := b.graph.Hosts()
			for i, pair := range c.flows {
				f.Add(b.model, c.demand*1e9, h[pair[0]], h[pair[1]], s.flows[i].path, false)
			}
			if c.slow >= 0 {
				s.share[int(h[c.slow])] = .2
				b.model.SetShare(b.model.Receive(h[c.slow]), .2)
			}
			var state fluid.State
			b.model.Solve([]*fluid.Flows{f}, &state)
			const slots, warm = 20000, 2000
			for n := range slots + warm {
				s.step(n >= warm)
			}
			var loadOff, stallOff, n float64
			for ch := range s.busy {
				if state.OfferedPerSecond[ch] == 0 {
					continue
				}
				n++
				loadOff += math.Abs(s.busy[ch]/slots - state.LoadBytesPerSecond[ch]/1e9)
				stallOff += math.Abs(s.noCredit[ch]/slots - state.CreditStall[ch])
			}
			loadOff, stallOff = loadOff/n, stallOff/n
			t.Logf("mean difference over %v channels: load %.1f%% of capacity, credit stall %.1f points", n, 100*loadOff, 100*stallOff)
			if loadOff > c.loadOff || stallOff > c.stallOff {
				t.Errorf("load differs by %.3f, want at most %.3f; stall by %.3f, at most %.3f", loadOff, c.loadOff, stallOff, c.stallOff)
			}
		})
	}
}

// newUniformBench returns a bench whose channels all carry 1 GB/s.
func newUniformBench(t fataler, spec string, cfg fluid.Config) *bench {
	t.Helper()
	b := newBench(t, spec, cfg)
	for ch := range b.channels.Len() {
		r := fluid.Resource(ch)
		b.model.SetShare(r, 1e9/b.model.Nominal(r))
	}
	return b
}
