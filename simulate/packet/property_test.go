package packet

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// world is a random simulation: what to build, what to post and when.
type world struct {
	spec   string
	cfg    Config
	posts  []Request
	at     []Time
	faults []Fault
}

func drawConfig(t *rapid.T, spec string) Config {
	cfg := DefaultConfig()
	cfg.FlowControl = rapid.SampledFrom([]FlowControl{Unlimited, Credits, PFC}).Draw(t, "flow control")
	cfg.PacketBytes = rapid.SampledFrom([]int64{256, 1000, 4096}).Draw(t, "packet")
	cfg.HeaderBytes = rapid.SampledFrom([]int64{0, 30}).Draw(t, "header")
	cfg.BufferBytes = 8500
	cfg.XoffBytes, cfg.XonBytes = 6000, 3000
	if cfg.FlowControl == PFC {
		cfg.BufferBytes = 24000
	}
	cfg.StoreAndForward = rapid.Bool().Draw(t, "store and forward")
	cfg.OutputQueued = rapid.Bool().Draw(t, "output queued")
	cfg.Arbitration = rapid.SampledFrom([]Arbitration{Oldest, RoundRobin}).Draw(t, "arbitration")
	cfg.SharedDMA = rapid.Bool().Draw(t, "shared")
	cfg.DMAChannels = rapid.IntRange(1, 3).Draw(t, "channels")
	cfg.ActivePuts = rapid.IntRange(1, 3).Draw(t, "active")
	cfg.DMAChunkBytes = rapid.SampledFrom([]int64{0, 128}).Draw(t, "chunk")
	cfg.NICBufferBytes = rapid.SampledFrom([]int64{0, 9000}).Draw(t, "NIC buffer")
	cfg.OverheadNanos = rapid.SampledFrom([]float64{0, 35.5}).Draw(t, "overhead")
	cfg.InlineBytes = rapid.SampledFrom([]int64{0, 200}).Draw(t, "inline")
	cfg.DMASetupNanos = rapid.SampledFrom([]float64{0, 500}).Draw(t, "setup")
	cfg.Classes = rapid.IntRange(1, 2).Draw(t, "classes")
	cfg.Rate.Enabled = rapid.Bool().Draw(t, "ecn")
	cfg.Rate.KmaxBytes, cfg.Rate.Pmax = 20<<10, 0.5
	cfg.Rate.CutMicros = rapid.SampledFrom([]float64{0, 4}).Draw(t, "cut")
	cfg.Rate.PerTransfer = rapid.Bool().Draw(t, "rate per transfer")
	if rapid.Bool().Draw(t, "acknowledged") {
		cfg.AckBytes = 60
		cfg.WindowBytes = rapid.SampledFrom([]int64{0, 9000}).Draw(t, "window")
	}
	if spec[0] == 'd' {
		cfg.Routing = rapid.SampledFrom([]routing.Policy{routing.Minimal, routing.Valiant}).Draw(t, "routing")
	}
	return cfg
}

func drawWorld(t *rapid.T) world {
	w := world{spec: rapid.SampledFrom([]string{
		"fattree:leaves=2,hosts=2,spines=2", "fattree:k=4", "torus:4x3", "torus:5", "mesh:3x3", "dragonfly:groups=4,routers=2,hosts=1",
	}).Draw(t, "fabric")}
	w.cfg = drawConfig(t, w.spec)
	g := topologytest.Parse(t, "f", w.spec)
	hosts := g.Hosts()
	for range rapid.IntRange(1, 40).Draw(t, "posts") {
		w.posts = append(w.posts, Request{
			Verb: Verb(rapid.IntRange(0, 1).Draw(t, "verb")), From: rapid.SampledFrom(hosts).Draw(t, "from"), To: rapid.SampledFrom(hosts).Draw(t, "to"),
			Bytes: rapid.SampledFrom([]int64{0, 1, 199, 4096, 5000, 50_000}).Draw(t, "bytes"), Class: rapid.IntRange(0, w.cfg.Classes-1).Draw(t, "class")})
		w.at = append(w.at, Time(rapid.IntRange(0, 30).Draw(t, "us"))*Microsecond)
	}
	slices.Sort(w.at)
	return w
}

func (w *world) run(t *rapid.T, plain bool, audit func(*Sim)) *Sim {
	g := topologytest.Parse(t, "f", w.spec)
	s, err := New(g, w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.queue.plain = plain
	for _, f := range w.faults {
		if err := s.Inject(f); err != nil {
			t.Fatal(err)
		}
	}
	for i, q := range w.posts {
		for ok := true; ok; {
			_, ok = s.Next(w.at[i])
		}
		audit(s)
		if _, err := s.Post(q); err != nil {
			t.Fatal(err)
		}
	}
	drain(s)
	audit(s)
	return s
}

// TestConservation: nothing is lost without a fault, what enters a switch leaves it,
// credits are conserved, and the time of every link is accounted for exactly once.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		s := w.run(t, false, func(s *Sim) { auditTime(t, s); auditCredits(t, s) })
		if s.Underway() != 0 || s.fabric.lost != 0 {
			t.Fatalf("%d transfers underway, %d packets lost, want none", s.Underway(), s.fabric.lost)
		}
		auditSwitches(t, s)
		auditTimes(t, s, w)
		for i := range s.fabric.buffers {
			if b := &s.fabric.buffers[i]; b.head != none || b.waiting {
				t.Fatalf("lane %d is not at rest: %+v", i, *b)
			}
		}
		for i, m := range s.fabric.rooms.lanes {
			if m.paused != m.pausing {
				t.Fatalf("the pause of lane %d is not at rest: %+v", i, m)
			}
		}
		for i := range s.senders.nics {
			if n := &s.senders.nics[i]; n.queued != 0 || n.inDMA != 0 {
				t.Fatalf("NIC %d is not at rest: %+v", i, *n)
			}
		}
	})
}

// TestWheelIsAHeap: the timing wheel gives the same results as a plain heap.
func TestWheelIsAHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.faults = drawFaults(t, w.spec)
		a := w.run(t, false, func(*Sim) {})
		b := w.run(t, true, func(*Sim) {})
		if a.events != b.events {
			t.Fatalf("%d events on the wheel, %d on the heap", a.events, b.events)
		}
		for i := range a.transfers.all {
			if a.transfers.all[i].Times != b.transfers.all[i].Times {
				t.Fatalf("transfer %d: %+v on the wheel, %+v on the heap", i, a.transfers.all[i].Times, b.transfers.all[i].Times)
			}
		}
	})
}

func drawFaults(t *rapid.T, spec string) (faults []Fault) {
	g := topologytest.Parse(t, "f", spec)
	for range rapid.IntRange(1, 3).Draw(t, "faults") {
		f := Fault{At: Time(rapid.IntRange(0, 40).Draw(t, "fault us")) * Microsecond, Link: schema.LinkID(rapid.IntRange(0, g.NumLinks()-1).Draw(t, "link")),
			Share: rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "share")}
		faults = append(faults, f, Fault{At: f.At + 20*Microsecond, Link: f.Link, Share: 1})
	}
	return faults
}

// TestFaultsEnd: with links that break and are repaired within the retries, every
// transfer completes, and the totals still balance.
func TestFaultsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.cfg.Rate.Enabled = false
		w.cfg.RerouteMicros = rapid.SampledFrom([]float64{0, 5}).Draw(t, "reroute")
		w.cfg.VirtualChannels = 0
		w.faults = drawFaults(t, w.spec)
		if w.spec[0] == 't' || w.spec[0] == 'd' || w.spec[0] == 'm' {
			w.cfg.FlowControl = Unlimited // detours on rings may deadlock
		}
		s := w.run(t, false, func(s *Sim) { auditTime(t, s); auditCredits(t, s) })
		if s.Underway() != 0 {
			t.Fatalf("%d transfers underway after the links were mended; %d packets were lost", s.Underway(), s.fabric.lost)
		}
		for i := range s.transfers.all {
			if s.transfers.all[i].state != done {
				t.Fatalf("transfer %d was given up", i)
			}
		}
	})
}

func auditTime(t *rapid.T, s *Sim) {
	for ch := range s.fabric.channels {
		c := s.Counters(routing.Channel(ch))
		sum := c.BusyNanos + c.IdleNanos + c.CreditStallNanos + c.PauseStallNanos
		if math.Abs(sum-s.clock.now.Nanoseconds()) > 0.01 || min(c.BusyNanos, c.IdleNanos, c.CreditStallNanos, c.PauseStallNanos, c.InputStallNanos) < 0 {
			t.Fatalf("channel %d at %v ns: %+v", ch, s.clock.now.Nanoseconds(), c)
		}
	}
}

// auditCredits sums, per lane, the credits at the sender, the credits on their way
// back, and the packets in the buffer or in flight to it.
func auditCredits(t *rapid.T, s *Sim) {
	if s.cfg.FlowControl != Credits {
		return
	}
	sum := make([]int64, len(s.fabric.buffers))
	for i, m := range s.fabric.rooms.lanes {
		sum[i] += m.free
		for r := m.firstReturn; r != none; r = s.fabric.rooms.returns[r].next {
			sum[i] += s.fabric.rooms.returns[r].bytes
		}
	}
	for _, b := range s.fabric.buffers {
		for p := b.head; p != none; p = s.fabric.pkts[p].next {
			sum[s.fabric.pkts[p].from] += int64(s.fabric.pkts[p].wire)
		}
	}
	for _, e := range pending(&s.clock.queue) {
		if k := kindOf(e); k == atSwitch || k == atNIC {
			p := &s.fabric.pkts[indexOf(e)]
			sum[p.lane] += int64(p.wire)
		}
	}
	for i, n := range sum[:len(s.fabric.channels)<<s.paths.shift] {
		if n != s.cfg.BufferBytes {
			t.Fatalf("lane %d accounts for %d bytes, want %d", i, n, s.cfg.BufferBytes)
		}
	}
}

func pending(q *queue) []event {
	all := slices.Concat(q.sorted[q.next:], q.near, q.far)
	for _, b := range q.buckets {
		all = append(all, b...)
	}
	return all
}

func auditSwitches(t *rapid.T, s *Sim) {
	balance := make([]int64, s.paths.graph.NumDevices())
	for ch := range s.fabric.channels {
		from, to := s.paths.routes.Ends(routing.Channel(ch))
		balance[from] -= int64(s.fabric.channels[ch].counters.bytes)
		balance[to] += int64(s.fabric.channels[ch].counters.bytes)
	}
	hosts := s.paths.graph.Hosts()
	for d := range s.paths.graph.NumDevices() {
		if s.paths.graph.IsSwitch(topology.DeviceID(d)) && !s.paths.graph.IsSwitch(hosts[0]) && balance[d] != 0 {
			t.Fatalf("%d bytes more came to switch %d than left it", balance[d], d)
		}
	}
}

// auditTimes checks the order of each transfer's times, and that no put is faster than
// its bytes allow.
func auditTimes(t *rapid.T, s *Sim, w world) {
	for i := range s.transfers.all {
		x := &s.transfers.all[i]
		if x.Posted > x.DMAStart || x.DMAStart > x.Arrived || x.Arrived > x.Completed || x.Completed == Never {
			t.Fatalf("transfer %d (%+v): %+v", i, w.posts[i], x.Times)
		}
	}
}
